// SPDX-License-Identifier: GPL-2.0-only
/* Keys of folios, and the list a folio is said to be on. */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "selftest.h"
#include "states.h"

#define NR	300

static const char *cg;
static struct policy *policy;
static struct keys_state *state;
static struct bpf_link *attached;

static void set_up(void)
{
	cg = cg_new(NULL, "a");
	policy = policy_open("keys", NULL, cg);
	attached = policy_attach(policy);
	state = policy_state(policy);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A sorted copy. */
static uint64_t *sorted(const __u64 *keys, size_t nr)
{
	uint64_t *copy = calloc(nr, sizeof(*copy));
	size_t i;

	REQUIRE(copy != NULL);
	for (i = 0; i < nr; i++)
		copy[i] = keys[i];
	qsort(copy, nr, sizeof(*copy), compare);
	return copy;
}

/* No key twice, and none that stands for none. */
static void expect_distinct(const __u64 *keys, size_t nr)
{
	uint64_t *all = sorted(keys, nr);
	size_t i;

	EXPECT(all[0] != 0);
	for (i = 1; i < nr; i++)
		if (!EXPECT(all[i] != all[i - 1]))
			break;
	free(all);
}

/* Pages @first and on of a file have, as folios @folio and on, the keys they had before. */
static void expect_same(const __u64 *keys, const __u64 *before, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!expect(keys[i] == before[i], __FILE__, __LINE__,
			    "key %zu is %#llx, it was %#llx", i, keys[i], before[i]))
			break;
}

/* Whatever happens to a page, its key is the same. */
static void test_same(void)
{
	struct file *file = file_new(NULL, "f", NR);
	static bool cached[NR];
	size_t i, nr;

	set_up();
	cg_read_file(cg, file, 0, NR);
	REQUIRE_EQ(state->nr_added, NR);
	expect_distinct(state->added, NR);
	cg_read_file(cg, file, 0, NR);
	expect_same(state->accessed, state->added, NR);

	/* evicted, and back again */
	EXPECT_EQ(cg_reclaim(cg, 64 * PAGE), 0);
	EXPECT_OP(file_cached(file, cached), <=, NR - 64);
	for (i = 0; i < NR; i++)
		if (!EXPECT_EQ(state->removed[i], cached[i] ? 0 : state->added[i]))
			break;
	cg_read_file(cg, file, 0, NR);
	for (i = 0, nr = NR; i < NR; i++)
		if (!cached[i] && !EXPECT(state->added[nr++] == state->added[i]))
			break;
	EXPECT_EQ(state->nr_added, nr);

	/* the kernel has forgotten the inode in between */
	file_forget(file);
	REQUIRE(!write_text("/proc/sys/vm/drop_caches", "2"));
	cg_read_file(cg, file, 0, NR);
	expect_same(state->added + nr, state->added, NR);
	REQUIRE_EQ(state->nr_added, nr + NR);

	/* with interrupts off, by a process of another cgroup */
	EXPECT(!truncate(file->path, 10 * PAGE));
	expect_same(state->removed + nr + 10, state->added + 10, NR - 10);
	EXPECT_EQ(state->removed[nr + 9], 0);
	EXPECT_EQ(state->nodes, 1);
}

static ino_t inode_of(const struct file *file)
{
	struct stat st;

	REQUIRE(!stat(file->path, &st));
	return st.st_ino;
}

static long generation_of(const struct file *file)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC), generation = 0;

	REQUIRE(fd >= 0 && !ioctl(fd, FS_IOC_GETVERSION, &generation));
	close(fd);
	return generation;
}

/* Another page, another file, another file with the same inode number: another key. */
static void test_others(void)
{
	const char *dir = disk_mount(disk_new("numbers", 64, 0), true);
	struct file *a = file_new(dir, "a", NR), *b = file_new(dir, "b", NR), *c;
	long generation = generation_of(b);
	ino_t ino = inode_of(b);

	set_up();
	cg_read_file(cg, a, 0, NR);
	cg_read_file(cg, b, 0, NR);
	REQUIRE_EQ(state->nr_added, 2 * NR);
	expect_distinct(state->added, 2 * NR);

	REQUIRE(!unlink(b->path));
	/* nobody else makes files there */
	c = file_new(dir, "c", NR);
	REQUIRE_EQ(inode_of(c), ino);
	REQUIRE(generation_of(c) != generation);
	cg_read_file(cg, c, 0, NR);
	REQUIRE_EQ(state->nr_added, 3 * NR);
	expect_distinct(state->added, 3 * NR);
}

/* @command is run while no disk is mounted, @disk is the one that is mounted then. */
static void change_disk(const char *dir, const char *command, const char *disk)
{
	REQUIRE(!umount(dir));
	REQUIRE_EQ(system(command), 0);
	REQUIRE(!mount(disk, dir, "ext4", MS_NOATIME, NULL));
}

