// SPDX-License-Identifier: GPL-2.0-only
/* A policy covers the descendants of its cgroup that have none of their own. */
#include <fcntl.h>

#include "selftest.h"

static void expect_policy(const char *cg, const char *name, const char *owner)
{
	char id[32];

	if (!EXPECT_STR(cg_policy(cg, "policy"), name) || !owner)
		return;
	snprintf(id, sizeof(id), "%llu", (unsigned long long)cg_id(owner));
	EXPECT_STR(cg_policy(cg, "cgroup"), id);
	EXPECT_STR(cg_policy(cg, "inherited"), strcmp(cg, owner) ? "1" : "0");
}

static void test_inherit(void)
{
	const char *top = cg_new(NULL, "top"), *other = cg_new(NULL, "other");
	const char *old = cg_new(top, "old"), *deep = cg_new(old, "deep"), *new;
	struct bpf_link *link = policy_start("fifo", top);

	expect_policy(top, "fifo", top);
	expect_policy(old, "fifo", top);
	expect_policy(deep, "fifo", top);
	EXPECT_STR(cg_policy(deep, "id"), cg_policy(top, "id"));
	new = cg_new(top, "new");
	expect_policy(new, "fifo", top);
	expect_policy(cg_new(new, "newer"), "fifo", top);
	expect_policy(other, "none", NULL);
	EXPECT_EQ(kernel_stat("policies"), 1);

	REQUIRE_EQ(bpf_link__detach(link), 0);
	expect_policy(top, "none", NULL);
	expect_policy(deep, "none", NULL);
	expect_policy(new, "none", NULL);
	expect_policy(cg_new(new, "newest"), "none", NULL);
}

static void test_own_policy(void)
{
	const char *top = cg_new(NULL, "top"), *child = cg_new(top, "child");
	const char *deep = cg_new(child, "deep"), *sibling = cg_new(top, "sibling");
	struct bpf_link *of_top, *of_child;

	/* the child first, then its parent: the parent's does not take over */
	of_child = policy_start("mru", child);
	of_top = policy_start("fifo", top);
	expect_policy(top, "fifo", top);
	expect_policy(sibling, "fifo", top);
	expect_policy(child, "mru", child);
	expect_policy(deep, "mru", child);
	expect_policy(cg_new(child, "new"), "mru", child);

	/* the parent's ends: no change below the child */
	REQUIRE_EQ(bpf_link__detach(of_top), 0);
	expect_policy(sibling, "none", NULL);
	expect_policy(deep, "mru", child);

	/* and the child's: it inherits, and so do those below */
	of_top = policy_start("lfu", top);
	expect_policy(deep, "mru", child);
	REQUIRE_EQ(bpf_link__detach(of_child), 0);
	expect_policy(child, "lfu", top);
	expect_policy(deep, "lfu", top);
	expect_policy(cg_new(child, "newer"), "lfu", top);

	/* one below the top again, this time added under an active parent */
	policy_start("fifo", child);
	expect_policy(deep, "fifo", child);
	expect_policy(sibling, "lfu", top);
}

static void test_managed_by_parent(void)
{
	const char *top = cg_new(NULL, "top"), *a = cg_new(top, "a"), *b = cg_new(top, "b");
	struct file *fa = file_new(NULL, "a", 200), *fb = file_new(NULL, "b", 100);

	policy_start("fifo", top);
	cg_read_file(a, fa, 0, 200);
	EXPECT_EQ(cg_stat(top, "managed_pages"), 200);
	EXPECT_EQ(cg_stat(top, "added"), 200);
	/* which a cgroup that inherits is not told: it is about its siblings as well */
	EXPECT_STR(cg_read(a, "memory.cachebpf.stat"), "");

	/* a policy of its own manages what comes from now on */
	policy_start("mru", b);
	cg_read_file(b, fb, 0, 100);
	EXPECT_EQ(cg_stat(b, "managed_pages"), 100);
	EXPECT_EQ(cg_stat(top, "managed_pages"), 200);

	/* uses count where the folio is charged, whoever makes them */
	cg_read_file(b, fa, 0, 200);
	EXPECT_EQ(cg_stat(top, "hits"), 200);
	EXPECT_EQ(cg_stat(b, "hits"), 0);
	EXPECT_EQ(cg_stat(b, "misses"), 100);
}

