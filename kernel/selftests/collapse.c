// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a file that is mapped read-only, a program, say, become one huge
 * folio: the small ones end, and the huge one is new to whoever has it now.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "admission.h"

#define HUGE_PAGES	(2 * MiB_PAGES)
#define HUGE_SIZE	(HUGE_PAGES * PAGE)
/* of a test's file */
#define NR_HUGE		2
#define NR		((long long)(NR_HUGE * HUGE_PAGES))

#define KHUGEPAGED	"/sys/kernel/mm/transparent_hugepage/khugepaged/"

/* Map @file as a program is mapped, where a huge page can be. */
static char *map_program(const struct file *file)
{
	size_t size = file->nr_pages * PAGE;
	volatile char *map;
	uintptr_t area;
	size_t i;
	int fd;

	fd = open(file->path, O_RDONLY | O_CLOEXEC);
	area = (uintptr_t)mmap(NULL, size + HUGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	area = (area + HUGE_SIZE - 1) / HUGE_SIZE * HUGE_SIZE;
	map = mmap((void *)area, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return NULL;
	for (i = 0; i < file->nr_pages; i++)
		(void)map[i * PAGE];
	return (char *)map;
}

/* To be run in a cgroup: 0 or an errno. */
static int collapse(void *arg)
{
	struct file *file = arg;
	char *map = map_program(file);

	return !map || madvise(map, file->nr_pages * PAGE, MADV_COLLAPSE) ? errno : 0;
}

static long long nr_huge(const char *where)
{
	return cg_key(where, "memory.stat", "file_thp") / (long long)HUGE_SIZE;
}

static struct policy *start_events(const char *where, struct events_state **events)
{
	struct policy *p = policy_open("events", NULL, where);

	attachment = policy_attach(p);
	*events = policy_state(p);
	return p;
}

/* On a file system with small folios alone, or with large ones: read @sequential. */
static void told(const char *dir, const char *name, bool sequential)
{
	struct file *file = file_new(dir, name, NR);
	struct events_state *events;
	long long nr_small, i;

	cg = cg_new(NULL, name);
	start_events(cg, &events);
	if (sequential)
		REQUIRE_EQ(cg_run(cg, read_sequential, file), 0);
	else
		cg_read_file(cg, file, 0, NR);
	nr_small = cg_stat(cg, "managed_folios");
	if (!sequential)
		EXPECT_EQ(nr_small, NR);
	EXPECT_OP(nr_small, >, NR_HUGE);
	REQUIRE_EQ(cg_run(cg, collapse, file), 0);

	EXPECT(EVENTUALLY(nr_huge(cg) == NR_HUGE));
	EXPECT_EQ(cg_stat(cg, "managed_folios"), NR_HUGE);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR);
	EXPECT_EQ(file_cached(file, NULL), NR);
	EXPECT_EQ(events->nr_added, nr_small + NR_HUGE);
	EXPECT_EQ(events->added[0], 2 * NR);
	EXPECT_EQ(events->removed[MIGRATE], NR);
	EXPECT_EQ(cg_stat(cg, "removed_migrate"), NR);
	EXPECT_EQ(cg_stat(cg, "added"), 2 * NR);
	/* each of the small ones has ended once, and with what was its own */
	EXPECT_EQ(events->intact, nr_small);
	for (i = 0; i < nr_small; i++)
		if (!expect(events->ends[i] == 1, __FILE__, __LINE__, "folio %lld ended %u times",
			    i, events->ends[i]))
			break;
	EXPECT(EVENTUALLY(cg_key(cg, "memory.stat", "file") == NR * (long long)PAGE));
	EXPECT_EQ(file_read(file, 0, NR), 0);
	EXPECT_BOOKS();

	/* the older one goes, as a whole, and then the other */
	for (i = NR_HUGE - 1; i >= 0; i--) {
		EXPECT_EQ(cg_reclaim(cg, MiB), 0);
		EXPECT_EQ(file_cached(file, NULL), i * HUGE_PAGES);
		EXPECT_EQ(cg_stat(cg, "managed_pages"), i * HUGE_PAGES);
		EXPECT_EQ(cg_stat(cg, "evict_reclaimed"), NR - i * HUGE_PAGES);
	}
	EXPECT_EQ(events->removed[RECLAIM], NR);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(events->intact, nr_small + NR_HUGE);
	EXPECT_EQ(events->damaged, 0);
	EXPECT_EQ(file_read(file, 0, NR), 0);
	EXPECT_BOOKS();
	REQUIRE_EQ(bpf_link__destroy(attachment), 0);
	unlink(file->path);
}

static void small_folios(bool lru_gen)
{
	told(NULL, lru_name(lru_gen), false);
}

static void test_small(void)
{
	with_both_lrus(small_folios);
}

static void large_folios(bool lru_gen)
{
	told(xfs_dir(), lru_name(lru_gen), true);
}

static void test_large(void)
{
	with_both_lrus(large_folios);
}

/* The huge folio is charged to whoever has it made. */
static void test_other_cgroup(void)
{
	const char *a = cg_new(NULL, "a"), *b = cg_new(NULL, "b"), *c = cg_new(NULL, "c");
	struct file *file = file_new(NULL, "f", NR);
	struct events_state *of_a, *of_b;

	start_events(a, &of_a);
	start_events(b, &of_b);
	cg_read_file(a, file, 0, NR);
	REQUIRE_EQ(cg_run(b, collapse, file), 0);
	EXPECT_EQ(cg_stat(a, "managed_folios"), 0);
	EXPECT_EQ(of_a->removed[MIGRATE], NR);
	EXPECT_EQ(of_a->intact, NR);
	EXPECT_EQ(of_b->nr_added, NR_HUGE);
	EXPECT_EQ(cg_stat(b, "managed_folios"), NR_HUGE);
	EXPECT_EQ(cg_stat(b, "managed_pages"), NR);
	EXPECT_BOOKS();

	/* it is not a's to reclaim, but b's */
	cg_reclaim(a, 8 * MiB);
	EXPECT_EQ(file_cached(file, NULL), NR);
	EXPECT_EQ(cg_reclaim(b, MiB), 0);
	EXPECT_EQ(file_cached(file, NULL), NR - HUGE_PAGES);
	EXPECT_EQ(cg_stat(b, "evict_reclaimed"), HUGE_PAGES);
	EXPECT_EQ(of_b->removed[RECLAIM], HUGE_PAGES);

	/* and nobody's, if there is no policy */
	file_forget(file);
	cg_read_file(a, file, 0, NR);
	REQUIRE_EQ(cg_run(c, collapse, file), 0);
	EXPECT_EQ(cg_stat(a, "managed_folios"), 0);
	EXPECT_EQ(cg_stat(b, "managed_folios"), 0);
	EXPECT_EQ(file_cached(file, NULL), NR);
	EXPECT_EQ(of_a->damaged + of_b->damaged, 0);
}

/* A huge folio that is cut falls apart; what is left of it stays managed. */
static void test_cut(void)
{
	enum { CUT = 100 };
	struct file *file = file_new(NULL, "f", NR);
	struct events_state *events;

	cg = cg_new(NULL, "a");
	start_events(cg, &events);
	cg_read_file(cg, file, 0, NR);
	REQUIRE_EQ(cg_run(cg, collapse, file), 0);
	REQUIRE(!truncate(file->path, (NR - CUT) * PAGE));
	file->nr_pages -= CUT;
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR - CUT);
	EXPECT_EQ(cg_stat(cg, "managed_folios"), NR_HUGE - 1 + HUGE_PAGES - CUT);
	EXPECT_EQ(cg_stat(cg, "removed_truncate"), CUT);
	EXPECT_EQ(file_cached(file, NULL), NR - CUT);
	EXPECT_EQ(file_read(file, 0, NR - CUT), 0);
	EXPECT_BOOKS();

	/* where large folios are for reading alone, a writer has the file start anew */
	EXPECT_EQ(file_write(file, 0, 1), 0);
	EXPECT_OP(events->removed[TRUNCATE], >=, NR - CUT);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	EXPECT_EQ(file_read(file, 0, NR - CUT), 0);
	EXPECT_EQ(events->damaged, 0);
}

