// SPDX-License-Identifier: GPL-2.0-only
/* Reclaim with the installed policies: whose folios go, which, and at what cost. */
#include "selftest.h"

#define LRU_GEN	"/sys/kernel/mm/lru_gen/enabled"

static bool use_lru_gen(bool on)
{
	return !write_text(LRU_GEN, on ? "7" : "0");
}

/* Run @fn with both implementations of the LRU, if the kernel has them. */
static void with_both_lrus(void (*fn)(const char *lru))
{
	const char *was = read_text(LRU_GEN);
	bool was_on = was && strtoul(was, NULL, 16) & 1;

	if (!was) {
		fn("classic");
		return;
	}
	REQUIRE(use_lru_gen(false));
	fn("classic");
	REQUIRE(use_lru_gen(true));
	fn("mglru");
	REQUIRE(use_lru_gen(was_on));
}

static void subtree(const char *lru)
{
	const char *top = cg_new(NULL, lru), *a = cg_new(top, "a"), *b = cg_new(top, "b");
	struct file *fa = file_new(NULL, "a", 4 * MiB_PAGES), *fb = file_new(NULL, "b", 4 * MiB_PAGES);
	struct bpf_link *link = policy_start("fifo", top);

	/* b's are the older ones: for the policy they are next in line */
	cg_read_file(b, fb, 0, fb->nr_pages);
	cg_read_file(a, fa, 0, fa->nr_pages);
	EXPECT_EQ(cg_reclaim(a, MiB), 0);
	EXPECT_EQ(file_cached(fb, NULL), fb->nr_pages);
	EXPECT_OP(file_cached(fa, NULL), <=, 3 * MiB_PAGES);
	EXPECT_OP(file_cached(fa, NULL), >, 2 * MiB_PAGES);
	EXPECT_EQ(cg_stat(top, "evict_fallback"), 0);
	EXPECT_EQ(cg_stat(top, "managed_pages"), file_cached(fa, NULL) + file_cached(fb, NULL));

	/* aimed at both of them, the order of arrival decides again */
	EXPECT_EQ(cg_reclaim(top, MiB), 0);
	EXPECT_OP(file_cached(fb, NULL), <=, 3 * MiB_PAGES);
	EXPECT_EQ(cg_stat(top, "evict_fallback"), 0);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_subtree(void)
{
	with_both_lrus(subtree);
}

static void fifo_order(const char *lru)
{
	enum { NR = 4 * MiB_PAGES };
	static bool cached[NR];
	const char *cg = cg_new(NULL, lru);
	struct file *file = file_new(NULL, lru, NR);
	struct bpf_link *link = policy_start("fifo", cg);
	unsigned int i, first;

	cg_read_file(cg, file, 0, NR);
	/* to use the oldest ones again does not help them */
	cg_read_file(cg, file, 0, NR / 4);
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	file_cached(file, cached);
	for (first = 0; first < NR && !cached[first]; first++)
		;
	EXPECT_OP(first, >=, MiB_PAGES);
	EXPECT_OP(first, <, 2 * MiB_PAGES);
	for (i = first; i < NR; i++)
		if (!expect(cached[i], __FILE__, __LINE__, "%s: page %u was evicted before page %u",
			    lru, i, first))
			break;
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(cg_stat(cg, "reject_busy"), 0);
	EXPECT_EQ(cg_stat(cg, "reject_stale"), 0);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_fifo_order(void)
{
	with_both_lrus(fifo_order);
}

static void counters(const char *lru)
{
	const char *cg = cg_new(NULL, lru);
	struct file *file = file_new(NULL, lru, 4 * MiB_PAGES);
	struct bpf_link *link = policy_start("fifo", cg);

	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT_EQ(cg_reclaim(cg, 2 * MiB), 0);
	EXPECT_OP(cg_stat(cg, "evict_reclaimed"), >=, 2 * MiB_PAGES);
	EXPECT(EVENTUALLY(cg_key(cg, "memory.stat", "pgsteal") == cg_stat(cg, "evict_reclaimed")));
	EXPECT(EVENTUALLY(cg_key(cg, "memory.stat", "pgscan") == cg_stat(cg, "evict_isolated")));
	EXPECT_EQ(cg_stat(cg, "removed_reclaim"), cg_stat(cg, "evict_reclaimed"));
	EXPECT_EQ(cg_stat(cg, "added") - cg_stat(cg, "removed_reclaim"), file_cached(file, NULL));

	EXPECT_EQ(cg_stat(cg, "refaults"), 0);
	cg_read_file(cg, file, 0, MiB_PAGES);
	EXPECT_EQ(cg_stat(cg, "refaults"), MiB_PAGES);
	EXPECT(EVENTUALLY(cg_key(cg, "memory.stat", "workingset_refault_file") == MiB_PAGES));
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_counters(void)
{
	with_both_lrus(counters);
}

struct load {
	struct file	*file;
	int		rounds;
};

static int scan(void *arg)
{
	struct load *load = arg;
	int i, err = 0;

	for (i = 0; !err && i < load->rounds; i++)
		err = file_read_sequential(load->file);
	return err;
}

/* Two processes read more than fits; a limit must hold, and the policy deliver. */
static void limit(const char *lru)
{
	static const char *const policies[] = { "fifo", "mru", "lfu" };
	struct load load = { file_new(NULL, lru, 48 * MiB_PAGES), 2 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		struct bpf_link *link;
		pid_t first, second;
		char *name, *cg;

		REQUIRE(asprintf(&name, "%s-%s", lru, policies[i]) > 0);
		cg = cg_new(NULL, name);
		REQUIRE_EQ(cg_write(cg, "memory.max", "16777216"), 0);
		link = policy_start(policies[i], cg);
		first = cg_start(cg, scan, &load);
		second = cg_start(cg, scan, &load);
		EXPECT_EQ(cg_wait(first), 0);
		EXPECT_EQ(cg_wait(second), 0);
		EXPECT_OP(cg_number(cg, "memory.peak"), <=, 16 * MiB);
		EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
		EXPECT_OP(cg_stat(cg, "evict_reclaimed"), >, 30 * MiB_PAGES);
		if (!EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0))
			diag("%s:\n%s", name, cg_read(cg, "memory.cachebpf.stat"));
		EXPECT(EVENTUALLY(cg_key(cg, "memory.stat", "file") ==
				  cg_stat(cg, "managed_pages") * (long long)PAGE));
		/* that was reclaim's work; a well-behaved policy is seldom refused */
		EXPECT_OP(cg_stat(cg, "evict_isolated") * 10, >=, cg_stat(cg, "evict_proposed") * 9);
		REQUIRE_EQ(bpf_link__destroy(link), 0);
		file_drop(load.file);
	}
}

static void test_limit(void)
{
	with_both_lrus(limit);
}

static int write_all(void *arg)
{
	struct file *file = arg;

	return file_write(file, 0, file->nr_pages);
}

static void dirty(const char *lru)
{
	static const char *const policies[] = { "fifo", "mru", "lfu" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		struct bpf_link *link;
		struct file *file;
		char *name, *cg;

		REQUIRE(asprintf(&name, "%s-%s", lru, policies[i]) > 0);
		cg = cg_new(NULL, name);
		file = file_empty(name, 48 * MiB_PAGES);
		REQUIRE_EQ(cg_write(cg, "memory.max", "16777216"), 0);
		link = policy_start(policies[i], cg);
		EXPECT_EQ(cg_run(cg, write_all, file), 0);
		EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
		EXPECT_OP(cg_stat(cg, "removed_reclaim"), >, 24 * MiB_PAGES);
		REQUIRE_EQ(bpf_link__destroy(link), 0);
		/* what the disk has */
		file_drop(file);
		EXPECT_EQ(file_read_sequential(file), 0);
		file_drop(file);
		unlink(file->path);
	}
}

static void test_dirty(void)
{
	with_both_lrus(dirty);
}

/* The stock-reclaim flag: managed and counted, and never asked. */
static void test_stock_reclaim(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 4 * MiB_PAGES);
	struct policy *p = policy_open_installed("fifo", cg);

	policy_set(p, "flags", 1);
	policy_attach(p);
	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	EXPECT_OP(file_cached(file, NULL), <=, 3 * MiB_PAGES);
	EXPECT_EQ(cg_stat(cg, "evict_calls"), 0);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), file_cached(file, NULL));
	EXPECT_EQ(cg_stat(cg, "removed_reclaim"), file->nr_pages - file_cached(file, NULL));
}

