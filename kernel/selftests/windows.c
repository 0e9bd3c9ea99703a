// SPDX-License-Identifier: GPL-2.0-only
/* Windows that a policy plans to read, and that are too much: what may be of them is read. */
#include <fcntl.h>
#include <sys/uio.h>

#include "readahead.h"

static void test_file_end(void)
{
	struct file *file = file_new(NULL, "f", 100);

	set_up_planner(NULL);
	plan_with(0, 50, 0);
	read_once(file, 90, 1);
	EXPECT_CACHED(file, 90, 10);
	touch(file, 90);
	EXPECT_CACHED(file, 90, 10);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 2);
	/* all of it is behind the end */
	plan_with(50, 50, 0);
	read_once(file, 90, 1);
	EXPECT_CACHED(file, 90, 1);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 3);
	EXPECT_EQ(cg_stat(readers, "readahead_pages"), 21);

	/* the file that was read is shorter now */
	REQUIRE(!truncate(file->path, 95 * PAGE));
	file->nr_pages = 95;
	plan_with(0, 50, 0);
	read_once(file, 90, 1);
	EXPECT_EQ(told->file_pages, 95);
	EXPECT_CACHED(file, 90, 5);
	EXPECT_EQ(cg_stat(readers, "readahead_pages"), 26);
}

static void test_most(void)
{
	struct file *file = file_new(NULL, "f", 2000);

	set_up_planner(NULL);
	plan_with(0, 1000, 0);
	read_once(file, 100, 10);
	EXPECT_CACHED(file, 100, MOST);
	plan_with(-1000, 1001, 0);
	read_once(file, 1500, 1);
	EXPECT_CACHED(file, 1501 - MOST, MOST);
	plan_with(-300, 1000, 0);
	touch(file, 1000);
	EXPECT_CACHED(file, 1000, MOST);
	/* apart from what is wanted */
	plan_with(300, 1000, 0);
	read_once(file, 100, 12);
	EXPECT(comes_to(file, MOST));
	file_forget(file);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 4);
	/* a long request comes piece by piece */
	plan_with(0, 0, 0);
	read_once(file, 100, 600);
	EXPECT_EQ(nr_asked(), 6);
	EXPECT_CACHED(file, 100, 600);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 4);
}

static void test_limit(void)
{
	struct file *file = file_new(NULL, "f", 600);
	const char *top = cg_new(NULL, "top");

	set_up_planner(top);
	REQUIRE_EQ(cg_write(readers, "memory.max", "33554432"), 0);
	REQUIRE_EQ(cg_write(top, "memory.max", "4194304"), 0);
	plan_with(0, 300, 0);
	read_once(file, 100, 5);
	EXPECT_CACHED(file, 100, 5 + 64);
	plan_with(-100, 300, 0);
	touch(file, 200);
	EXPECT_CACHED(file, 200, 1 + 64);
	plan_with(-100, 110, 0);
	touch(file, 200);
	EXPECT_CACHED(file, 200 - 55, 55 + 10);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 3);
	plan_with(0, 65, 0);
	read_once(file, 100, 1);
	EXPECT_CACHED(file, 100, 65);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 3);
}

/* A mark stays on its page when the window is cut, or there is none. */
static void test_mark(void)
{
	struct file *file = file_new(NULL, "f", 100);

	set_up_planner(NULL);
	plan_with(0, 64, 32);
	read_once(file, 60, 1);
	EXPECT(comes_to(file, 40));
	read_once(file, 68, 1);
	EXPECT_EQ(told->asked[READAHEAD_MARKER], 0);
	read_once(file, 92, 1);
	EXPECT_EQ(told->asked[READAHEAD_MARKER], 1);
	EXPECT_EQ(told->index, 92);
	file_forget(file);

	plan_with(0, 64, 10);
	read_once(file, 60, 1);
	EXPECT(comes_to(file, 40));
	EXPECT_EQ(file_read(file, 60, 40), 0);
	EXPECT_EQ(told->asked[READAHEAD_MARKER], 1);
}

