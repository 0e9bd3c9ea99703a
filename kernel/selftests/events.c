// SPDX-License-Identifier: GPL-2.0-only
/* What a policy is told of the page cache, and the counters. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "selftest.h"
#include "states.h"

/* as in bpf/cachebpf.bpf.h */
enum { PLAIN, REFAULT, ADOPTED };

static const char *cg;
static struct events_state *state;

static void set_up(void)
{
	struct policy *p;

	cg = cg_new(NULL, "a");
	p = policy_open("events", NULL, cg);
	policy_attach(p);
	state = policy_state(p);
}

/* The policy's books and the kernel's agree. */
static void compare_books(void)
{
	static const char *const names[] = {
		[RECLAIM] = "removed_reclaim", [TRUNCATE] = "removed_truncate",
		[INVALIDATE] = "removed_invalidate", [MIGRATE] = "removed_migrate",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		expect((__u64)cg_stat(cg, names[i]) == state->removed[i], __FILE__, __LINE__,
		       "%s is %lld, the policy was told of %llu", names[i], cg_stat(cg, names[i]),
		       state->removed[i]);
	EXPECT_EQ(cg_stat(cg, "hits"), state->accessed);
	EXPECT_EQ(cg_stat(cg, "added"), state->added[PLAIN] + state->added[REFAULT]);
	EXPECT_EQ(cg_stat(cg, "refaults"), state->added[REFAULT]);
	EXPECT_EQ(cg_stat(cg, "adopted"), state->added[ADOPTED]);
	EXPECT_EQ(state->damaged, 0);
}

static void test_hits(void)
{
	struct file *file = file_new(NULL, "f", 50);

	set_up();
	cg_read_file(cg, file, 0, 50);
	EXPECT_EQ(cg_stat(cg, "misses"), 50);
	EXPECT_EQ(cg_stat(cg, "hits"), 0);
	EXPECT_EQ(state->accessed, 0);

	cg_read_file(cg, file, 0, 20);
	EXPECT_EQ(cg_stat(cg, "misses"), 50);
	EXPECT_EQ(cg_stat(cg, "hits"), 20);
	EXPECT_EQ(state->accessed, 20);
	EXPECT_EQ(state->accesses_seen, 2);

	/* whoever reads */
	EXPECT_EQ(file_read(file, 10, 20), 0);
	EXPECT_EQ(cg_stat(cg, "hits"), 40);
	EXPECT_EQ(cg_stat(cg, "added"), 50);
	compare_books();
}

static void test_readahead(void)
{
	struct file *file = file_new(NULL, "f", 64);

	set_up();
	cg_read_ahead(cg, file, 0, 32);
	REQUIRE(EVENTUALLY(file_cached(file, NULL) == 32));
	EXPECT_EQ(cg_stat(cg, "added"), 32);
	EXPECT_EQ(cg_stat(cg, "misses"), 0);
	EXPECT_EQ(cg_stat(cg, "hits"), 0);

	/* the first use is what it was read for */
	cg_read_file(cg, file, 0, 32);
	EXPECT_EQ(cg_stat(cg, "misses"), 32);
	EXPECT_EQ(cg_stat(cg, "hits"), 0);
	EXPECT_EQ(state->accessed, 0);
	cg_read_file(cg, file, 0, 32);
	EXPECT_EQ(cg_stat(cg, "hits"), 32);
	compare_books();
}

static void test_accesses(void)
{
	struct file *file = file_new(NULL, "f", 1);
	int i;

	set_up();
	for (i = 1; i <= 6; i++) {
		cg_read_file(cg, file, 0, 1);
		if (i > 1)
			EXPECT_EQ(state->accesses_seen, i);
	}
	/* it may be written, and counts on from there */
	state->write_accesses = 100;
	cg_read_file(cg, file, 0, 1);
	EXPECT_EQ(state->accesses_seen, 7);
	state->write_accesses = 0;
	cg_read_file(cg, file, 0, 1);
	EXPECT_EQ(state->accesses_seen, 101);
	/* it ends at its largest value */
	state->write_accesses = 32767;
	cg_read_file(cg, file, 0, 1);
	state->write_accesses = 0;
	for (i = 0; i < 3; i++)
		cg_read_file(cg, file, 0, 1);
	EXPECT_EQ(state->accesses_seen, 32768);
	/* beyond that it is the policy's */
	state->write_accesses = 65535;
	cg_read_file(cg, file, 0, 1);
	cg_read_file(cg, file, 0, 1);
	EXPECT_EQ(state->accesses_seen, 65535);
	unlink(file->path);
	EXPECT_EQ(state->accesses_at_end, 65535);
	compare_books();
}

static void test_reasons(void)
{
	struct file *file = file_new(NULL, "f", 400);
	int fd = open(file->path, O_RDWR | O_CLOEXEC);

	set_up();
	REQUIRE(fd >= 0);
	cg_read_file(cg, file, 0, 400);

	EXPECT(!ftruncate(fd, 350 * PAGE));
	EXPECT_EQ(state->removed[TRUNCATE], 50);

	EXPECT(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 300 * PAGE, 30 * PAGE));
	EXPECT_EQ(state->removed[TRUNCATE], 80);

	EXPECT(!posix_fadvise(fd, 200 * PAGE, 40 * PAGE, POSIX_FADV_DONTNEED));
	EXPECT_EQ(state->removed[INVALIDATE], 40);

	EXPECT_EQ(cg_reclaim(cg, 32 * PAGE), 0);
	EXPECT_EQ(state->removed[RECLAIM], 32);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 400 - 80 - 40 - 32);

	close(fd);
	EXPECT(!write_text("/proc/sys/vm/drop_caches", "1"));
	EXPECT_EQ(state->removed[INVALIDATE], 400 - 80 - 32);
	EXPECT_EQ(cg_stat(cg, "managed_folios"), 0);
	EXPECT_EQ(state->intact, 400);
	compare_books();

	/* a file that is deleted is truncated */
	cg_read_file(cg, file, 0, 100);
	unlink(file->path);
	EXPECT_EQ(state->removed[TRUNCATE], 180);
	EXPECT_EQ(cg_stat(cg, "managed_folios"), 0);
	compare_books();
}

