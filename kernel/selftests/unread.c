// SPDX-License-Identifier: GPL-2.0-only
/* What is read ahead and not used yet: walks pass over it for a while, and it is counted. */
#include <fcntl.h>

#include "readahead.h"

#define WINDOW	33
/* at most a sixteenth of the limit */
#define LIMIT		(8 * MiB)
#define LONG_WINDOW	64UL

static void set_up_with(const char *name, const char *cg)
{
	struct policy *policy;

	readers = cg_new(NULL, cg);
	policy = policy_open("readahead", name, readers);
	planner = policy_attach(policy);
	told = policy_state(policy);
}

/* A policy that evicts in the order in which folios came, and reads ahead as it is told. */
static void set_up(void)
{
	set_up_with("in_order", "a");
}

/* The first page of it is used, and what else there is of the window is not. */
static struct file *read_window(const char *name, size_t window)
{
	struct file *file = file_new(NULL, name, window);

	plan_with(0, window, 0);
	read_once(file, 0, 1);
	REQUIRE(comes_to(file, window));
	return file;
}

/* What comes after it, all used, and where reclaim finds it. */
static struct file *read_others(void)
{
	struct file *file = file_new(NULL, "others", 512);

	plan_with(0, 0, 0);
	cg_read_file(readers, file, 0, file->nr_pages);
	REQUIRE(!write_text("/proc/sys/vm/compact_memory", "1"));
	return file;
}

static void reclaim(size_t nr)
{
	EXPECT_EQ(cg_reclaim(readers, nr * PAGE), 0);
}

/* Three times; then it goes as what was used does, and is missed. */
static void spared(enum readahead_walk walk)
{
	struct file *file, *others;
	long long again;
	size_t i;

	set_up();
	told->walk = walk;
	file = read_window("f", WINDOW);
	others = read_others();
	for (i = 1; i <= 3; i++) {
		reclaim(32);
		EXPECT_EQ(file_cached(file, NULL), WINDOW - 1);
		EXPECT_EQ(file_cached(others, NULL), others->nr_pages - 32 * i + 1);
	}
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), 0);
	reclaim(32);
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), WINDOW - 1);
	EXPECT_EQ(cg_stat(readers, "evict_fallback"), 0);

	EXPECT_EQ(cg_stat(readers, "readahead_again"), 0);
	read_once(file, 0, 1);
	EXPECT_EQ(cg_stat(readers, "readahead_again"), 0);
	read_once(file, 1, WINDOW - 1);
	again = cg_stat(readers, "readahead_again");
	/* of 1024 places two pages may have the same one, and then the first of them is forgotten */
	EXPECT_OP(again, <=, WINDOW - 1);
	EXPECT_OP(again, >=, WINDOW - 1 - 8);
	file_forget(file);
	read_once(file, 1, WINDOW - 1);
	EXPECT_EQ(cg_stat(readers, "readahead_again"), again);
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), WINDOW - 1);
	EXPECT_BOOKS();
}

static void test_spared(void)
{
	spared(READAHEAD_WALKS);
}

static void test_rotated(void)
{
	spared(READAHEAD_WALKS_AND_ROTATES);
}

static void test_ranked(void)
{
	spared(READAHEAD_RANKS);
}

/* It is requests that count. */
static void test_walked_again(void)
{
	spared(READAHEAD_WALKS_AGAIN);
}

/* To whoever takes over it is like anything else that is cached. */
static void test_replaced(void)
{
	struct policy *fifo;
	struct file *file;

	set_up();
	file = read_window("f", WINDOW);
	read_others();
	fifo = policy_open_installed("fifo", readers);
	REQUIRE_EQ(policy_load(fifo), 0);
	REQUIRE_EQ(bpf_link__update_map(planner, fifo->map), 0);
	reclaim(32);
	EXPECT_EQ(file_cached(file, NULL), WINDOW - 32);
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), 0);
	EXPECT_BOOKS();
}

static void test_used(void)
{
	struct file *file;

	set_up();
	file = read_window("f", WINDOW);
	read_once(file, 0, 20);
	read_others();
	reclaim(20);
	EXPECT_EQ(file_cached(file, NULL), WINDOW - 20);
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), 0);
	/* what nobody reads any more was read in vain as well */
	file_forget(file);
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), WINDOW - 20);
}

/* A cache that is full of it makes room all the same. */
static void test_bounded(void)
{
	struct file *file;

	set_up();
	file = read_window("f", 200);
	read_others();
	reclaim(32);
	EXPECT_EQ(file_cached(file, NULL), 200 - 32);
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), 31);
	EXPECT_EQ(file_read(file, 1, 64), 0);
	EXPECT_EQ(cg_stat(readers, "evict_fallback"), 0);
}

/* Nor is anything left to stock reclaim where there is nothing else. */
static void test_alone(void)
{
	struct file *file;

	set_up();
	file = read_window("f", 60);
	REQUIRE(!write_text("/proc/sys/vm/compact_memory", "1"));
	reclaim(32);
	EXPECT_EQ(file_cached(file, NULL), 60 - 32);
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), 31);
	EXPECT_EQ(cg_stat(readers, "evict_fallback"), 0);
	/* for the page that was used, in vain, and for what is left */
	EXPECT_EQ(told->evict_calls, 3);
	EXPECT_EQ(cg_stat(readers, "evict_calls"), told->evict_calls);
}

