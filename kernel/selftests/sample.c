// SPDX-License-Identifier: GPL-2.0-only
/* The sample of what pages are used for: memory.cachebpf.sample and the tracepoint. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "selftest.h"
#include "states.h"
#include "tracing.h"

#define SAMPLE		"memory.cachebpf.sample"
#define NR		4096
#define ONE_IN		"8"

/* What was told of one page. */
struct told {
	unsigned long long	key;
	unsigned int		nr_uses, nr_gone;
};

static struct told pages[NR], noted[NR];
static size_t nr_pages, nr_uses, nr_gone, nr_noted;

static struct told *page_of(unsigned long long key)
{
	size_t i;

	for (i = 0; i < nr_pages; i++)
		if (pages[i].key == key)
			return &pages[i];
	REQUIRE(nr_pages < ARRAY_SIZE(pages));
	pages[nr_pages].key = key;
	return &pages[nr_pages++];
}

/* Read what was told since it was read last; it must be of @cg. */
static void look(const char *cg)
{
	unsigned long long id = atoll(cg_policy(cg, "id")), told_id, cgroup, key;
	FILE *trace = fopen(TRACING "/trace", "re");
	char *line = NULL, *event;
	size_t size = 0;
	int gone;

	nr_pages = nr_uses = nr_gone = 0;
	memset(pages, 0, sizeof(pages));
	REQUIRE(trace != NULL);
	while (getline(&line, &size, trace) > 0) {
		event = strstr(line, " cachebpf_sample: ");
		if (!event)
			continue;
		REQUIRE_EQ(sscanf(event, " cachebpf_sample: id=%llu cgroup=%llu key=%llx gone=%d",
				  &told_id, &cgroup, &key, &gone), 4);
		REQUIRE_EQ(told_id, id);
		REQUIRE_EQ(cgroup, cg_id(cg));
		page_of(key)->nr_uses += !gone;
		page_of(key)->nr_gone += gone;
		nr_uses += !gone;
		nr_gone += gone;
	}
	fclose(trace);
	tracing_clear();
}

/* One in eight of NR: 512 on average, with a standard deviation of 21. */
static void expect_an_eighth(void)
{
	EXPECT_OP(nr_pages, >, 512 - 5 * 21);
	EXPECT_OP(nr_pages, <, 512 + 5 * 21);
}

static void expect_each_used(unsigned int nr)
{
	size_t i;

	for (i = 0; i < nr_pages; i++)
		if (!EXPECT_EQ(pages[i].nr_uses, nr))
			break;
}

/* What was told is to be compared with what is told later. */
static void note(void)
{
	memcpy(noted, pages, sizeof(noted));
	nr_noted = nr_pages;
}

static void expect_the_noted_ones(void)
{
	size_t i, j;

	EXPECT_EQ(nr_pages, nr_noted);
	for (i = 0; i < nr_pages; i++) {
		for (j = 0; j < nr_noted && noted[j].key != pages[i].key; j++)
			;
		if (!EXPECT_OP(j, <, nr_noted))
			break;
	}
}

static void read_twice(const char *cg, const struct file *file)
{
	cg_read_file(cg, file, 0, file->nr_pages);
	cg_read_file(cg, file, 0, file->nr_pages);
}

/* Of the pages in the sample each use is told, be it a miss or a hit, and of no other one. */
static void test_uses(void)
{
	const char *cg = cg_new(NULL, "a"), *other = cg_new(NULL, "b");
	struct file *file = file_new(NULL, "f", NR), *foreign = file_new(NULL, "g", NR);
	size_t nr;

	policy_start("fifo", cg);
	policy_start("fifo", other);
	tracing_start("cachebpf/cachebpf_sample");
	read_twice(cg, file);
	look(cg);
	EXPECT_EQ(nr_pages, 0);
	file_forget(file);

	REQUIRE_EQ(cg_write(cg, SAMPLE, ONE_IN), 0);
	EXPECT_EQ(cg_number(cg, SAMPLE), 8);
	EXPECT_EQ(cg_number(other, SAMPLE), 0);
	read_twice(cg, file);
	read_twice(other, foreign);
	look(cg);
	expect_an_eighth();
	expect_each_used(2);
	nr = nr_pages;

	/* the same pages when they are evicted and come back; that they go is not told */
	EXPECT_EQ(cg_reclaim(cg, NR * PAGE), 0);
	look(cg);
	EXPECT_EQ(nr_pages, 0);
	EXPECT_OP(file_cached(file, NULL), <, NR / 2);
	read_twice(cg, file);
	look(cg);
	EXPECT_EQ(nr_pages, nr);
	expect_each_used(2);

	REQUIRE_EQ(cg_write(cg, SAMPLE, "0"), 0);
	read_twice(cg, file);
	look(cg);
	EXPECT_EQ(nr_pages, 0);
	tracing_stop();
}

static size_t nr_told_of(const char *cg, const struct file *file)
{
	cg_read_file(cg, file, 0, file->nr_pages);
	look(cg);
	return nr_pages;
}