static bool says_nothing(const char *cg)
{
	const char *text = cg_read(cg, "memory.cachebpf.stat");

	return text && !*text;
}

/*
 * The statistics of a policy are those of all cgroups that it is for, and who
 * reads them in a child, which may be all that there is in a container, would
 * learn what its siblings do.
 */
static void test_siblings(void)
{
	const char *top = cg_new(NULL, "top"), *a = cg_new(top, "a"), *b = cg_new(top, "b");
	const char *below = cg_new(b, "below");
	struct file *file = file_new(NULL, "f", 200);
	struct bpf_link *link;

	policy_start("fifo", top);
	cg_read_file(a, file, 0, 200);
	EXPECT_EQ(cg_stat(top, "managed_pages"), 200);
	expect_policy(b, "fifo", top);
	EXPECT(says_nothing(b));
	EXPECT(says_nothing(below));
	/* nor what it does itself: it cannot be told apart */
	EXPECT(says_nothing(a));

	/* with a policy of its own it has its own statistics, and no longer */
	link = policy_start("mru", b);
	EXPECT_EQ(cg_stat(b, "managed_pages"), 0);
	EXPECT(says_nothing(below));
	REQUIRE_EQ(bpf_link__detach(link), 0);
	expect_policy(b, "fifo", top);
	EXPECT(says_nothing(b));
}

static void test_child_removed(void)
{
	const char *top = cg_new(NULL, "top"), *a = cg_new(top, "a");
	struct file *file = file_new(NULL, "f", 128);

	policy_start("fifo", top);
	cg_read_file(a, file, 0, 128);
	/* its folios stay, and stay with the policy of the parent */
	REQUIRE_EQ(cg_remove(a), 0);
	EXPECT_EQ(cg_stat(top, "managed_pages"), 128);
	EXPECT_EQ(file_cached(file, NULL), 128);
	EXPECT_EQ(cg_reclaim(top, 64 * PAGE), 0);
	EXPECT_OP(file_cached(file, NULL), <=, 64);
	EXPECT_EQ(cg_stat(top, "managed_pages"), file_cached(file, NULL));
	EXPECT_EQ(cg_stat(top, "evict_fallback"), 0);
	EXPECT_EQ(file_read(file, 0, 128), 0);
}

/* What is cached of a disk goes when it is closed. */
static int read_and_hold(void *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char buf[PAGE];

	if (fd < 0 || pread(fd, buf, sizeof(buf), 0) != (ssize_t)sizeof(buf))
		return 1;
	for (;;)
		pause();
}

/*
 * A folio that is locked when a policy comes between, as it is being read, goes
 * to that one too, however slow the disk is.
 */
static void test_locked(void)
{
	const char *top = cg_new(NULL, "top"), *child = cg_new(top, "child");
	struct policy *between = policy_open_installed("mru", child);
	long long nr_pages;

	REQUIRE_EQ(policy_load(between), 0);
	policy_start("fifo", top);
	cg_start(child, read_and_hold, disk_new("slow", 1, 4000000));
	REQUIRE(EVENTUALLY((nr_pages = cg_stat(top, "managed_pages")) > 0));
	policy_attach_loaded(between);
	EXPECT(EVENTUALLY(!cg_stat(top, "managed_pages")));
	/* there may have been more to come, as the reader reads ahead */
	EXPECT_OP(cg_stat(top, "removed_handover"), >=, nr_pages);
	EXPECT_EQ(cg_stat(child, "adopted"), cg_stat(top, "removed_handover"));
	EXPECT_BOOKS();
}

static int read_for_ever(void *file)
{
	for (;;)
		if (file_read_sequential(file))
			return 1;
}

/* Folios change hands between two policies while they are read, locked and isolated. */
static void test_in_motion(void)
{
	const char *top = cg_new(NULL, "top"), *child = cg_new(top, "child");
	struct file *file = file_new(NULL, "f", 1024);
	struct bpf_link *link;
	int i;

	REQUIRE_EQ(cg_write(child, "memory.max", "2M"), 0);
	policy_start("fifo", top);
	for (i = 0; i < 2; i++)
		cg_start(child, read_for_ever, file);
	for (i = 0; i < 10; i++) {
		link = policy_start("mru", child);
		EXPECT_BOOKS();
		usleep(20000);
		REQUIRE_EQ(bpf_link__detach(link), 0);
		EXPECT_BOOKS();
		usleep(20000);
	}
	EXPECT_OP(cg_stat(top, "adopted"), >, 0);
	EXPECT_OP(cg_stat(top, "removed_handover"), >, 0);
}

