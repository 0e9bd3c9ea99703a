// SPDX-License-Identifier: GPL-2.0-only
/* Buckets: how many there are, who pays, and that they keep what they are given. */
#include <signal.h>

#include "selftest.h"
#include "states.h"

#define BUCKET		64
/* before the first bucket, in the same allocation */
#define HEADER		64
/* what is counted on each processor before it is told */
#define NOISE		(16L << 10)

static struct buckets_state *state;
static struct policy *policy;
static struct bpf_link *attached;

/* Have a policy with @bytes_per_page in @cg; 0: without buckets. */
static void start(const char *cg, unsigned int bytes_per_page)
{
	policy = policy_open("buckets", NULL, cg);
	REQUIRE_EQ(policy_load(policy), 0);
	state = policy_state(policy);
	state->nr_creates = bytes_per_page != 0;
	state->bytes_per_page[0] = bytes_per_page;
	attached = policy_attach_loaded(policy);
	EXPECT_EQ(state->errors[0], 0);
}

static long long bucket_bytes(const char *cg)
{
	return cg_stat(cg, "bucket_bytes");
}

static int limit(const char *cg, const char *file, unsigned long bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", bytes);
	return cg_write(cg, file, text);
}

/* They end at what the limit, that of @file in @limited, makes of @bytes_per_page, and begin small. */
static void sizes(const char *limited, const char *cg, const char *file, unsigned long bytes,
		  unsigned int bytes_per_page)
{
	long long most = bytes / PAGE * bytes_per_page / BUCKET * BUCKET;
	struct file *data = file_new(NULL, cg_name(cg), 2 * bytes / PAGE);
	int i;

	REQUIRE_EQ(limit(limited, file, bytes), 0);
	start(cg, bytes_per_page);
	EXPECT_OP(bucket_bytes(cg), >, 0);
	EXPECT_OP(bucket_bytes(cg), <=, most < 128 * BUCKET ? most : 128 * BUCKET);
	for (i = 0; i < 8; i++) {
		cg_read_file(cg, data, i * data->nr_pages / 8, data->nr_pages / 8);
		EXPECT_OP(bucket_bytes(cg), <=, most);
	}
	/* it is tried again when there is reclaim */
	if (!EXPECT(EVENTUALLY((cg_read_file(cg, data, 0, data->nr_pages),
				bucket_bytes(cg) == most))))
		diag("%lld of %lld bytes", bucket_bytes(cg), most);
	EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
	REQUIRE_EQ(bpf_link__destroy(attached), 0);
}

static void test_sizes(void)
{
	const char *cg;

	cg = cg_new(NULL, "a");
	sizes(cg, cg, "memory.max", 10 * MiB, 8);
	/* less than a bucket more than six */
	cg = cg_new(NULL, "b");
	sizes(cg, cg, "memory.max", 2 * MiB - 4 * PAGE, 1);
	cg = cg_new(NULL, "c");
	sizes(cg, cg, "memory.max", 40 * MiB, 64);
	cg = cg_new(NULL, "d");
	sizes(cg, cg, "memory.high", 10 * MiB, 8);
}

static void test_limit_above(void)
{
	const char *top = cg_new(NULL, "top"), *cg = cg_new(top, "below");

	REQUIRE_EQ(limit(cg, "memory.max", 400 * MiB), 0);
	sizes(top, cg, "memory.max", 10 * MiB, 8);
}

static void test_no_limit(void)
{
	struct file *file = file_new(NULL, "f", 8 * MiB_PAGES);
	const char *cg = cg_new(NULL, "a");

	start(cg, 64);
	EXPECT_OP(bucket_bytes(cg), >, 64 * BUCKET);
	EXPECT_OP(bucket_bytes(cg), <=, 128 * BUCKET);
	/* a bucket for each page that is cached, and less than as many again */
	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT(EVENTUALLY(bucket_bytes(cg) >= (long long)file->nr_pages * BUCKET));
	EXPECT_OP(bucket_bytes(cg), <, 2 * (long long)file->nr_pages * BUCKET);
}

/*
 * When all is cached, and there was no memory a moment ago or no use of them, it
 * takes reclaim to have it tried again.  Seldom: readers have to be faster.
 */
static bool has_more(const char *cg, long long bytes)
{
	if (bucket_bytes(cg) > bytes)
		return true;
	sleep(1);
	cg_reclaim(cg, PAGE);
	return false;
}

/* Who uses none has the few of the beginning; then there are as many as its folios call for. */
static void test_unused(void)
{
	struct file *file = file_new(NULL, "f", 32 * MiB_PAGES), *more = file_new(NULL, "more", 64);
	const char *cg = cg_new(NULL, "a");
	long long first;

	start(cg, 8);
	state->idle = 1;
	first = bucket_bytes(cg);
	cg_read_file(cg, file, 0, file->nr_pages);
	cg_reclaim(cg, 64 * PAGE);
	REQUIRE_EQ(bucket_bytes(cg), first);
	state->idle = 0;
	cg_read_file(cg, more, 0, 64);
	EXPECT(EVENTUALLY(has_more(cg, 30 * (long long)MiB_PAGES * 8)));
}