/* What is cached when the sample begins, or becomes larger, comes into it. */
static void test_cached(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", NR);

	policy_start("fifo", cg);
	tracing_start("cachebpf/cachebpf_sample");
	REQUIRE_EQ(cg_write(cg, SAMPLE, ONE_IN), 0);
	nr_told_of(cg, file);
	expect_an_eighth();
	note();
	file_forget(file);
	tracing_clear();

	REQUIRE_EQ(cg_write(cg, SAMPLE, "0"), 0);
	EXPECT_EQ(nr_told_of(cg, file), 0);
	REQUIRE_EQ(cg_write(cg, SAMPLE, ONE_IN), 0);
	EXPECT(EVENTUALLY(nr_told_of(cg, file) == nr_noted));
	expect_each_used(1);
	expect_the_noted_ones();
	REQUIRE_EQ(cg_write(cg, SAMPLE, "4294967295"), 0);
	EXPECT_EQ(nr_told_of(cg, file), 0);
	REQUIRE_EQ(cg_write(cg, SAMPLE, "1"), 0);
	EXPECT(EVENTUALLY(nr_told_of(cg, file) == NR));
	REQUIRE_EQ(cg_write(cg, SAMPLE, ONE_IN), 0);
	EXPECT_EQ(nr_told_of(cg, file), nr_noted);
	tracing_stop();
}

static void nothing(int signal)
{
}

/* To write the number takes no time: who is interrupted all the time can do it as well. */
static void test_interrupted(void)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	const struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_hole("f", 128 * MiB_PAGES);
	char *path;
	int i, fd;

	policy_start("fifo", cg);
	REQUIRE_EQ(cg_run(cg, file_read_through, file), 0);
	REQUIRE(asprintf(&path, "%s/" SAMPLE, cg) > 0);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	REQUIRE(fd >= 0);
	REQUIRE(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &often, NULL));
	for (i = 0; i < 8; i++)
		if (!EXPECT_EQ(pwrite(fd, ONE_IN, 1, 0), 1))
			break;
	REQUIRE(!setitimer(ITIMER_REAL, &(struct itimerval){}, NULL));
}

/* Pages that are truncated or dropped are not anywhere any more. */
static void test_gone(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", NR);
	size_t nr;

	policy_start("fifo", cg);
	tracing_start("cachebpf/cachebpf_sample");
	REQUIRE_EQ(cg_write(cg, SAMPLE, ONE_IN), 0);
	cg_read_file(cg, file, 0, NR);
	look(cg);
	nr = nr_pages;
	EXPECT_EQ(nr_gone, 0);
	EXPECT(!truncate(file->path, NR / 2 * PAGE));
	look(cg);
	EXPECT_OP(nr_gone, >, nr / 4);
	EXPECT_OP(nr_gone, <, nr * 3 / 4);
	EXPECT_EQ(nr_uses, 0);
	nr -= nr_gone;
	file->nr_pages = NR / 2;
	file_forget(file);
	look(cg);
	EXPECT_EQ(nr_gone, nr);
	tracing_stop();
}

/* Another policy goes on with the sample, and one that is attached anew has none. */
static void test_successor(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", NR);
	struct policy *next = policy_open_installed("lfu", cg);
	struct bpf_link *link = policy_start("fifo", cg);

	tracing_start("cachebpf/cachebpf_sample");
	REQUIRE_EQ(policy_load(next), 0);
	REQUIRE_EQ(cg_write(cg, SAMPLE, ONE_IN), 0);
	cg_read_file(cg, file, 0, NR);
	tracing_clear();
	REQUIRE_EQ(bpf_link__update_map(link, next->map), 0);
	EXPECT_EQ(cg_number(cg, SAMPLE), 8);
	read_twice(cg, file);
	look(cg);
	expect_an_eighth();
	expect_each_used(2);

	REQUIRE_EQ(bpf_link__detach(link), 0);
	EXPECT_EQ(cg_number(cg, SAMPLE), 0);
	policy_start("fifo", cg);
	EXPECT_EQ(cg_number(cg, SAMPLE), 0);
	read_twice(cg, file);
	look(cg);
	EXPECT_EQ(nr_pages, 0);
	tracing_stop();
}

/* What a child's policy gives back is in the sample of the one that gets it. */
static void test_given_back(void)
{
	const char *cg = cg_new(NULL, "a"), *child = cg_new(cg, "child");
	struct file *file = file_new(NULL, "f", NR);
	struct bpf_link *link;

	policy_start("fifo", cg);
	link = policy_start("fifo", child);
	tracing_start("cachebpf/cachebpf_sample");
	REQUIRE_EQ(cg_write(cg, SAMPLE, ONE_IN), 0);
	cg_read_file(child, file, 0, NR);
	look(cg);
	EXPECT_EQ(nr_pages, 0);
	REQUIRE_EQ(bpf_link__detach(link), 0);
	cg_read_file(child, file, 0, NR);
	look(cg);
	expect_an_eighth();
	expect_each_used(1);
	tracing_stop();
}