static void test_direct_io(void)
{
	struct file *file = file_new(NULL, "f", 64);
	int fd = open(file->path, O_RDWR | O_DIRECT | O_CLOEXEC);
	void *buffer = NULL;

	set_up();
	REQUIRE(fd >= 0);
	REQUIRE(!posix_memalign(&buffer, PAGE, 16 * PAGE));
	cg_read_file(cg, file, 0, 64);
	/* what is cached of a range that is written directly is invalidated */
	REQUIRE_EQ(pread(fd, buffer, 16 * PAGE, 16 * PAGE), 16 * PAGE);
	EXPECT_EQ(pwrite(fd, buffer, 16 * PAGE, 16 * PAGE), 16 * PAGE);
	EXPECT_EQ(state->removed[INVALIDATE], 16);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 48);
	cg_read_file(cg, file, 0, 64);
	EXPECT_EQ(cg_stat(cg, "refaults"), 0);
	compare_books();
}

static void test_refault(void)
{
	struct file *file = file_new(NULL, "f", 256);

	set_up();
	cg_read_file(cg, file, 0, 256);
	EXPECT_EQ(state->added[REFAULT], 0);
	EXPECT_EQ(cg_reclaim(cg, 64 * PAGE), 0);
	EXPECT_EQ(state->removed[RECLAIM], 256 - file_cached(file, NULL));

	cg_read_file(cg, file, 0, 256);
	EXPECT_EQ(state->added[REFAULT], state->removed[RECLAIM]);
	EXPECT_EQ(state->added[PLAIN], 256);
	/* what came back is used for the first time again */
	EXPECT_EQ(cg_stat(cg, "misses"), 256 + state->added[REFAULT]);

	/* and no refault when somebody else threw it out */
	file_forget(file);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	cg_read_file(cg, file, 0, 256);
	EXPECT_EQ(state->added[REFAULT], state->removed[RECLAIM]);
	compare_books();
}

static int write_all(void *arg)
{
	struct file *file = arg;

	return file_write(file, 0, file->nr_pages);
}