/* A policy that does not want the file does not get it this way. */
static void test_rejected(void)
{
	struct file *file = file_new(NULL, "f", NR);

	set_up("admission", "a", ADMIT_NONE);
	REQUIRE_EQ(cg_run(cg, collapse, file), 0);
	EXPECT(EVENTUALLY(nr_huge(cg) == NR_HUGE));
	EXPECT_EQ(cg_stat(cg, "admit_rejected"), 2 * NR);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), NR);
	EXPECT_EQ(cg_stat(cg, "managed_folios"), NR_HUGE);
	check_books();

	/* reclaim takes one, a reader the other */
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	EXPECT_EQ(cg_stat(cg, "evict_calls"), 0);
	EXPECT_EQ(file_cached(file, NULL), NR - HUGE_PAGES);
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	check_books();
}

/* For cg_start(): wait for khugepaged. */
static int stay_mapped(void *arg)
{
	struct file *file = arg;
	char *map = map_program(file);

	if (!map || madvise(map, file->nr_pages * PAGE, MADV_HUGEPAGE))
		return 1;
	pause();
	return 1;
}

static void test_khugepaged(void)
{
	char *before = read_text(KHUGEPAGED "scan_sleep_millisecs");
	/* how long it sleeps when it got no huge page once: a minute */
	char *alloc_before = read_text(KHUGEPAGED "alloc_sleep_millisecs");
	struct file *file = file_new(NULL, "f", NR);
	struct events_state *events;
	bool done;
	pid_t pid;

	REQUIRE(before && alloc_before);
	cg = cg_new(NULL, "a");
	start_events(cg, &events);
	cg_read_file(cg, file, 0, NR);
	pid = cg_start(cg, stay_mapped, file);
	REQUIRE(!write_text(KHUGEPAGED "alloc_sleep_millisecs", "20"));
	REQUIRE(!write_text(KHUGEPAGED "scan_sleep_millisecs", "20"));
	done = EVENTUALLY(cg_stat(cg, "managed_folios") == NR_HUGE);
	REQUIRE(!write_text(KHUGEPAGED "scan_sleep_millisecs", before));
	REQUIRE(!write_text(KHUGEPAGED "alloc_sleep_millisecs", alloc_before));
	EXPECT(done);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR);
	EXPECT_EQ(events->removed[MIGRATE], NR);
	EXPECT(EVENTUALLY(nr_huge(cg) == NR_HUGE));
	EXPECT_BOOKS();
	EXPECT_EQ(cg_write(cg, "cgroup.kill", "1"), 0);
	EXPECT_EQ(cg_wait(pid), -EINTR);
	EXPECT_EQ(cg_reclaim(cg, 4 * MiB), 0);
	EXPECT_EQ(events->removed[RECLAIM], NR);
	EXPECT_EQ(events->damaged, 0);
}

static const struct test tests[] = {
	{ "small folios end, the huge one is new",		test_small },
	{ "so do large ones",					test_large },
	{ "by a process of another cgroup",			test_other_cgroup },
	{ "a huge folio that is cut",				test_cut },
	{ "a huge folio that is rejected",			test_rejected },
	{ "by khugepaged",					test_khugepaged },
};

SUBJECT(collapse);
