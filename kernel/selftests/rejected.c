// SPDX-License-Identifier: GPL-2.0-only
/* Rejected folios that no reader takes along: what happens to them, and reclaim. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "admission.h"

static uint64_t inode_of(const struct file *file)
{
	struct stat st;

	REQUIRE(!stat(file->path, &st));
	return st.st_ino;
}

static int write_all(void *arg)
{
	struct file *file = arg;

	return file_write(file, 0, file->nr_pages);
}

static void test_written(void)
{
	struct file *file = file_empty("f", 48 * MiB_PAGES);

	set_up("admission", "a", ADMIT_NONE);
	/* not less: writers of a smaller one are stopped too late when the disk is busy */
	REQUIRE_EQ(cg_write(cg, "memory.max", "16777216"), 0);
	EXPECT_EQ(cg_run(cg, write_all, file), 0);
	EXPECT_EQ(asked(WRITE, READ | READAHEAD | FAULT | REUSE), file->nr_pages);
	EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
	/* nothing drops them behind their writer; reclaim does, as soon as they are clean */
	EXPECT_OP(cg_stat(cg, "removed_reclaim"), >, 24 * MiB_PAGES);
	EXPECT_EQ(cg_stat(cg, "removed_dropped"), 0);

	/* dirty pages are read, and not dropped */
	EXPECT_EQ(cg_run(cg, write_all, file), 0);
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(file_read_sequential(file), 0);
	EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
	/* clean ones are */
	file_forget(file);
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(file_cached(file, NULL), 0);
	check_books();
}

#define NOT_ALL_CACHED	4

static int read_mapping(void *arg)
{
	struct file *file = arg;
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	volatile uint64_t *map;
	uint64_t sum = 0;
	size_t i, cached;

	map = mmap(NULL, file->nr_pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || map == MAP_FAILED)
		return 1;
	for (i = 0; i < file->nr_pages * PAGE / sizeof(*map); i += 16)
		sum += map[i] - map[0];
	if (file_read_sequential(file))
		return 2;
	/* what is mapped is not dropped, whoever reads it */
	cached = file_cached(file, NULL);
	for (i = 0; i < file->nr_pages * PAGE / sizeof(*map); i += 16)
		sum -= map[i] - map[0];
	munmap((void *)map, file->nr_pages * PAGE);
	close(fd);
	if (sum)
		return 3;
	return cached == file->nr_pages ? 0 : NOT_ALL_CACHED;
}

static void test_mapped(void)
{
	struct file *file = file_new(NULL, "f", 4 * MiB_PAGES);

	set_up("admission", "a", ADMIT_NONE);
	EXPECT_EQ(cg_run(cg, read_mapping, file), 0);
	EXPECT_EQ(asked(READ | FAULT, WRITE | REUSE), 4 * MiB_PAGES);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 4 * MiB_PAGES);

	/* reclaim has them when the mapping is gone, and asks nobody */
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	EXPECT_OP(file_cached(file, NULL), <=, 3 * MiB_PAGES);
	EXPECT_EQ(cg_stat(cg, "evict_calls"), 0);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	/* and so has a read */
	EXPECT_EQ(file_read_sequential(file), 0);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 0);
	check_books();
}

static int read_forever(void *arg)
{
	int err;

	do
		err = file_read_sequential(arg);
	while (!err);
	return err;
}

static int map_forever(void *arg)
{
	int err;

	do
		err = read_mapping(arg);
	while (!err || err == NOT_ALL_CACHED);
	return err;
}

static int write_forever(void *arg)
{
	struct file *file = arg;
	int err;

	/* what is there already, so that it can be compared at any moment */
	do
		err = file_write(file, 0, file->nr_pages);
	while (!err);
	return err;
}

/* Readers, writers and mappings of one file, reclaim, and a policy that changes its mind. */
static void test_crowd(void)
{
	struct file *file = file_new(NULL, "f", 4 * MiB_PAGES);
	static int (*const members[])(void *arg) = {
		read_forever, map_forever, write_forever, read_forever,
	};
	pid_t pids[ARRAY_SIZE(members)];
	size_t i;

	set_up("admission", "a", ADMIT_NONE);
	for (i = 0; i < ARRAY_SIZE(members); i++)
		pids[i] = cg_start(cg, members[i], file);
	for (i = 0; i < 300; i++) {
		state->mode = i % (ADMIT_REUSED + 1);
		usleep(20000);
		if (i % 7 == 0)
			cg_reclaim(cg, MiB);
		/* so that there are clean pages */
		if (i % 11 == 0)
			file_sync(file);
	}
	/* each is still at it: none of them has read anything that is wrong */
	for (i = 0; i < ARRAY_SIZE(members); i++)
		EXPECT_EQ(waitpid(pids[i], NULL, WNOHANG), 0);
	EXPECT_EQ(cg_write(cg, "cgroup.kill", "1"), 0);
	for (i = 0; i < ARRAY_SIZE(members); i++)
		EXPECT_EQ(cg_wait(pids[i]), -EINTR);

	diag("%lld of %lld dropped, %lld of %lld admitted later", cg_stat(cg, "removed_dropped"),
	     cg_stat(cg, "added"), cg_stat(cg, "admit_reversed"), cg_stat(cg, "admit_asked_again"));
	EXPECT_OP(cg_stat(cg, "removed_dropped"), >, 0);
	EXPECT_OP(cg_stat(cg, "admit_reversed"), >, 0);
	/* the disk may still be reading ahead for those that are gone */
	EXPECT(EVENTUALLY(cg_stat(cg, "managed_pages") == (long long)file_cached(file, NULL)));
	check_books();
	file_forget(file);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	EXPECT_EQ(file_read_sequential(file), 0);
}