static int read_sequential(void *file)
{
	return file_read_sequential(file);
}

/* The sample is one of pages, whatever the sizes of their folios are. */
static void test_large(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(xfs_dir(), "f", NR);
	size_t i;

	policy_start("fifo", cg);
	tracing_start("cachebpf/cachebpf_sample");
	REQUIRE_EQ(cg_write(cg, SAMPLE, ONE_IN), 0);
	/* page by page */
	nr_told_of(cg, file);
	EXPECT_EQ(cg_stat(cg, "managed_folios"), NR);
	expect_an_eighth();
	note();
	file_forget(file);
	tracing_clear();

	REQUIRE_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_OP(cg_stat(cg, "managed_folios"), <, NR / 4);
	look(cg);
	expect_the_noted_ones();
	/* their folios are marked while they are cached */
	REQUIRE_EQ(cg_write(cg, SAMPLE, "1"), 0);
	EXPECT(EVENTUALLY(nr_told_of(cg, file) == NR));
	REQUIRE_EQ(cg_write(cg, SAMPLE, ONE_IN), 0);

	/* a folio is cut, and its parts are told of as well */
	REQUIRE(!truncate(file->path, (NR / 2 + 3) * PAGE));
	file->nr_pages = NR / 2 + 3;
	file_forget(file);
	look(cg);
	EXPECT_EQ(nr_uses, 0);
	expect_the_noted_ones();
	for (i = 0; i < nr_pages; i++)
		if (!EXPECT_EQ(pages[i].nr_gone, 1))
			break;
	tracing_stop();
}

/* A policy hears of the uses of these pages as of all others, and its lists are in order. */
static void test_policy_hears(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 512), *used = file_new(NULL, "g", 512);
	struct policy *lru = policy_open_installed("lru", cg);

	policy_attach(lru);
	REQUIRE_EQ(cg_write(cg, SAMPLE, "1"), 0);
	cg_read_file(cg, used, 0, 512);
	cg_read_file(cg, file, 0, 512);
	cg_read_file(cg, used, 0, 512);
	EXPECT_EQ(cg_stat(cg, "hits"), 512);
	EXPECT_EQ(cg_reclaim(cg, 512 * PAGE), 0);
	EXPECT_OP(file_cached(file, NULL), <, 32);
	EXPECT_OP(file_cached(used, NULL), >, 512 - 64);
}

/* A filter does not hide what programs read. */
static void test_rejected(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", NR);
	struct policy *p = policy_open("admission", "admission", cg);

	policy_attach(p);
	((struct admission_state *)policy_state(p))->mode = ADMIT_NONE;
	tracing_start("cachebpf/cachebpf_sample");
	REQUIRE_EQ(cg_write(cg, SAMPLE, ONE_IN), 0);
	cg_read_file(cg, file, 0, NR);
	look(cg);
	EXPECT_OP(cg_stat(cg, "admit_rejected"), >, NR / 2);
	expect_an_eighth();
	expect_each_used(1);
	tracing_stop();
}

/* Who may write what. */
static void test_file(void)
{
	const char *cg = cg_new(NULL, "a"), *child;
	struct stat st;
	char *path;

	REQUIRE(asprintf(&path, "%s/" SAMPLE, cg) > 0);
	REQUIRE(!stat(path, &st));
	EXPECT_EQ(st.st_mode & 07777, 0644);
	EXPECT_EQ(cg_number(cg, SAMPLE), 0);
	EXPECT_EQ(cg_write(cg, SAMPLE, ONE_IN), -ENODEV);
	policy_start("fifo", cg);
	child = cg_new(cg, "child");
	EXPECT_EQ(cg_write(child, SAMPLE, ONE_IN), -ENODEV);
	EXPECT_EQ(cg_write(cg, SAMPLE, "4294967296"), -ERANGE);
	EXPECT_EQ(cg_write(cg, SAMPLE, "-1"), -EINVAL);
	EXPECT_EQ(cg_write(cg, SAMPLE, "x"), -EINVAL);
	EXPECT_EQ(cg_number(cg, SAMPLE), 0);
	EXPECT_EQ(cg_write(cg, SAMPLE, ONE_IN), 0);
	EXPECT_EQ(cg_number(child, SAMPLE), 0);
}

static const struct test tests[] = {
	{ "each use of its pages, and nothing else",	test_uses },
	{ "what is cached already",			test_cached },
	{ "its number is written at once",		test_interrupted },
	{ "what is truncated or dropped is gone",	test_gone },
	{ "goes on with another policy",		test_successor },
	{ "what a child's policy gives back",		test_given_back },
	{ "pages of large folios",			test_large },
	{ "the policy hears of uses, too",		test_policy_hears },
	{ "what a filter rejects",			test_rejected },
	{ "who may write what to its file",		test_file },
};

SUBJECT(sample);
