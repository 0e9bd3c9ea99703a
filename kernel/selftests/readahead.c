// SPDX-License-Identifier: GPL-2.0-only
/* Readahead: what a policy is asked, that its windows are read, and no more than may be. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "readahead.h"
#include "tracing.h"

const char *readers;
struct readahead_state *told;
struct bpf_link *planner;

void set_up_planner(const char *parent)
{
	struct policy *policy;

	readers = cg_new(parent, "a");
	policy = policy_open("readahead", "readahead", readers);
	planner = policy_attach(policy);
	told = policy_state(policy);
}

void plan_with(int64_t start, uint32_t size, uint32_t async_size)
{
	told->answers[READAHEAD_MISS] = (struct readahead_answer) {
		.start = start, .size = size, .async_size = async_size,
	};
	told->answers[READAHEAD_FAULT] = told->answers[READAHEAD_MISS];
	told->answers[READAHEAD_MARKER].declines = true;
}

unsigned long long nr_asked(void)
{
	return told->asked[READAHEAD_MISS] + told->asked[READAHEAD_MARKER] +
	       told->asked[READAHEAD_FAULT];
}

static int use_mapped(int fd, const struct use *use)
{
	volatile char *map = mmap(NULL, use->file->nr_pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	size_t i;

	if (map == MAP_FAILED)
		return errno;
	if (use->madvise && madvise((void *)map, use->file->nr_pages * PAGE, use->madvise))
		return errno;
	for (i = use->first; i < use->first + use->nr; i++)
		(void)map[i * PAGE];
	return 0;
}

int do_use(void *arg)
{
	const struct use *use = arg;
	struct iovec iov = { malloc(use->nr * PAGE), use->nr * PAGE };
	int fd = open(use->file->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || (use->fadvise && posix_fadvise(fd, 0, 0, use->fadvise)))
		return errno ?: EINVAL;
	if (use->flags < 0)
		return use_mapped(fd, use);
	return preadv2(fd, &iov, 1, use->first * PAGE, use->flags) < 0 ? errno : 0;
}

void read_once(const struct file *file, size_t first, size_t nr)
{
	struct use use = { .file = file, .first = first, .nr = nr };

	REQUIRE_EQ(cg_run(readers, do_use, &use), 0);
}

void touch(const struct file *file, size_t first)
{
	struct use use = { .file = file, .first = first, .nr = 1, .flags = -1 };

	REQUIRE_EQ(cg_run(readers, do_use, &use), 0);
}

bool comes_to(const struct file *file, size_t nr)
{
	return EVENTUALLY(file_cached(file, NULL) >= nr) && file_cached(file, NULL) == nr;
}

void expect_cached_at(int line, const struct file *file, size_t first, size_t nr)
{
	bool *cached = calloc(file->nr_pages, sizeof(*cached));
	size_t i, nr_cached, nr_there = 0;

	comes_to(file, nr);
	nr_cached = file_cached(file, cached);
	for (i = first; i < first + nr; i++)
		nr_there += cached[i];
	expect(nr_cached == nr && nr_there == nr, __FILE__, line,
	       "%zu pages from %zu on: %zu of them are cached, %zu in all", nr, first, nr_there,
	       nr_cached);
	EXPECT_EQ(file_read(file, first, nr), 0);
	file_forget(file);
}

static void test_question(void)
{
	struct file *file = file_new(NULL, "f", 300);
	const char *top = cg_new(NULL, "top");
	struct stat st;
	uint64_t stream;

	REQUIRE(!stat(file->path, &st));
	set_up_planner(top);
	REQUIRE_EQ(cg_write(readers, "memory.max", "67108864"), 0);
	REQUIRE_EQ(cg_write(top, "memory.max", "33554432"), 0);
	plan_with(0, 4, 0);
	EXPECT_EQ(file_read_sequential(file), 0);
	EXPECT_EQ(nr_asked(), 0);
	file_forget(file);

	read_once(file, 277, 3);
	EXPECT_EQ(told->asked[READAHEAD_MISS], 1);
	EXPECT_EQ(told->ino, st.st_ino);
	EXPECT_EQ(major(st.st_dev), told->dev >> 8 & 0xfff);
	EXPECT_EQ(minor(st.st_dev), (told->dev & 0xff) | (told->dev >> 12 & 0xfff00));
	EXPECT_EQ(told->index, 277);
	EXPECT_EQ(told->wanted, 3);
	EXPECT_EQ(told->size, 3);
	EXPECT_EQ(told->file_pages, 300);
	EXPECT_EQ(told->prev_end, 0);
	EXPECT_EQ(told->last_window, 0);
	EXPECT_OP(told->stock_window, >, 0);
	EXPECT_EQ(told->limit, 33554432 / PAGE);
	EXPECT_OP(told->room, >, 0);
	EXPECT_OP(told->room, <, told->limit);
	stream = told->stream;

	/* what is wanted ends with the file */
	read_once(file, 290, 30);
	EXPECT_EQ(told->wanted, 10);
	EXPECT_OP(stream, !=, 0);
	touch(file, 100);
	EXPECT_EQ(told->asked[READAHEAD_FAULT], 1);
	EXPECT_EQ(told->index, 100);
	EXPECT_EQ(told->wanted, 1);
	EXPECT_EQ(told->mmap_miss, 1);
	EXPECT_EQ(cg_stat(readers, "readahead_asked"), nr_asked());
	EXPECT_EQ(cg_stat(readers, "readahead_declined"), 0);
	EXPECT_BOOKS();
}