/* Rejected folios that reclaim leaves alone while nobody has used them and there are others. */
#define SPARED	MiB_PAGES

static void read_ahead(struct file *file, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i += 16)
		cg_read_ahead(cg, file, i, 16);
	REQUIRE(EVENTUALLY(file_cached(file, NULL) == nr));
}

/* What was rejected goes before what is wanted, even if it was used later; what was only read ahead is spared. */
static void pressure(const char *map, bool lru_gen)
{
	struct file *wanted = file_new(NULL, "wanted", 4 * MiB_PAGES);
	struct file *used = file_new(NULL, "used", 4 * MiB_PAGES);
	struct file *ahead = file_new(NULL, "ahead", 2 * SPARED);
	size_t nr_wanted;
	char *name;

	REQUIRE(asprintf(&name, "%s-%s", map, lru_name(lru_gen)) > 0);
	set_up(map, name, ADMIT_FILE);
	state->admitted_ino = inode_of(wanted);
	cg_read_file(cg, wanted, 0, wanted->nr_pages);
	EXPECT_EQ(cg_run(cg, read_beginnings, used), 0);
	read_ahead(ahead, ahead->nr_pages);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), used->nr_pages + ahead->nr_pages);

	EXPECT_EQ(cg_reclaim(cg, 2 * MiB), 0);
	EXPECT_EQ(file_cached(wanted, NULL), wanted->nr_pages);
	EXPECT_OP(file_cached(used, NULL), <=, 2 * MiB_PAGES);
	EXPECT_EQ(file_cached(ahead, NULL), ahead->nr_pages);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), file_cached(used, NULL) + ahead->nr_pages);
	EXPECT_EQ(cg_stat(cg, "evict_calls"), 0);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(cg_stat(cg, "evict_reclaimed"), cg_stat(cg, "removed_reclaim"));

	/* not enough of them: the others go by the policy */
	EXPECT_EQ(cg_reclaim(cg, 4 * MiB), 0);
	nr_wanted = file_cached(wanted, NULL);
	EXPECT_OP(nr_wanted, <=, 3 * MiB_PAGES);
	EXPECT_OP(nr_wanted, >, 0);
	EXPECT_EQ(file_cached(used, NULL), 0);
	EXPECT_EQ(file_cached(ahead, NULL), SPARED);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	if (strcmp(map, "filter"))
		EXPECT_OP(cg_stat(cg, "evict_calls"), >, 0);
	else
		EXPECT_EQ(cg_stat(cg, "evict_calls"), 0);

	/* when they have been used, if not to their end, they are not spared any more */
	EXPECT_EQ(cg_run(cg, read_beginnings, ahead), 0);
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	EXPECT_EQ(cg_reclaim(cg, MiB / 2), 0);
	EXPECT_OP(file_cached(ahead, NULL), <=, SPARED / 2);
	EXPECT_EQ(file_cached(wanted, NULL), nr_wanted);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);

	if (strcmp(map, "filter")) {
		/* nor are they when there are no others */
		file_forget(wanted);
		file_forget(ahead);
		read_ahead(ahead, SPARED);
		EXPECT_EQ(cg_reclaim(cg, MiB / 2), 0);
		EXPECT_OP(file_cached(ahead, NULL), <=, SPARED / 2);
		EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	}
	check_books();
	REQUIRE_EQ(bpf_link__destroy(attachment), 0);
}

static void pressure_policy(bool lru_gen)
{
	pressure("admission", lru_gen);
}

static void test_pressure(void)
{
	with_both_lrus(pressure_policy);
}

static void pressure_filter(bool lru_gen)
{
	pressure("filter", lru_gen);
}

static void test_pressure_filter(void)
{
	with_both_lrus(pressure_filter);
}