static void test_written(void)
{
	struct file *file = file_empty("f", 100);

	set_up();
	/* pages that are written are added by their writer */
	EXPECT_EQ(cg_run(cg, write_all, file), 0);
	EXPECT_EQ(cg_stat(cg, "added"), 100);
	EXPECT_EQ(state->added_written, 100);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 100);
	file_forget(file);
	EXPECT(EVENTUALLY(cg_stat(cg, "managed_pages") == 0));
	EXPECT_EQ(state->removed[INVALIDATE], 100);
	EXPECT_EQ(file_read(file, 0, 100), 0);
	EXPECT_EQ(state->added_written, 100);
	compare_books();
}

/*
 * Uses through a mapping are seen when reclaim looks, and save the folio once;
 * what is mapped, and not used any more, goes as if it were not.
 */
static void mapped(bool lru_gen, int (*keep_mapped)(void *))
{
	const char *name = lru_name(lru_gen);
	struct file *hot = file_new(NULL, name, 64), *cold = file_new(NULL, "cold", 512);
	struct policy *p;
	unsigned long long before;
	pid_t pid;
	int i;

	cg = cg_new(NULL, name);
	p = policy_open("events", NULL, cg);
	policy_attach(p);
	state = policy_state(p);
	cg_read_file(cg, hot, 0, 64);
	cg_read_file(cg, cold, 0, 512);
	pid = cg_start(cg, keep_mapped, hot);
	REQUIRE(EVENTUALLY(cg_key(cg, "memory.stat", "file_mapped") >= 64 * (long long)PAGE));
	before = state->accessed;
	/* the mapped ones are the oldest, and would be the first to go */
	EXPECT_EQ(cg_reclaim(cg, 32 * PAGE), 0);
	EXPECT_EQ(file_cached(hot, NULL), 64);
	expect(state->accessed > before, __FILE__, __LINE__, "%s: the policy heard of no use", name);

	EXPECT_EQ(kill(pid, SIGSTOP), 0);
	for (i = 0; i < 17 && file_cached(hot, NULL); i++)
		EXPECT_EQ(cg_reclaim(cg, 32 * PAGE), 0);
	expect(!file_cached(hot, NULL), __FILE__, __LINE__, "%s: %zu pages stay", name,
	       file_cached(hot, NULL));
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(cg_write(cg, "cgroup.kill", "1"), 0);
	EXPECT_EQ(cg_wait(pid), -EINTR);
	compare_books();
	unlink(cold->path);
}

static void mapped_as_usual(bool lru_gen)
{
	mapped(lru_gen, file_keep_mapped);
}

static void test_mapped(void)
{
	with_both_lrus(mapped_as_usual);
}

static void mapped_at_random(bool lru_gen)
{
	mapped(lru_gen, file_keep_mapped_at_random);
}

/* MADV_RANDOM is no reason to evict what is used all the time. */
static void test_random(void)
{
	with_both_lrus(mapped_at_random);
}

/* Nothing is reclaimed, and the policy hears of them all the same, as long as there are any. */
static void test_looked_at(void)
{
	struct file *file = file_new(NULL, "f", 64);
	unsigned long long before;
	struct policy *p;
	pid_t pid;

	cg = cg_new(NULL, "a");
	p = policy_open("events", NULL, cg);
	policy_attach(p);
	state = policy_state(p);
	cg_read_file(cg, file, 0, 64);
	EXPECT_EQ(cg_stat(cg, "hits"), 0);
	pid = cg_start(cg, file_keep_mapped, file);
	EXPECT(WITHIN(300, cg_stat(cg, "hits") >= 3 * 64));
	EXPECT_EQ(cg_stat(cg, "misses"), 64);

	EXPECT_EQ(kill(pid, SIGSTOP), 0);
	EXPECT(WITHIN(30, (before = state->accessed, sleep(1), state->accessed == before)));
	EXPECT_EQ(cg_stat(cg, "hits"), state->accessed);
	EXPECT_EQ(cg_stat(cg, "evict_calls"), 0);
	EXPECT_EQ(cg_write(cg, "cgroup.kill", "1"), 0);
	EXPECT_EQ(cg_wait(pid), -EINTR);
	compare_books();
}

/* The mapped folios of all policies have been looked at, some times. */
static void wait_for_looks(void)
{
	struct file *file = file_new(NULL, "looked-at", 64);
	const char *other = cg_new(NULL, "looked-at");

	policy_start("fifo", other);
	cg_read_file(other, file, 0, 64);
	cg_start(other, file_keep_mapped, file);
	REQUIRE(WITHIN(300, cg_stat(other, "hits") >= 3 * 64));
}