/* A stream: two files that are open, the second read of each goes on. */
static int read_two_streams(void *arg)
{
	const struct file *file = arg;
	static char page[PAGE];
	int a = open(file->path, O_RDONLY | O_CLOEXEC), b = open(file->path, O_RDONLY | O_CLOEXEC);
	uint64_t stream;

	if (pread(a, page, PAGE, 10 * PAGE) != PAGE)
		return 1;
	stream = told->stream;
	if (pread(b, page, PAGE, 50 * PAGE) != PAGE || told->stream == stream)
		return 2;
	if (pread(a, page, 10, 90 * PAGE) != 10 || told->stream != stream)
		return 3;
	if (told->prev_end != 11 || told->last_window != 4)
		return 4;
	if (pread(a, page, PAGE, 120 * PAGE) != PAGE || told->prev_end != 91)
		return 5;
	/* what is wanted alone is no window */
	plan_with(0, 1, 0);
	if (pread(a, page, PAGE, 150 * PAGE) != PAGE || pread(a, page, PAGE, 180 * PAGE) != PAGE)
		return 6;
	return told->last_window == 4 ? 0 : 7;
}

static void test_streams(void)
{
	struct file *file = file_new(NULL, "f", 300);

	set_up_planner(NULL);
	plan_with(0, 4, 0);
	EXPECT_EQ(cg_run(readers, read_two_streams, file), 0);
	EXPECT_EQ(nr_asked(), 6);
}

static void test_windows(void)
{
	struct file *file = file_new(NULL, "f", 300);

	set_up_planner(NULL);
	plan_with(0, 16, 0);
	read_once(file, 100, 2);
	EXPECT_CACHED(file, 100, 16);
	touch(file, 100);
	EXPECT_CACHED(file, 100, 16);
	plan_with(-15, 16, 0);
	read_once(file, 100, 1);
	EXPECT_CACHED(file, 85, 16);
	plan_with(-8, 16, 0);
	touch(file, 100);
	EXPECT_CACHED(file, 92, 16);

	/* what is wanted is read, whatever the window is */
	plan_with(0, 0, 0);
	read_once(file, 100, 5);
	EXPECT_CACHED(file, 100, 5);
	plan_with(2, 1, 0);
	read_once(file, 100, 5);
	EXPECT_CACHED(file, 100, 5);
	plan_with(5, 3, 0);
	read_once(file, 100, 5);
	EXPECT_CACHED(file, 100, 8);
	EXPECT_EQ(nr_asked(), 7);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 0);
	EXPECT_EQ(cg_stat(readers, "readahead_pages"), 4 * 16 + 5 + 5 + 8);

	/* of two parts the second is cached in part already */
	plan_with(100, 6, 0);
	cg_read_file(readers, file, 202, 1);
	read_once(file, 100, 1);
	EXPECT(comes_to(file, 7));
	EXPECT_EQ(cg_stat(readers, "readahead_pages"), 4 * 16 + 5 + 5 + 8 + 6);
	EXPECT_EQ(file_read(file, 200, 6), 0);
	file_forget(file);
	EXPECT_BOOKS();
}

void plan_range(size_t nr, uint64_t index, uint32_t pages)
{
	told->ranges[nr].index = index;
	told->ranges[nr].nr = pages;
	told->ranges[nr].error = 0;
}

