// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page frames that are taken out of use: single ones because they are bad, or
 * may become so, and whole blocks of memory that go offline.  The folios there
 * move, with what their policy knows of them, or end.  For a kernel with
 * MEMORY_FAILURE and MEMORY_HOTPLUG, and the machine of TEST-48-frames.sh.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "selftest.h"
#include "states.h"

#define NR		((long long)MiB_PAGES)
#define NR_BAD		32
/* more than is free elsewhere in the block that a file begins in */
#define NR_MOVED	(16 * NR)

#define MEMORY		"/sys/devices/system/memory/"
#define UNPOISON	"/sys/kernel/debug/hwpoison/unpoison-pfn"
#define MAX_BLOCKS	4096

/* the C library has but the other one */
#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE	101
#endif

static const char *cg;
static struct file *file;
static struct events_state *state;
static struct bpf_link *attachment;

/* A cgroup with a policy, and the @nr pages of a file in its cache. */
static void set_up(const char *name, size_t nr)
{
	struct policy *p;

	cg = cg_new(NULL, name);
	file = file_new(NULL, name, nr);
	p = policy_open("events", NULL, cg);
	attachment = policy_attach(p);
	state = policy_state(p);
	cg_read_file(cg, file, 0, nr);
	REQUIRE_EQ(cg_stat(cg, "managed_pages"), nr);
}

/* All that is cached is as it was, and the policy knows of it; it can be reclaimed. */
static void tear_down(long long nr_cached)
{
	long long nr_before = cg_stat(cg, "added");

	EXPECT_EQ(file_cached(file, NULL), nr_cached);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), nr_cached);
	EXPECT_EQ(cg_stat(cg, "unmanaged"), 0);
	EXPECT_BOOKS();
	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT_EQ(cg_stat(cg, "added") - nr_before, (long long)file->nr_pages - nr_cached);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), file->nr_pages);

	EXPECT_EQ(cg_reclaim(cg, file->nr_pages * PAGE / 2), 0);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), file_cached(file, NULL));
	EXPECT_EQ(state->damaged, 0);
	EXPECT_BOOKS();
	REQUIRE_EQ(bpf_link__destroy(attachment), 0);
	unlink(file->path);
}

/* The frame of a page that is mapped here; 0 if there is none. */
static unsigned long frame_of(volatile char *address)
{
	uint64_t entry = 0;
	int fd;

	(void)*address;
	fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (pread(fd, &entry, sizeof(entry), (uintptr_t)address / PAGE * sizeof(entry)) !=
	    sizeof(entry))
		entry = 0;
	close(fd);
	return entry >> 63 ? entry & ((1ULL << 55) - 1) : 0;
}

static char *map_file(void)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	char *map = mmap(NULL, file->nr_pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	REQUIRE(fd >= 0 && map != MAP_FAILED);
	close(fd);
	return map;
}

static void need_failures(void)
{
	if (access(UNPOISON, W_OK))
		skip("this kernel has no MEMORY_FAILURE, or no HWPOISON_INJECT");
}

/* Give the frame back; what was bad is only said to be. */
static void unpoison(unsigned long pfn)
{
	char text[32];

	snprintf(text, sizeof(text), "%#lx", pfn);
	EXPECT_EQ(write_text(UNPOISON, text), 0);
}

/* Have the first frames of the file taken out of use, as @advice says. */
static void spoil(int advice)
{
	char *map = map_file();
	unsigned long pfn;
	int i;

	for (i = 0; i < NR_BAD; i++) {
		pfn = frame_of(map + i * PAGE);
		REQUIRE(pfn);
		/* a page may be busy for a moment */
		EXPECT(EVENTUALLY(!madvise(map + i * PAGE, PAGE, advice) || errno != EBUSY));
		EXPECT(frame_of(map + i * PAGE) != pfn);
		unpoison(pfn);
	}
	munmap(map, file->nr_pages * PAGE);
}

/* The folio moves to another frame. */
static void soft(bool lru_gen)
{
	set_up(lru_name(lru_gen), NR);
	spoil(MADV_SOFT_OFFLINE);
	EXPECT_EQ(cg_stat(cg, "added"), NR);
	EXPECT_EQ(cg_stat(cg, "removed_migrate"), 0);
	tear_down(NR);
}

