// SPDX-License-Identifier: GPL-2.0-only
/* lib/readahead.bpf.h on a real kernel: it reads ahead what is read later, and hardly more. */
#include <fcntl.h>
#include <unistd.h>

#include "selftest.h"

#define NR_PAGES	4096UL
#define NR_READS	1024UL
/* the window that is read from, and the next one */
#define AHEAD		(2 * 32UL)

/* The page of the i-th read. */
typedef size_t (*order_t)(size_t i);

struct reads {
	const struct file	*file;
	order_t			order;
};

static size_t upward(size_t i)
{
	return i;
}

static size_t downward(size_t i)
{
	return NR_PAGES - 1 - i;
}

static size_t by_three(size_t i)
{
	return 3 * i;
}

static size_t backward_pairs(size_t i)
{
	size_t place = i / 2;

	/* any of 1024 places four pages apart, each once */
	return place * (place + 1) / 2 % 1024 * 4 + (i % 2 ? 1 : 2);
}

/* Some of them twice. */
static size_t at_random(size_t i)
{
	return (i * i * 7 + i * 2654435761UL) % NR_PAGES;
}

static int read_pages(void *arg)
{
	const struct reads *reads = arg;
	char page[PAGE];
	size_t i;
	int fd = open(reads->file->path, O_RDONLY | O_CLOEXEC);

	for (i = 0; fd >= 0 && i < NR_READS; i++)
		if (pread(fd, page, PAGE, reads->order(i) * PAGE) != PAGE)
			break;
	return i == NR_READS ? 0 : errno ?: EIO;
}

/* How often it is asked in NR_READS reads, and how many pages are read.  Returns the cgroup. */
static const char *test_reads(order_t order, unsigned int most_asked, size_t most_pages)
{
	struct reads reads = { .file = file_new(NULL, "f", NR_PAGES), .order = order };
	const char *cg = cg_new(NULL, "a");

	policy_attach(policy_open("adaptive", "adaptive", cg));
	EXPECT_EQ(cg_run(cg, read_pages, &reads), 0);
	EXPECT_OP(cg_stat(cg, "readahead_asked"), >, 0);
	EXPECT_EQ(cg_stat(cg, "readahead_declined"), 0);
	EXPECT_OP(cg_stat(cg, "readahead_asked"), <=, most_asked);
	EXPECT_OP(cg_stat(cg, "readahead_pages") + cg_stat(cg, "readahead_prefetched"), <=,
		  most_pages);
	diag("%llu times asked, %llu and %llu pages", cg_stat(cg, "readahead_asked"),
	     cg_stat(cg, "readahead_pages"), cg_stat(cg, "readahead_prefetched"));
	return cg;
}

static void test_upward(void)
{
	test_reads(upward, 64, NR_READS + AHEAD);
}

static void test_downward(void)
{
	test_reads(downward, 64, NR_READS + AHEAD);
}

static void test_strided(void)
{
	test_reads(by_three, 128, 3 * NR_READS + AHEAD);
}

/* The end of a record, and then its beginning, which is in the page before, and has the mark. */
static void test_records(void)
{
	const char *cg = test_reads(backward_pairs, NR_READS, NR_READS + 16);

	EXPECT_OP(cg_stat(cg, "readahead_marks_hit"), >=, NR_READS / 2 - 64);
}

static void test_random(void)
{
	test_reads(at_random, NR_READS, NR_READS + 64);
}

static const struct test tests[] = {
	{ "page by page, upward",	test_upward },
	{ "downward",			test_downward },
	{ "each third page",		test_strided },
	{ "records, from their end",	test_records },
	{ "pages at random",		test_random },
};

SUBJECT(adaptive);