/* memory.min of a child holds against a policy that would take its folios first. */
static void test_protected_child(void)
{
	const char *top = cg_new(NULL, "top"), *a = cg_new(top, "a"), *b = cg_new(top, "b");
	struct file *fa = file_new(NULL, "a", 4 * MiB_PAGES), *fb = file_new(NULL, "b", 4 * MiB_PAGES);

	policy_start("fifo", top);
	REQUIRE_EQ(cg_write(top, "memory.min", "16777216"), 0);
	REQUIRE_EQ(cg_write(b, "memory.min", "16777216"), 0);
	cg_read_file(b, fb, 0, fb->nr_pages);
	cg_read_file(a, fa, 0, fa->nr_pages);
	EXPECT_EQ(cg_reclaim(top, MiB), 0);
	EXPECT_EQ(file_cached(fb, NULL), fb->nr_pages);
	EXPECT_OP(file_cached(fa, NULL), <=, 3 * MiB_PAGES);
}

static const struct test tests[] = {
	{ "only the subtree's folios are taken",		test_subtree },
	{ "fifo evicts the oldest, and no others",		test_fifo_order },
	{ "the kernel's own counters agree",			test_counters },
	{ "a limit holds under load, without fallback",		test_limit,	.spread = true },
	{ "what was written is on the disk",			test_dirty,	.spread = true },
	{ "stock reclaim on request",				test_stock_reclaim },
	{ "a protected child is left alone",			test_protected_child },
};

SUBJECT(reclaim);