static void test_soft(void)
{
	need_failures();
	with_both_lrus(soft);
}

/* The folio is lost; the page is read again by whoever looks at it next, here this process. */
static void hard(bool lru_gen)
{
	set_up(lru_name(lru_gen), NR);
	spoil(MADV_HWPOISON);
	EXPECT_EQ(cg_stat(cg, "removed_truncate"), NR_BAD);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR - NR_BAD);
	EXPECT_EQ(state->removed[TRUNCATE], NR_BAD);
	EXPECT_BOOKS();
	/* they are charged elsewhere: out of the way, or the cgroup does not get them */
	file_forget(file);
	cg_read_file(cg, file, 0, NR);
	tear_down(NR);
}

static void test_hard(void)
{
	need_failures();
	with_both_lrus(hard);
}

static unsigned long block_pages(void)
{
	char *text = read_text(MEMORY "block_size_bytes");

	return text ? strtoul(text, NULL, 16) / PAGE : 0;
}

static int block_go(unsigned long block, const char *where)
{
	char path[128];

	snprintf(path, sizeof(path), MEMORY "memory%lu/state", block);
	return write_text(path, where);
}

/* Can all that is in it move? */
static bool block_movable(unsigned long block)
{
	char path[128], *zones;

	snprintf(path, sizeof(path), MEMORY "memory%lu/valid_zones", block);
	zones = read_text(path);
	return zones && !strncmp(zones, "Movable", strlen("Movable"));
}

/* The movable block that has most of the file's pages; MAX_BLOCKS if none has any. */
static unsigned long most_used_block(void)
{
	static unsigned int nr[MAX_BLOCKS];
	unsigned long block, most = MAX_BLOCKS;
	char *map = map_file();
	size_t i;

	memset(nr, 0, sizeof(nr));
	for (i = 0; i < file->nr_pages; i++) {
		block = frame_of(map + i * PAGE) / block_pages();
		if (block < MAX_BLOCKS && block_movable(block))
			nr[block]++;
	}
	munmap(map, file->nr_pages * PAGE);
	for (block = 0; block < MAX_BLOCKS; block++)
		if (nr[block] && (most == MAX_BLOCKS || nr[block] > nr[most]))
			most = block;
	if (most < MAX_BLOCKS)
		diag("%u of %zu pages are in block %lu", nr[most], file->nr_pages, most);
	return most;
}

/* All folios of a block of memory move elsewhere, the policy's too. */
static void offline(bool lru_gen)
{
	unsigned long block;

	set_up(lru_name(lru_gen), NR_MOVED);
	block = most_used_block();
	if (block == MAX_BLOCKS)
		skip("no page of the file is in memory that can be taken away");
	REQUIRE_EQ(block_go(block, "offline"), 0);
	EXPECT_EQ(cg_stat(cg, "added"), NR_MOVED);
	EXPECT_EQ(cg_stat(cg, "removed_migrate"), 0);
	/* with its frames gone, too */
	EXPECT_BOOKS();
	tear_down(NR_MOVED);
	EXPECT_EQ(block_go(block, "online_movable"), 0);
	EXPECT_BOOKS();
}

static void test_offline(void)
{
	if (!block_pages())
		skip("this kernel has no MEMORY_HOTPLUG");
	with_both_lrus(offline);
}

/* A policy comes when some memory is away, which is there again while it runs. */
static void test_online(void)
{
	unsigned long block;

	if (!block_pages())
		skip("this kernel has no MEMORY_HOTPLUG");
	set_up("before", NR_MOVED);
	block = most_used_block();
	if (block == MAX_BLOCKS)
		skip("no page of the file is in memory that can be taken away");
	REQUIRE_EQ(block_go(block, "offline"), 0);
	REQUIRE_EQ(bpf_link__destroy(attachment), 0);
	unlink(file->path);

	set_up("meanwhile", NR);
	EXPECT_EQ(block_go(block, "online_movable"), 0);
	EXPECT_BOOKS();
	file_forget(file);
	EXPECT(EVENTUALLY(cg_stat(cg, "managed_pages") == 0));
	cg_read_file(cg, file, 0, NR);
	tear_down(NR);
}

static const struct test tests[] = {
	{ "soft", test_soft },
	{ "hard", test_hard },
	{ "offline", test_offline },
	{ "online", test_online },
};

SUBJECT(frames);