/* What somebody else has mapped says nothing of the policy's cgroup. */
static void test_strangers(void)
{
	struct file *file = file_new(NULL, "f", 64);

	cg = cg_new(NULL, "a");
	policy_start("fifo", cg);
	cg_read_file(cg, file, 0, 64);
	cg_start(cg_new(NULL, "stranger"), file_keep_mapped, file);
	wait_for_looks();
	EXPECT_EQ(cg_stat(cg, "hits"), 0);
}

/* Maps it more often than a look at a page looks at mappings, and uses one page. */
static int keep_mapped_often(void *file)
{
	volatile char *map = NULL;
	int i;

	for (i = 0; i < 200; i++) {
		map = file_map(file);
		if (!map)
			return 1;
	}
	(void)map[0];
	pause();
	return 0;
}

/* How often strangers have mapped it hides nothing, either. */
static void test_hidden(void)
{
	struct file *file = file_new(NULL, "f", 64);

	cg = cg_new(NULL, "a");
	policy_start("fifo", cg);
	cg_read_file(cg, file, 0, 64);
	cg_start(cg_new(NULL, "stranger"), keep_mapped_often, file);
	REQUIRE(EVENTUALLY(cg_key(cg, "memory.stat", "file_mapped") > 0));
	cg_start(cg, file_keep_mapped, file);
	EXPECT(WITHIN(300, cg_stat(cg, "hits") >= 64));
}

static int keep_mapped_as_scanner(void *file)
{
	prctl(PR_SET_NAME, "scanner");
	return file_keep_mapped(file);
}

/* Whose uses they are cannot be seen: they are no reason to admit what was rejected. */
static void test_rejected(void)
{
	struct file *file = file_new(NULL, "f", 64);
	struct policy *p;

	cg = cg_new(NULL, "a");
	p = policy_open_with_filter("fifo", cg);
	policy_set_scan_threads(p, "scan*");
	policy_attach(p);
	cg_start(cg, keep_mapped_as_scanner, file);
	REQUIRE(EVENTUALLY(cg_key(cg, "memory.stat", "file_mapped") >= 64 * (long long)PAGE));
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 64);
	wait_for_looks();
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 64);
	EXPECT_EQ(cg_stat(cg, "admit_asked_again"), 0);
}

/*
 * Migration keeps what belongs to a folio.  Every other stretch of a
 * region is made free, so that compaction has holes to fill.
 */
static void test_migration(void)
{
	enum { NR = 16 * MiB_PAGES };
	struct file *file = file_new(NULL, "f", NR), *filler = file_new(NULL, "filler", NR);
	uint64_t *before, *after;
	size_t i, first, moved = 0;
	static bool cached[NR];

	/* what others have goes out of the way first, or it takes all of the holes */
	REQUIRE(!write_text("/proc/sys/vm/compact_memory", "1"));
	set_up();
	/* what is freed shall not hide in per-CPU lists, where compaction does not look */
	REQUIRE(!write_text(HIGH_FRACTION, "100000"));
	for (i = 0; i < NR; i += 16) {
		cg_read_ahead(cg, file, i, 16);
		file_read_ahead(filler, i, 16);
	}
	REQUIRE(EVENTUALLY(file_cached(file, NULL) == NR));
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR);
	file_forget(filler);

	before = file_frames(file);
	REQUIRE(!write_text("/proc/sys/vm/compact_memory", "1"));
	REQUIRE(!write_text(HIGH_FRACTION, "0"));
	after = file_frames(file);
	for (i = 0; i < NR; i++)
		moved += before[i] != after[i];
	diag("%zu pages moved, %llu were lost on the way", moved, state->removed[MIGRATE]);
	EXPECT_OP(moved, >, NR / 50);
	EXPECT_EQ(cg_stat(cg, "managed_pages") + state->removed[MIGRATE], NR);
	/* memory for the new entries is seldom short */
	EXPECT_OP(state->removed[MIGRATE], <=, NR / 50);
	EXPECT_EQ(cg_stat(cg, "hits"), 0);

	/* their places in the list, too: this is still a FIFO */
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	file_cached(file, cached);
	for (first = 0; first < NR && !cached[first]; first++)
		;
	EXPECT_OP(first, >=, MiB_PAGES);
	for (i = first; i < NR; i++)
		if (!expect(cached[i], __FILE__, __LINE__, "page %zu went before page %zu", i, first))
			break;

	/* all are what they were, each ends once */
	file_forget(file);
	EXPECT_EQ(state->intact, NR);
	EXPECT_EQ(state->damaged, 0);
	for (i = 0; i < NR; i++)
		if (!expect(state->ends[i] == 1, __FILE__, __LINE__, "folio %zu ended %u times", i,
			    state->ends[i]))
			break;
	EXPECT_EQ(cg_stat(cg, "managed_folios"), 0);
	EXPECT_EQ(file_read(file, 0, NR), 0);
	compare_books();
}