/* Ranges are within the same bounds as the window, and have what that leaves. */
static void test_ranges(void)
{
	struct file *file = file_new(NULL, "f", 2000);

	set_up_planner(NULL);
	plan_with(0, 300, 0);
	plan_range(0, 1990, 50);
	plan_range(1, UINT64_MAX - 2, 50);
	plan_range(2, 1000, UINT32_MAX);
	plan_range(3, 500, 1);
	read_once(file, 100, 2);
	EXPECT(comes_to(file, MOST));
	EXPECT_EQ(file_read(file, 1000, MOST - 310), 0);
	EXPECT(comes_to(file, MOST));
	EXPECT_EQ(cg_stat(readers, "readahead_pages"), 300);
	EXPECT_EQ(cg_stat(readers, "readahead_prefetched"), MOST - 300);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 1);
	file_forget(file);

	/* 1/16 of the limit */
	REQUIRE_EQ(cg_write(readers, "memory.max", "4194304"), 0);
	plan_with(0, 20, 0);
	read_once(file, 100, 2);
	EXPECT(comes_to(file, 2 + 64));
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 2);
}

static void test_nowait(void)
{
	struct file *file = file_new(NULL, "f", 300);
	struct use use = { .file = file, .first = 100, .nr = 4, .flags = RWF_NOWAIT };
	int err;

	set_up_planner(NULL);
	plan_with(-10, 50, 0);
	plan_range(0, 200, 5);
	err = cg_run(readers, do_use, &use);
	EXPECT(!err || err == EAGAIN);
	EXPECT_EQ(told->asked[READAHEAD_MISS], 1);
	EXPECT_CACHED(file, 100, 4);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 1);
	EXPECT_EQ(cg_stat(readers, "readahead_pages"), 4);
}

static int read_through(void *file)
{
	return file_read_sequential(file);
}

/* Of foolish windows what may be is read, and all content is right. */
static void test_nonsense(void)
{
	static const struct readahead_answer foolish[] = {
		{ .absolute = true, .start = -1, .size = ~0U, .async_size = ~0U },
		{ .absolute = true, .start = -1, .size = 1 },
		{ .absolute = true, .start = INT64_MIN, .size = ~0U, .async_size = 1 },
		{ .absolute = true, .start = INT64_MAX, .size = ~0U, .async_size = 2 },
		{ .absolute = true, .size = ~0U, .async_size = ~0U },
		{ .absolute = true, .start = -7, .size = 77 },
		{ .start = -1, .size = ~0U, .async_size = ~0U },
		{ .start = 1, .size = ~0U, .async_size = ~0U - 1 },
		{ .start = 1LL << 32, .size = 1U << 31, .async_size = 1U << 31 },
		{ .size = 3, .async_size = 4 },
	};
	struct file *file = file_new(NULL, "f", 700);
	long long clamped, before = 0;
	size_t i, r;

	set_up_planner(NULL);
	for (i = 0; i < ARRAY_SIZE(foolish); i++) {
		for (r = 0; r < READAHEAD_REASONS; r++)
			told->answers[r] = foolish[i];
		read_once(file, 300, 2);
		EXPECT_OP(file_cached(file, NULL), >=, 2);
		EXPECT_OP(file_cached(file, NULL), <=, MOST);
		clamped = cg_stat(readers, "readahead_clamped");
		expect(clamped > before, __FILE__, __LINE__, "%zu is no nonsense", i);
		file_forget(file);
		EXPECT_EQ(cg_run(readers, read_through, file), 0);
		file_forget(file);
		EXPECT_EQ(cg_run(readers, file_read_mapped, file), 0);
		EXPECT_EQ(file_read(file, 0, file->nr_pages), 0);
		file_forget(file);
		before = cg_stat(readers, "readahead_clamped");
	}
	EXPECT_BOOKS();
}