/* Who takes long to find nothing, and finds all at once when asked again, takes long. */
static void test_slow(void)
{
	char *line;

	set_up();
	/* the slow call is over it by far; how long the other one takes does not matter */
	REQUIRE_EQ(write_text(budget_file, "100000"), 0);
	told->slow_us = 300000;
	read_window("f", 64);
	REQUIRE(!write_text("/proc/sys/vm/compact_memory", "1"));
	/* for the page that was used, and in vain; each time for what is left then */
	reclaim(32);
	reclaim(32);
	REQUIRE(EVENTUALLY(link_hung_up(planner)));
	EXPECT_EQ(told->evict_calls, 5);
	line = cg_policy(readers, "ejected");
	expect(line && strstr(line, ": over budget: 3 calls"), __FILE__, __LINE__, "ejected for \"%s\"",
	       line ?: "(nothing)");
}

/* For cg_run(): the first page of each window. */
static int read_firsts(void *arg)
{
	const struct file *file = arg;
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	size_t i;
	char c;

	if (fd < 0)
		return errno;
	for (i = 0; i < file->nr_pages; i += LONG_WINDOW)
		if (pread(fd, &c, 1, i * PAGE) != 1)
			return errno ?: EIO;
	return 0;
}

/* Nearly all that is cached is unread, and a whole cache of it has to go: nobody is to blame. */
static void test_useful(void)
{
	struct file *file = file_new(NULL, "f", 40 * MiB_PAGES);

	set_up();
	REQUIRE_EQ(cg_write(readers, "memory.max", "8388608"), 0);
	plan_with(0, LONG_WINDOW, 0);
	REQUIRE_EQ(cg_run(readers, read_firsts, file), 0);
	EXPECT_OP(cg_stat(readers, "readahead_unused"), >, 2 * LIMIT / PAGE);
	EXPECT_OP(cg_stat(readers, "evict_fallback"), <, LIMIT / PAGE / 16);
	EXPECT(!link_hung_up(planner));
}

/* What a policy takes for the number of uses does not make what was used unread, */
static void test_forgotten(void)
{
	struct file *file;

	set_up();
	told->forgets = true;
	file = read_window("f", WINDOW);
	read_once(file, 1, WINDOW - 1);
	read_others();
	reclaim(WINDOW - 1);
	EXPECT_EQ(file_cached(file, NULL), 1);
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), 0);
}

/* nor what is unread a thing that was used, until it is. */
static void test_made_up(void)
{
	struct file *file;

	set_up_with("counts", "a");
	told->new_accesses = 5;
	file = read_window("f", WINDOW);
	read_others();
	reclaim(32);
	EXPECT_EQ(file_cached(file, NULL), WINDOW - 1);
	read_once(file, 1, WINDOW - 1);
	reclaim(WINDOW - 1);
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), 0);
}

/* For cg_start(): use each page once, and keep what is mapped. */
static int keep_mapped(void *file)
{
	if (file_read_mapped(file))
		return 1;
	for (;;)
		pause();
}

static bool goes(const struct file *file)
{
	cg_reclaim(readers, file->nr_pages * PAGE);
	return !file_cached(file, NULL);
}

/* What a fault brings in it needs: no more need be seen of that than reclaim sees. */
static void mapped(bool lru_gen)
{
	struct file *file = file_new(NULL, lru_name(lru_gen), 8);

	set_up_with("in_order", lru_name(lru_gen));
	plan_with(0, 0, 0);
	cg_start(readers, keep_mapped, file);
	REQUIRE(comes_to(file, file->nr_pages));
	EXPECT(EVENTUALLY(goes(file)));
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), 0);
}

static void test_mapped(void)
{
	with_both_lrus(mapped);
}

static int write_it(void *file)
{
	return file_write(file, 0, 32);
}

/* Nobody may ever read what is written, and that is no waste. */
static void test_written(void)
{
	struct file *file = file_empty("f", 32);

	set_up();
	plan_with(0, 0, 0);
	EXPECT_EQ(cg_run(readers, write_it, file), 0);
	file_sync(file);
	read_others();
	reclaim(32);
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), 0);
}

/* What is cut off a large folio that was not used counts as well. */
static void test_cut_off(void)
{
	struct file *file = file_new(xfs_dir(), "f", LONG_WINDOW);
	long long unused;
	size_t pages;

	set_up();
	plan_with(0, LONG_WINDOW, 0);
	read_once(file, 0, 1);
	REQUIRE(comes_to(file, LONG_WINDOW));
	REQUIRE(cg_stat(readers, "managed_folios") < (long long)LONG_WINDOW / 2);
	file_forget(file);
	unused = cg_stat(readers, "readahead_unused");
	EXPECT_OP(unused, >, LONG_WINDOW / 2);

	read_once(file, 0, 1);
	REQUIRE(comes_to(file, LONG_WINDOW));
	for (pages = LONG_WINDOW - 7; pages > 7; pages -= 7)
		REQUIRE(!truncate(file->path, pages * PAGE));
	file_forget(file);
	EXPECT_EQ(cg_stat(readers, "readahead_unused"), 2 * unused);
}

static const struct test tests[] = {
	{ "walks pass over it three times",			test_spared },
	{ "walks that rotate do as well",			test_rotated },
	{ "and so does who ranks a list",			test_ranked },
	{ "three requests, however many walks",			test_walked_again },
	{ "not another policy",					test_replaced },
	{ "not if it was used",					test_used },
	{ "not over too much of it",				test_bounded },
	{ "where there is nothing else",			test_alone },
	{ "where a policy takes long to see that",		test_slow, .ejects = true },
	{ "a policy that has hardly anything beside it",	test_useful },
	{ "not if a policy forgets that it was used",		test_forgotten },
	{ "even if a policy says that it was used",		test_made_up },
	{ "what a fault brings in is used",			test_mapped },
	{ "what was written goes in its turn",			test_written },
	{ "what a truncation cuts off is not used",		test_cut_off },
};

SUBJECT(unread);