/* Whatever is in a bucket is found where its key leads to, as often as the number is doubled. */
static void test_content(void)
{
	enum { NR = 400 };
	struct file *file = file_new(NULL, "f", NR), *more = file_new(NULL, "more", 32 * MiB_PAGES);
	const char *cg = cg_new(NULL, "a");
	long long first;

	start(cg, 8);
	first = bucket_bytes(cg);
	state->remember = 1;
	cg_read_file(cg, file, 0, NR);
	/* nothing is copied yet, so nothing was lost */
	REQUIRE_EQ(bucket_bytes(cg), first);
	EXPECT_EQ(state->remembered, NR);
	EXPECT_EQ(state->overflown, 0);
	EXPECT_EQ(state->none, 0);
	EXPECT_EQ(state->too_large, 0);

	state->remember = 0;
	cg_read_file(cg, more, 0, more->nr_pages);
	EXPECT(EVENTUALLY(bucket_bytes(cg) >= 32 * (long long)MiB_PAGES * 8));
	EXPECT_OP(bucket_bytes(cg), >=, 8 * first);

	state->look = 1;
	cg_read_file(cg, file, 0, NR);
	EXPECT_EQ(state->found, NR);
	EXPECT_EQ(state->missing, 0);
	/* and where interrupts are off */
	file_forget(file);
	EXPECT_EQ(state->found, 2 * NR);
	EXPECT_EQ(state->missing, 0);
	/* what was never remembered is not there */
	file_drop(more);
	EXPECT_EQ(state->found, 2 * NR);
	EXPECT_OP(state->missing, >, more->nr_pages / 2);
}

/* Kernel memory that @cg has paid for. */
static long long paid(const char *cg)
{
	return cg_key(cg, "memory.stat", "slab") + cg_key(cg, "memory.stat", "vmalloc");
}

/*
 * What @top has paid for and its child has not: the buckets.  The child pays for
 * all else that comes with folios, among it the folio table, whose number of
 * blocks depends on how the memory that is free is scattered.
 */
static long long paid_by_top(const char *top, const char *child)
{
	return paid(top) - paid(child);
}

/* Once, not with the arrays that it outgrew, which take five seconds to go. */
static bool is_paid(long long now, long long bytes)
{
	long long pages = (bytes + HEADER + PAGE - 1) / PAGE * PAGE;

	/* not for a power of two */
	return llabs(now - pages) <= NOISE;
}

static void test_charged(void)
{
	struct file *file = file_new(NULL, "f", 64 * MiB_PAGES);
	const char *top = cg_new(NULL, "top"), *child = cg_new(top, "child");
	long long bytes, before, now = 0;
	int i;

	before = paid_by_top(top, child);
	start(top, 64);
	cg_read_file(child, file, 0, file->nr_pages);
	EXPECT(EVENTUALLY(bucket_bytes(top) >= (long long)file->nr_pages * BUCKET));
	bytes = bucket_bytes(top);
	for (i = 0; i < 6 && !is_paid(now, bytes); i++)
		if (EVENTUALLY(is_paid(paid_by_top(top, child) - before, bytes)))
			now = paid_by_top(top, child) - before;
	if (!EXPECT(is_paid(now, bytes)))
		diag("%lld bytes of buckets, %lld paid", bytes,
		     paid_by_top(top, child) - before);
	REQUIRE_EQ(bpf_link__destroy(attached), 0);
	for (i = 0; i < 6 && now > NOISE; i++)
		if (EVENTUALLY(paid_by_top(top, child) - before <= NOISE))
			now = paid_by_top(top, child) - before;
	EXPECT_OP(now, <=, NOISE);
}

/* When a limit changes, so does what may be taken. */
static void test_new_limit(void)
{
	struct file *file = file_new(NULL, "f", 48 * MiB_PAGES);
	const char *cg = cg_new(NULL, "a");

	REQUIRE_EQ(limit(cg, "memory.max", 40 * MiB), 0);
	start(cg, 64);
	/* it is tried again when there is reclaim */
	REQUIRE(EVENTUALLY((cg_read_file(cg, file, 0, file->nr_pages),
			    bucket_bytes(cg) == 40 * MiB_PAGES * BUCKET)));
	REQUIRE_EQ(limit(cg, "memory.max", 10 * MiB), 0);
	EXPECT(EVENTUALLY((cg_read_file(cg, file, 0, file->nr_pages),
			   bucket_bytes(cg) <= (long long)(10 * MiB_PAGES * BUCKET))));
	REQUIRE_EQ(limit(cg, "memory.max", 40 * MiB), 0);
	EXPECT(EVENTUALLY((cg_read_file(cg, file, 0, file->nr_pages),
			   bucket_bytes(cg) > (long long)(20 * MiB_PAGES * BUCKET))));
	EXPECT_OP(bucket_bytes(cg), <=, 40 * MiB_PAGES * BUCKET);
	EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
}