/* Where the cgroup has hardly any memory, reads end well. */
static void test_tiny(void)
{
	struct file *file = file_new(NULL, "f", 4 * MiB_PAGES);

	set_up_planner(NULL);
	REQUIRE_EQ(cg_write(readers, "memory.max", "1048576"), 0);
	plan_with(-200, 500, 3);
	told->answers[READAHEAD_MARKER] = (struct readahead_answer) { .size = 500, .async_size = 8 };
	EXPECT_EQ(cg_run(readers, read_through, file), 0);
	EXPECT_EQ(cg_run(readers, file_read_mapped, file), 0);
	EXPECT_OP(cg_stat(readers, "readahead_clamped"), >, 0);
	EXPECT_EQ(cg_key(readers, "memory.events", "oom_kill"), 0);
	EXPECT_BOOKS();
}

/* Of a file system with large folios, and where part of the window is there already. */
static void test_large(void)
{
	struct file *file = file_new(xfs_dir(), "f", 1200);

	set_up_planner(NULL);
	plan_with(0, 64, 15);
	told->answers[READAHEAD_MARKER] = (struct readahead_answer) { .keeps = true };
	read_once(file, 128, 1);
	REQUIRE(comes_to(file, 64));
	/* the mark is within a folio, which is told as a whole */
	read_once(file, 178, 1);
	EXPECT_EQ(told->asked[READAHEAD_MARKER], 1);
	EXPECT_OP(told->marked, >, 1);
	EXPECT_OP(177 - told->index, <, told->marked);
	EXPECT_CACHED(file, 128, 64);
	plan_with(-30, 95, 0);
	read_once(file, 141, 3);
	EXPECT_CACHED(file, 111, 95);
	/* stock readahead would go on beyond the end */
	plan_with(0, 64, 0);
	cg_read_file(readers, file, 128 + 60, 1);
	read_once(file, 128, 1);
	EXPECT_CACHED(file, 128, 64);
	plan_with(0, 1000, 0);
	read_once(file, 128, 1);
	EXPECT_CACHED(file, 128, MOST);
	plan_with(0, 100, 0);
	touch(file, 1150);
	EXPECT_CACHED(file, 1150, 50);
	EXPECT_BOOKS();
}

#define TRUNCATIONS	300

/* Windows beyond an end that comes nearer meanwhile. */
static int truncate_often(void *arg)
{
	const struct file *file = arg;
	int i;

	for (i = 0; i < TRUNCATIONS; i++)
		if (truncate(file->path, (i * 7 % 200) * PAGE) || truncate(file->path, 400 * PAGE))
			return errno;
	return 0;
}

static int read_often(void *arg)
{
	struct use use = { .file = arg, .nr = 5 };
	int i, err = 0;

	for (i = 0; i < TRUNCATIONS && !err; i++) {
		use.first = i * 13 % 390;
		err = do_use(&use);
	}
	return err;
}

static void test_truncated(void)
{
	struct file *file = file_hole("f", 400);
	pid_t other;

	set_up_planner(NULL);
	plan_with(-100, 500, 10);
	told->answers[READAHEAD_MARKER] = (struct readahead_answer) { .size = 500 };
	other = cg_start(readers, truncate_often, file);
	EXPECT_EQ(cg_run(readers, read_often, file), 0);
	EXPECT_EQ(cg_wait(other), 0);
	EXPECT_OP(nr_asked(), >, 0);
	EXPECT_BOOKS();
}

static const struct test tests[] = {
	{ "nothing is read beyond the end of a file",		test_file_end },
	{ "no more than 2 MiB at a time",			test_most },
	{ "no more than 1/16 of the limit",			test_limit },
	{ "the mark of a window that is cut",			test_mark },
	{ "ranges beside the window",				test_ranges },
	{ "readers that may not wait",				test_nowait },
	{ "foolish windows",					test_nonsense },
	{ "hardly any memory",					test_tiny },
	{ "large folios",					test_large },
	{ "truncation meanwhile",				test_truncated, .spread = true },
};

SUBJECT(windows);