#define NR_SMALL	96

/* Children with next to nothing in the cache do not make what is above take from their siblings. */
static void small_children(bool lru_gen)
{
	const char *top = cg_new(NULL, lru_name(lru_gen)), *with = cg_new(top, "with");
	const char *main = cg_new(with, "main"), *other = cg_new(top, "other");
	struct file *file = file_new(NULL, cg_name(top), (32 + 1) * MiB_PAGES);
	struct bpf_link *link = policy_start("fifo", with);
	char name[16];
	int i;

	cg_read_file(main, file, 0, 16 * MiB_PAGES);
	cg_read_file(other, file, 16 * MiB_PAGES, 16 * MiB_PAGES);
	for (i = 0; i < NR_SMALL; i++) {
		snprintf(name, sizeof(name), "small-%d", i);
		cg_read_file(cg_new(with, name), file, 32 * MiB_PAGES + i, 1);
	}
	REQUIRE_EQ(cg_stat(with, "managed_pages"), 16 * MiB_PAGES + NR_SMALL);
	EXPECT_EQ(cg_reclaim(top, 4 * MiB), 0);
	diag("%s: %lld of %zu pages are of the half with a policy", lru_name(lru_gen),
	     cg_stat(with, "removed_reclaim"), 4 * MiB_PAGES);
	EXPECT_OP(cg_stat(with, "removed_reclaim"), <=, 4 * MiB_PAGES * 7 / 8);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_small_children(void)
{
	with_both_lrus(small_children);
}

#define SHARED_LIMIT	"33554432"	/* 32 MiB */
#define NR_STEP		(4 * MiB_PAGES)
#define NR_STEPS	32

/* At a common limit a policy gives its part, and the one below its cgroup another. */
static void test_nested_pays(void)
{
	const char *top = cg_new(NULL, "top"), *a = cg_new(top, "a"), *b = cg_new(top, "b");
	struct file *again = file_new(NULL, "again", NR_STEP), *stream;
	long long refaults;
	char name[32];
	int i;

	policy_start("fifo", top);
	policy_start("fifo", b);
	REQUIRE_EQ(cg_write(top, "memory.max", SHARED_LIMIT), 0);
	for (i = 0; i < NR_STEPS; i++) {
		cg_read_file(a, again, 0, NR_STEP);
		snprintf(name, sizeof(name), "stream-%d", i);
		stream = file_hole(name, NR_STEP);
		EXPECT_EQ(cg_run(b, file_read_through, stream), 0);
	}
	refaults = cg_key(a, "memory.stat", "workingset_refault_file");
	diag("%lld refaults of %zu pages read; evicted by the one above %lld, below %lld", refaults,
	     NR_STEPS * NR_STEP, cg_stat(top, "evict_reclaimed"), cg_stat(b, "evict_reclaimed"));
	EXPECT_OP(refaults, <=, (long long)(NR_STEPS * NR_STEP / 2));
	EXPECT_OP(cg_stat(b, "evict_reclaimed"), >=, (long long)(NR_STEPS * NR_STEP / 2));
	EXPECT_EQ(cg_stat(top, "evict_fallback"), 0);
	EXPECT_BOOKS();
}

static const struct test tests[] = {
	{ "children that exist and new ones inherit",		test_inherit },
	{ "a child's own policy wins until it is detached",	test_own_policy },
	{ "what children read is managed by the parent's",	test_managed_by_parent },
	{ "statistics say nothing of siblings",			test_siblings },
	{ "folios of a removed child stay managed",		test_child_removed },
	{ "each of two policies pays its part",			test_nested_pays },
	{ "a locked folio goes to the policy that comes between", test_locked },
	{ "no folio stays with the wrong one of two policies",	test_in_motion, .spread = true },
	{ "small children cost their siblings what they have",	test_small_children },
};

SUBJECT(hierarchy);