/* A policy begins with empty buckets, in the number that its folios call for. */
static void test_replaced(void)
{
	struct file *file = file_new(NULL, "f", 8 * MiB_PAGES);
	const char *cg = cg_new(NULL, "a");
	struct bpf_link *link;
	struct policy *next;

	start(cg, 64);
	state->remember = 1;
	cg_read_file(cg, file, 0, file->nr_pages);
	link = attached;

	next = policy_open("buckets", NULL, cg);
	REQUIRE_EQ(policy_load(next), 0);
	state = policy_state(next);
	state->nr_creates = 1;
	state->bytes_per_page[0] = 32;
	state->look = 1;
	REQUIRE_EQ(bpf_link__update_map(link, next->map), 0);
	EXPECT(EVENTUALLY(bucket_bytes(cg) >= (long long)file->nr_pages * 32));
	EXPECT_OP(bucket_bytes(cg), <, 2 * (long long)file->nr_pages * 32);
	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT_EQ(state->found, 0);
	EXPECT_EQ(state->missing, file->nr_pages);
	EXPECT_EQ(state->none, 0);
}

static void test_refused(void)
{
	static const __u32 calls[] = { 0, 65, ~0, 8, 8, 64 };
	static const int errors[] = { -EINVAL, -EINVAL, -EINVAL, 0, -EEXIST, -EEXIST };
	struct file *file = file_new(NULL, "f", 64);
	const char *cg = cg_new(NULL, "a");
	size_t i;

	policy = policy_open("buckets", NULL, cg);
	REQUIRE_EQ(policy_load(policy), 0);
	state = policy_state(policy);
	state->nr_creates = ARRAY_SIZE(calls);
	memcpy(state->bytes_per_page, calls, sizeof(calls));
	attached = policy_attach_loaded(policy);
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		EXPECT_EQ(state->errors[i], errors[i]);
	EXPECT_OP(bucket_bytes(cg), <=, 128 * BUCKET);
	REQUIRE_EQ(bpf_link__destroy(attached), 0);

	/* who has asked for none gets none */
	start(cg, 0);
	state->remember = 1;
	cg_read_file(cg, file, 0, 64);
	EXPECT_EQ(state->none, 64);
	EXPECT_EQ(state->remembered, 0);
}

static int keep_reading(void *file)
{
	for (;;)
		if (file_read(file, 0, ((struct file *)file)->nr_pages))
			return 1;
}

/*
 * The number goes up and down while the buckets are in use.  There has to be
 * room for what the readers need themselves and wait for: of a busy disk, who
 * lowers the limit does not wait for it, and kills somebody.
 */
static void test_race(void)
{
	struct file *file = file_new(NULL, "f", 24 * MiB_PAGES);
	const char *cg = cg_new(NULL, "a");
	long long bytes, smallest = 1LL << 40, few = 8 * MiB_PAGES * BUCKET;
	pid_t readers[2];
	size_t i;

	REQUIRE_EQ(limit(cg, "memory.max", 64 * MiB), 0);
	start(cg, 64);
	state->remember = 1;
	state->look = 1;
	for (i = 0; i < ARRAY_SIZE(readers); i++)
		readers[i] = cg_start(cg, keep_reading, file);
	for (i = 0; i < 20; i++) {
		/* lowering it may not succeed at once */
		limit(cg, "memory.max", i % 2 ? 64 * MiB : 8 * MiB);
		if (i % 2)
			EXPECT(EVENTUALLY(has_more(cg, few)));
		else
			usleep(200000);
		bytes = bucket_bytes(cg);
		smallest = bytes < smallest ? bytes : smallest;
	}
	diag("%lld bytes of buckets at least; %llu remembered, %llu found, %llu missing", smallest,
	     state->remembered, state->found, state->missing);
	for (i = 0; i < ARRAY_SIZE(readers); i++) {
		EXPECT_EQ(kill(readers[i], SIGKILL), 0);
		EXPECT_EQ(cg_wait(readers[i]), -EINTR);
	}
	EXPECT_OP(smallest, <=, few);
	EXPECT_EQ(state->none, 0);
	EXPECT_OP(state->found, >, 0);
	EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);

	/* it may go while its number is about to be changed */
	limit(cg, "memory.max", 64 * MiB);
	cg_read_file(cg, file, 0, file->nr_pages);
	limit(cg, "memory.max", 8 * MiB);
	REQUIRE_EQ(bpf_link__destroy(attached), 0);
}

static const struct test tests[] = {
	{ "there are as many as the limit allows",		test_sizes },
	{ "a limit further up counts as well",			test_limit_above },
	{ "as many as are needed without a limit",		test_no_limit },
	{ "none are used, and then some",			test_unused },
	{ "they keep what they have when they get more",	test_content },
	{ "the cgroup pays",					test_charged },
	{ "the limit changes",					test_new_limit },
	{ "a successor has its own",				test_replaced },
	{ "what is refused",					test_refused },
	{ "their number changes while they are used",		test_race, .spread = true },
};

SUBJECT(buckets);