static int read_sequential(void *arg)
{
	return file_read_sequential(arg);
}

static void test_large_folios(void)
{
	struct file *file = file_new(xfs_dir(), "f", 16 * MiB_PAGES);
	size_t cached;

	set_up();
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	cached = file_cached(file, NULL);
	EXPECT_EQ(cached, file->nr_pages);
	EXPECT_OP(cg_stat(cg, "managed_pages"), >=, cached);
	if (!EXPECT_OP(cg_stat(cg, "managed_folios"), <, cg_stat(cg, "managed_pages") / 2))
		diag("no large folios?");
	EXPECT(EVENTUALLY(cg_key(cg, "memory.stat", "file") ==
			  cg_stat(cg, "managed_pages") * (long long)PAGE));

	/* budgets are in pages: it gets what it asked for, and not much more */
	EXPECT_EQ(cg_reclaim(cg, 4 * MiB), 0);
	EXPECT_OP(cached - file_cached(file, NULL), >=, 4 * MiB_PAGES);
	EXPECT_OP(cached - file_cached(file, NULL), <=, 8 * MiB_PAGES);
	EXPECT_EQ(state->removed[RECLAIM], cached - file_cached(file, NULL));
	EXPECT(EVENTUALLY(cg_key(cg, "memory.stat", "file") ==
			  cg_stat(cg, "managed_pages") * (long long)PAGE));
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	compare_books();
}

/* A large folio that a truncation cuts is split; its parts are managed on. */
static void test_split(void)
{
	struct file *file = file_new(xfs_dir(), "f", 4 * MiB_PAGES);
	size_t pages = file->nr_pages, folios;
	long long truncated;

	set_up();
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	folios = cg_stat(cg, "managed_folios");
	while (pages > 700) {
		pages -= 33;
		REQUIRE(!truncate(file->path, pages * PAGE));
		if (!EXPECT_EQ(cg_stat(cg, "managed_pages"), file_cached(file, NULL)))
			break;
	}
	diag("%zu folios were %lld after the cuts", folios, cg_stat(cg, "managed_folios"));
	file->nr_pages = pages;
	EXPECT_EQ(file_read(file, 0, pages), 0);
	file_forget(file);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	EXPECT_EQ(cg_stat(cg, "managed_folios"), 0);
	/* of pages by which a folio became smaller the policy is not told */
	truncated = cg_stat(cg, "removed_truncate");
	EXPECT_OP(truncated, >=, state->removed[TRUNCATE]);
	EXPECT_EQ(cg_stat(cg, "added"), truncated + cg_stat(cg, "removed_reclaim") +
					cg_stat(cg, "removed_invalidate"));
	EXPECT_EQ(state->damaged, 0);
}

static const struct test tests[] = {
	{ "the first use is a miss, others are hits",		test_hits },
	{ "readahead is no use",				test_readahead },
	{ "the access counter",					test_accesses },
	{ "reasons of removal",					test_reasons },
	{ "direct writes invalidate",				test_direct_io },
	{ "refaults",						test_refault },
	{ "written pages",					test_written },
	{ "uses through a mapping",				test_mapped },
	{ "uses through a mapping that is read at random",	test_random },
	{ "uses through a mapping, without reclaim",		test_looked_at },
	{ "uses through a stranger's mapping",			test_strangers },
	{ "uses behind a stranger's mappings",			test_hidden },
	{ "uses of what was rejected, through a mapping",	test_rejected },
	{ "migration keeps what belongs to a folio",		test_migration },
	{ "large folios are counted in pages",			test_large_folios },
	{ "splitting a large folio",				test_split },
};

SUBJECT(events);