static void test_prefetch(void)
{
	struct file *file = file_new(NULL, "f", 1000);
	size_t i;

	set_up_planner(NULL);
	plan_with(0, 8, 0);
	for (i = 0; i < READAHEAD_MAX_RANGES; i++)
		plan_range(i, 200 + 100 * i, 3);
	read_once(file, 100, 1);
	for (i = 0; i < READAHEAD_MAX_RANGES; i++)
		EXPECT_EQ(told->ranges[i].error, i < 4 ? 0 : -ENOSPC);
	EXPECT(comes_to(file, 8 + 4 * 3));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(file_read(file, 200 + 100 * i, 3), 0);
	EXPECT_EQ(file_cached(file, NULL), 8 + 4 * 3);
	EXPECT_EQ(cg_stat(readers, "readahead_pages"), 8);
	EXPECT_EQ(cg_stat(readers, "readahead_prefetched"), 4 * 3);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 0);
	/* what is cached is not read again, and nobody is asked a second time for it */
	touch(file, 107);
	read_once(file, 108, 1);
	EXPECT_EQ(nr_asked(), 2);
	EXPECT_EQ(cg_stat(readers, "readahead_prefetched"), 4 * 3);
	file_forget(file);

	/* nothing of a plan that is none */
	plan_range(0, 200, 3);
	told->answers[READAHEAD_MISS].declines = true;
	read_once(file, 500, 1);
	EXPECT_EQ(cg_stat(readers, "readahead_prefetched"), 4 * 3);
}

/* Pages of files that the cgroup has, those that are still being read as well. */
static long long nr_charged(void)
{
	return cg_key(readers, "memory.stat", "file") / PAGE;
}

/* What stock readahead does is what it does without a policy. */
static void test_declined(void)
{
	struct file *file = file_new(NULL, "f", 300);
	long long nr_read, nr_touched;

	readers = cg_new(NULL, "without");
	read_once(file, 0, 1);
	nr_read = nr_charged();
	EXPECT_OP(nr_read, >, 1);
	file_forget(file);
	touch(file, 100);
	nr_touched = nr_charged();
	EXPECT_OP(nr_touched, >, 1);
	file_forget(file);

	set_up_planner(NULL);
	plan_with(0, 77, 7);
	told->answers[READAHEAD_MISS].declines = true;
	told->answers[READAHEAD_FAULT].declines = true;
	read_once(file, 0, 1);
	EXPECT_EQ(nr_charged(), nr_read);
	file_forget(file);
	touch(file, 100);
	EXPECT_EQ(nr_charged(), nr_touched);
	EXPECT_EQ(nr_asked(), 2);
	EXPECT_EQ(cg_stat(readers, "readahead_declined"), 2);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 0);
	EXPECT_EQ(cg_stat(readers, "readahead_pages"), 0);
}

/* The mark of a window brings the policy back, where the page is used for the first time. */
static void test_marks(void)
{
	struct file *file = file_new(NULL, "f", 300);

	set_up_planner(NULL);
	plan_with(0, 16, 6);
	told->answers[READAHEAD_MARKER] = (struct readahead_answer) { .start = 6, .size = 8 };
	read_once(file, 100, 1);
	read_once(file, 109, 1);
	EXPECT_EQ(told->asked[READAHEAD_MARKER], 0);
	read_once(file, 110, 1);
	EXPECT_EQ(told->asked[READAHEAD_MARKER], 1);
	EXPECT_EQ(told->index, 110);
	EXPECT_EQ(told->marked, 1);
	EXPECT_EQ(told->wanted, 1);
	EXPECT_EQ(told->size, 0);
	/* once */
	read_once(file, 110, 1);
	EXPECT_EQ(told->asked[READAHEAD_MARKER], 1);
	EXPECT_CACHED(file, 100, 24);

	/* through a mapping, and nothing more is read */
	told->answers[READAHEAD_MARKER] = (struct readahead_answer) { .keeps = true };
	touch(file, 100);
	touch(file, 109);
	EXPECT_EQ(told->asked[READAHEAD_MARKER], 1);
	touch(file, 110);
	EXPECT_EQ(told->asked[READAHEAD_MARKER], 2);
	EXPECT_EQ(told->wanted, 1);
	EXPECT_CACHED(file, 100, 16);
	/* no mark, no question */
	plan_with(0, 16, 0);
	read_once(file, 100, 1);
	read_once(file, 100, 16);
	EXPECT_EQ(told->asked[READAHEAD_MARKER], 2);
	EXPECT_EQ(cg_stat(readers, "readahead_clamped"), 0);
	EXPECT_EQ(cg_stat(readers, "readahead_marks_set"), 2);
	EXPECT_EQ(cg_stat(readers, "readahead_marks_hit"), 2);
}

static void expect_unasked(int line, struct use use)
{
	use.nr = use.nr ?: 1;
	REQUIRE_EQ(cg_run(readers, do_use, &use), 0);
	expect(!nr_asked(), __FILE__, line, "asked %llu times", nr_asked());
	told->asked[READAHEAD_MISS] = told->asked[READAHEAD_MARKER] = 0;
	told->asked[READAHEAD_FAULT] = 0;
}