/* Rejected folios that are in use stay, and are not in the way of the policy. */
static void test_busy(void)
{
	struct file *wanted = file_new(NULL, "wanted", 4 * MiB_PAGES);
	struct file *rejected = file_new(NULL, "rejected", 512);
	pid_t pid;

	set_up("admission", "a", ADMIT_FILE);
	state->admitted_ino = inode_of(wanted);
	pid = cg_start(cg, file_keep_mapped, rejected);
	cg_read_file(cg, wanted, 0, wanted->nr_pages);
	REQUIRE(EVENTUALLY(cg_stat(cg, "rejected_pages") == 512));
	REQUIRE(EVENTUALLY(cg_key(cg, "memory.stat", "file_mapped") >= 512 * (long long)PAGE));

	EXPECT_EQ(cg_reclaim(cg, 64 * PAGE), 0);
	EXPECT_EQ(file_cached(rejected, NULL), 512);
	EXPECT_OP(file_cached(wanted, NULL), <=, wanted->nr_pages - 64);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	/* reclaim's look at them is nobody's use */
	EXPECT_EQ(cg_stat(cg, "admit_asked_again"), 0);
	EXPECT_EQ(cg_write(cg, "cgroup.kill", "1"), 0);
	EXPECT_EQ(cg_wait(pid), -EINTR);
	check_books();
}

static long long nr_migrated(void)
{
	return strtoll(flat_key(read_text("/proc/vmstat"), "pgmigrate_success") ?: "0", NULL, 10);
}

/* Compaction moves rejected folios, which stay rejected ones. */
static void test_migrated(void)
{
	enum { NR = 16 * MiB_PAGES };
	struct file *file = file_new(NULL, "f", NR), *filler = file_new(NULL, "filler", NR);
	long long before;
	size_t i;

	set_up("admission", "a", ADMIT_NONE);
	/* what is freed shall not hide in per-CPU lists, where compaction does not look */
	REQUIRE(!write_text(HIGH_FRACTION, "100000"));
	for (i = 0; i < NR; i += 16) {
		cg_read_ahead(cg, file, i, 16);
		file_read_ahead(filler, i, 16);
	}
	REQUIRE(EVENTUALLY(file_cached(file, NULL) == NR));
	file_forget(filler);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), NR);

	before = nr_migrated();
	REQUIRE(!write_text("/proc/sys/vm/compact_memory", "1"));
	REQUIRE(!write_text(HIGH_FRACTION, "0"));
	EXPECT_OP(nr_migrated() - before, >, NR / 50);
	EXPECT_OP(cg_stat(cg, "removed_migrate"), <=, NR / 50);
	EXPECT_EQ(cg_stat(cg, "rejected_pages") + cg_stat(cg, "removed_migrate"), NR);

	EXPECT_EQ(file_read_sequential(file), 0);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), 0);
	EXPECT_EQ(file_cached(file, NULL), cg_stat(cg, "removed_migrate"));
	check_books();
}

/* The first byte of each page again and again: folios that are used, and not read to their end. */
static int touch_forever(void *arg)
{
	struct file *file = arg;
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	char byte;
	size_t i;

	for (i = 0; fd >= 0; i = (i + 1) % file->nr_pages)
		if (pread(fd, &byte, 1, i * PAGE) != 1)
			break;
	return 1;
}

/*
 * A policy goes while its rejected folios are used: nobody asks it any more, and
 * what it has rejected stays where retiring it finds it.
 */
static void test_replaced(void)
{
	struct file *file = file_new(NULL, "f", 16 * MiB_PAGES);
	struct policy *next;
	pid_t pids[4];
	size_t i, round;

	set_up("admission", "a", ADMIT_NONE);
	EXPECT_EQ(cg_run(cg, read_beginnings, file), 0);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), file->nr_pages);
	for (i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = cg_start(cg, touch_forever, file);
	for (round = 0; round < 12; round++) {
		next = policy_open("admission", "admission", cg);
		REQUIRE_EQ(policy_load(next), 0);
		state = policy_state(next);
		/* every other one takes those that are used, also at the moment when it goes */
		state->mode = round % 2 ? ADMIT_REUSED : ADMIT_NONE;
		REQUIRE_EQ(bpf_link__update_map(attachment, next->map), 0);
		EXPECT_BOOKS();
		/* the successor rejects its own */
		file_drop(file);
		usleep(100000);
	}
	for (i = 0; i < ARRAY_SIZE(pids); i++)
		EXPECT_EQ(waitpid(pids[i], NULL, WNOHANG), 0);
	EXPECT_EQ(cg_write(cg, "cgroup.kill", "1"), 0);
	for (i = 0; i < ARRAY_SIZE(pids); i++)
		EXPECT_EQ(cg_wait(pids[i]), -EINTR);
	check_books();
}

static const struct test tests[] = {
	{ "written folios",					test_written,	.spread = true },
	{ "mapped folios",					test_mapped },
	{ "readers, writers, mappings and reclaim at once",	test_crowd,	.spread = true },
	{ "reclaim takes rejected folios first",		test_pressure },
	{ "also from stock reclaim",				test_pressure_filter },
	{ "rejected folios in use",				test_busy },
	{ "migration",						test_migrated },
	{ "the policy is replaced while they are used",		test_replaced,	.spread = true },
};

SUBJECT(rejected);