/* What counts is the file system, and not the device on which it is. */
static void test_other_device(void)
{
	const char *first = disk_new("first", 64, 0), *second = disk_new("second", 64, 0);
	const char *dir = disk_mount(first, true);
	struct file *file = file_new(dir, "f", NR);
	char command[256];

	set_up();
	cg_read_file(cg, file, 0, NR);
	snprintf(command, sizeof(command), "dd if=%s of=%s bs=1M status=none", first, second);
	change_disk(dir, command, second);
	inode_of(file); /* its blocks are cached, for somebody else */
	cg_read_file(cg, file, 0, NR);
	REQUIRE_EQ(state->nr_added, 2 * NR);
	expect_same(state->added + NR, state->added, NR);

	snprintf(command, sizeof(command), "tune2fs -U random %s >/dev/null", second);
	change_disk(dir, command, second);
	inode_of(file);
	cg_read_file(cg, file, 0, NR);
	REQUIRE_EQ(state->nr_added, 3 * NR);
	expect_distinct(state->added + NR, 2 * NR);
}

/* Both halves are good for something: buckets are chosen by one, what is in them by the other. */
static void test_spread(void)
{
	struct file *file = file_new(NULL, "f", KEYS_MAX_FOLIOS);
	unsigned int high[64] = { }, low[64] = { };
	size_t i;

	set_up();
	cg_read_file(cg, file, 0, KEYS_MAX_FOLIOS);
	for (i = 0; i < KEYS_MAX_FOLIOS; i++) {
		high[state->added[i] >> 58]++;
		low[state->added[i] & 63]++;
	}
	/* 64 on average, with a standard deviation of 8 */
	for (i = 0; i < 64; i++) {
		EXPECT_OP(high[i], >, 64 - 5 * 8);
		EXPECT_OP(high[i], <, 64 + 5 * 8);
		EXPECT_OP(low[i], >, 64 - 5 * 8);
		EXPECT_OP(low[i], <, 64 + 5 * 8);
	}
}

/* A successor finds the same keys. */
static void test_successor(void)
{
	struct file *file = file_new(NULL, "f", NR);
	struct keys_state *next_state;
	struct policy *next;

	set_up();
	cg_read_file(cg, file, 0, NR);
	REQUIRE_EQ(state->nr_added, NR);
	next = policy_open("keys", NULL, cg);
	REQUIRE_EQ(policy_load(next), 0);
	REQUIRE_EQ(bpf_link__update_map(attached, next->map), 0);
	next_state = policy_state(next);
	REQUIRE_EQ(next_state->nr_added, NR);
	EXPECT(!memcmp(sorted(state->added, NR), sorted(next_state->added, NR),
		       NR * sizeof(uint64_t)));
	/* whose folios they are now */
	cg_read_file(cg, file, 0, NR);
	EXPECT_EQ(state->accessed[0], 0);
	expect_same(next_state->accessed, next_state->added, NR);
}

static void expect_lists(const __u8 *lists, size_t first, size_t nr)
{
	size_t i;

	for (i = first; i < first + nr; i++)
		if (!expect(lists[i] == 1 + i % KEYS_NR_LISTS, __FILE__, __LINE__,
			    "folio %zu was on list %u, it is said", i, lists[i]))
			break;
}

/* Until folio_removed() has returned, a folio is on the list that it was on. */
static void test_list(void)
{
	struct file *file = file_new(NULL, "f", NR);
	size_t i, gone;

	set_up();
	cg_read_file(cg, file, 0, NR);
	cg_read_file(cg, file, 0, NR);
	expect_lists(state->list_accessed, 0, NR);

	/* reclaim takes from the first list what it can */
	EXPECT_EQ(cg_reclaim(cg, 64 * PAGE), 0);
	gone = NR - file_cached(file, NULL);
	EXPECT_OP(gone, >=, 64);
	for (i = 0; i < NR; i++)
		if (!EXPECT_EQ(state->list_removed[i],
			       state->removed[i] ? 1 + i % KEYS_NR_LISTS : 0))
			break;
	/* truncation, and what is left by invalidation */
	EXPECT(!truncate(file->path, NR / 2 * PAGE));
	expect_lists(state->list_removed, NR / 2, NR - NR / 2);
	file->nr_pages = NR / 2;
	file_forget(file);
	expect_lists(state->list_removed, 0, NR);
}

static const struct test tests[] = {
	{ "a page that comes back has the key it had",		test_same },
	{ "others have other keys",				test_others },
	{ "a file system on another device has the same keys",	test_other_device },
	{ "keys are evenly distributed",			test_spread },
	{ "a successor finds the same keys",			test_successor },
	{ "the list of a folio that goes",			test_list },
};

SUBJECT(keys);