#define EXPECT_UNASKED(...)	expect_unasked(__LINE__, (struct use) { __VA_ARGS__ })

/* Who says how he reads is not to be outwitted. */
static void test_advice(void)
{
	struct file *file = file_new(NULL, "f", 300);

	set_up_planner(NULL);
	plan_with(0, 16, 8);
	EXPECT_UNASKED(.file = file, .first = 100, .fadvise = POSIX_FADV_RANDOM);
	EXPECT_CACHED(file, 100, 1);
	EXPECT_UNASKED(.file = file, .first = 100, .madvise = MADV_RANDOM, .flags = -1);
	EXPECT_CACHED(file, 100, 1);
	EXPECT_UNASKED(.file = file, .first = 100, .fadvise = POSIX_FADV_RANDOM, .flags = -1);
	file_forget(file);
	cg_read_ahead(readers, file, 100, 20);
	EXPECT_EQ(nr_asked(), 0);
	file_forget(file);

	/* nor at a mark */
	read_once(file, 100, 1);
	EXPECT_EQ(nr_asked(), 1);
	told->asked[READAHEAD_MISS] = 0;
	EXPECT_UNASKED(.file = file, .first = 108, .fadvise = POSIX_FADV_RANDOM);
	EXPECT_EQ(cg_stat(readers, "readahead_asked"), 1);
}

static void set_read_ahead(const char *disk, const char *kib)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/block/%s/queue/read_ahead_kb", strrchr(disk, '/') + 1);
	REQUIRE(!write_text(path, kib));
}

static int read_disk(void *disk)
{
	static char page[PAGE];
	int fd = open(disk, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && pread(fd, page, PAGE, 20 * MiB) == PAGE ? 0 : errno;
}

static void test_off(void)
{
	char *disk = disk_new("off", 64, 0);
	struct file *file = file_new(disk_mount(disk, false), "f", 100);

	set_up_planner(NULL);
	plan_with(0, 16, 0);
	/* no file of a file system */
	EXPECT_EQ(cg_run(readers, read_disk, disk), 0);
	EXPECT_EQ(nr_asked(), 0);

	set_read_ahead(disk, "0");
	EXPECT_UNASKED(.file = file, .first = 10);
	EXPECT_CACHED(file, 10, 1);
	EXPECT_UNASKED(.file = file, .first = 10, .flags = -1);
	EXPECT_CACHED(file, 10, 1);
	set_read_ahead(disk, "128");
	read_once(file, 10, 1);
	EXPECT_EQ(nr_asked(), 1);
	EXPECT_EQ(told->stock_window, 32);
	EXPECT_CACHED(file, 10, 16);
}

/* The policy is that of who will be charged, as long as it is there. */
static void test_whose(void)
{
	struct file *file = file_new(NULL, "f", 300);
	const char *top, *below;

	set_up_planner(NULL);
	plan_with(0, 16, 0);
	top = readers;
	below = readers = cg_new(top, "below");
	read_once(file, 100, 1);
	EXPECT_EQ(nr_asked(), 1);
	EXPECT_CACHED(file, 100, 16);
	/* one of its own does not plan */
	policy_start("fifo", below);
	read_once(file, 100, 1);
	EXPECT_EQ(nr_asked(), 1);
	file_forget(file);
	readers = cg_new(top, "beside");
	read_once(file, 100, 1);
	EXPECT_EQ(nr_asked(), 2);
	EXPECT_CACHED(file, 100, 16);
	REQUIRE_EQ(bpf_link__destroy(planner), 0);
	read_once(file, 100, 1);
	EXPECT_EQ(nr_asked(), 2);
}

static void test_tracepoint(void)
{
	struct file *file = file_new(NULL, "f", 300);
	char *text;

	tracing_start("cachebpf/cachebpf_readahead");
	set_up_planner(NULL);
	plan_with(-4, 16, 20);
	read_once(file, 100, 2);
	text = read_text(TRACING "/trace");
	EXPECT(text && strstr(text, " index=100 wanted=2 reason=0 start=96 size=16 async_size=16 clamped=1"));
	EXPECT(text && strstr(text, " cachebpf_readahead: id="));
	tracing_stop();
}

static const struct test tests[] = {
	{ "the question",					test_question },
	{ "streams are told from each other",			test_streams },
	{ "windows",						test_windows },
	{ "ranges beside the window",				test_prefetch },
	{ "what the policy leaves to stock readahead",		test_declined },
	{ "marks bring the policy back",			test_marks },
	{ "files that are read at random, and advice",		test_advice },
	{ "readahead that is off, and disks",			test_off },
	{ "whose policy is asked",				test_whose },
	{ "the tracepoint",					test_tracepoint },
};

SUBJECT(readahead);
