// SPDX-License-Identifier: GPL-2.0-only
/* Folios that were cached before their policy came, or that change hands. */
#include <sys/mman.h>
#include <time.h>

#include "selftest.h"
#include "states.h"
#include "tracing.h"

#define NR	1000

/* All of them, the oldest first. */
static void live(bool lru_gen)
{
	static bool cached[NR];
	const char *cg = cg_new(NULL, lru_gen ? "mglru" : "classic");
	struct file *file = file_new(NULL, cg_name(cg), NR);
	struct policy *p = policy_open("events", NULL, cg);
	struct events_state *state;
	struct bpf_link *link;
	unsigned int i, first;

	cg_read_file(cg, file, 0, NR);
	link = policy_attach(p);
	state = policy_state(p);
	EXPECT_EQ(file_cached(file, NULL), NR);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), NR);
	EXPECT_EQ(cg_stat(cg, "adopted"), NR);
	EXPECT_EQ(cg_stat(cg, "added"), 0);
	/* CACHEBPF_ADDED_ADOPTED */
	EXPECT_EQ(state->added[2], NR);
	EXPECT_EQ(state->adopted_accesses[0], 0);

	/* what was read before counts as used: no first use any more */
	cg_read_file(cg, file, 0, NR);
	EXPECT_EQ(cg_stat(cg, "hits"), NR);
	EXPECT_EQ(cg_stat(cg, "misses"), 0);

	EXPECT_EQ(cg_reclaim(cg, 256 * PAGE), 0);
	file_cached(file, cached);
	for (first = 0; first < NR && !cached[first]; first++)
		;
	EXPECT_OP(first, >=, 256);
	for (i = first; i < NR; i++)
		if (!expect(cached[i], __FILE__, __LINE__, "%s: page %u went before page %u",
			    cg_name(cg), i, first))
			break;
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_EQ(state->damaged, 0);
	EXPECT_BOOKS();
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_live(void)
{
	with_both_lrus(live);
}

/* A policy further down takes its folios from the one above, and gives them back. */
static void test_nested(void)
{
	const char *top = cg_new(NULL, "top"), *a = cg_new(top, "a"), *b = cg_new(top, "b");
	struct file *fa = file_new(NULL, "a", 300), *fb = file_new(NULL, "b", 200);
	struct bpf_link *link;

	policy_start("fifo", top);
	cg_read_file(a, fa, 0, 300);
	cg_read_file(b, fb, 0, 200);
	EXPECT_EQ(cg_stat(top, "managed_pages"), 500);

	link = policy_start("mru", a);
	EXPECT_EQ(cg_stat(a, "managed_pages"), 300);
	EXPECT_EQ(cg_stat(a, "adopted"), 300);
	EXPECT_EQ(cg_stat(top, "managed_pages"), 200);
	EXPECT_EQ(cg_stat(top, "removed_handover"), 300);

	EXPECT_BOOKS();
	REQUIRE_EQ(bpf_link__destroy(link), 0);
	EXPECT_EQ(cg_stat(top, "managed_pages"), 500);
	EXPECT_EQ(cg_stat(top, "adopted"), 300);
	EXPECT_EQ(file_cached(fa, NULL), 300);
	EXPECT_EQ(file_read(fa, 0, 300), 0);

	/* all of them can be evicted where they are now */
	EXPECT_EQ(cg_reclaim(top, 400 * PAGE), 0);
	EXPECT_EQ(cg_stat(top, "evict_fallback"), 0);
	EXPECT_EQ(cg_stat(top, "managed_pages"), file_cached(fa, NULL) + file_cached(fb, NULL));
}

/* A child that has a policy keeps its folios when its parent gets one. */
static void test_around_child(void)
{
	const char *top = cg_new(NULL, "top"), *a = cg_new(top, "a"), *b = cg_new(top, "b");
	struct file *fa = file_new(NULL, "a", 300), *fb = file_new(NULL, "b", 200);

	cg_read_file(a, fa, 0, 300);
	cg_read_file(b, fb, 0, 200);
	policy_start("mru", a);
	EXPECT_EQ(cg_stat(a, "managed_pages"), 300);
	policy_start("fifo", top);
	EXPECT_EQ(cg_stat(a, "managed_pages"), 300);
	EXPECT_EQ(cg_stat(top, "managed_pages"), 200);
	EXPECT_EQ(cg_stat(top, "removed_handover"), 0);
}

/* Again and again, with other policies between. */
static void test_often(void)
{
	static const char *const names[] = { "fifo", "mru", "lfu" };
	const char *cg = cg_new(NULL, "a");
	struct file *file = file_new(NULL, "f", 4 * MiB_PAGES);
	struct bpf_link *link;
	int i;

	cg_read_file(cg, file, 0, file->nr_pages);
	for (i = 0; i < 9; i++) {
		link = policy_start(names[i % ARRAY_SIZE(names)], cg);
		EXPECT_EQ(cg_stat(cg, "managed_pages"), file->nr_pages);
		EXPECT_EQ(file_cached(file, NULL), file->nr_pages);
		EXPECT_BOOKS();
		REQUIRE_EQ(bpf_link__destroy(link), 0);
	}
	EXPECT_EQ(file_read(file, 0, file->nr_pages), 0);
}

#define FAILSLAB	"/sys/kernel/debug/failslab/"

static int set_failures(int percent)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", percent);
	return write_text("/sys/kernel/slab/cachebpf_block/failslab", percent ? "1" : "0") ?:
	       write_text(FAILSLAB "cache-filter", "Y") ?: write_text(FAILSLAB "verbose", "0") ?:
	       write_text(FAILSLAB "times", "-1") ?: write_text(FAILSLAB "ignore-gfp-wait", "N") ?:
	       write_text(FAILSLAB "probability", text);
}

/* What there was no memory for has an entry when there is some, and its turn as all others. */
static void test_unmanaged(void)
{
	const char *cg = cg_new(NULL, "a");
	struct file *without = file_new(NULL, "without", MiB_PAGES);
	struct file *other = file_new(NULL, "other", 8 * MiB_PAGES);

	if (access(FAILSLAB, F_OK))
		skip("this kernel has no FAILSLAB");
	policy_start("fifo", cg);
	REQUIRE(!set_failures(100));
	cg_read_file(cg, without, 0, without->nr_pages);
	EXPECT_OP(cg_stat(cg, "unmanaged"), >=, without->nr_pages);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	REQUIRE(!set_failures(0));
	EXPECT(EVENTUALLY(cg_stat(cg, "managed_pages") == (long long)without->nr_pages));

	REQUIRE_EQ(cg_write(cg, "memory.max", "6291456"), 0);
	cg_read_file(cg, other, 0, other->nr_pages);
	EXPECT_EQ(file_cached(without, NULL), 0);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
}

struct locker {
	struct file	*file;
	/* the node of its pages; 0: any */
	int		nid;
	int		locked[2];
	int		done[2];
};

/* Has a file locked in memory until it is told that it may go. */
static int keep_locked(void *arg)
{
	struct locker *l = arg;
	volatile char *map = file_map(l->file);
	char c = 0;

	if (l->nid && bind_to_node(l->nid))
		return 4;
	if (!map || mlock((const void *)map, l->file->nr_pages * PAGE))
		return 1;
	if (write(l->locked[1], &c, 1) != 1)
		return 2;
	return read(l->done[0], &c, 1) == 1 ? 0 : 3;
}

/* What was locked in memory when the policy came goes in its turn, later; on the node @nid. */
static void locked_goes(const char *name, int nid)
{
	const char *cg = cg_new(NULL, name);
	struct locker l = { .file = file_new(NULL, "locked", MiB_PAGES), .nid = nid };
	struct file *other = file_new(NULL, "other", 4 * MiB_PAGES);
	time_t end;
	pid_t pid;
	char c;
	int i;

	REQUIRE(!pipe(l.locked) && !pipe(l.done));
	/* some that are adopted, or the self-check would find the others strange */
	cg_read_file(cg, other, 0, 16);
	pid = cg_start(cg, keep_locked, &l);
	REQUIRE(read(l.locked[0], &c, 1) == 1);
	policy_start("fifo", cg);
	cg_read_file(cg, other, 0, other->nr_pages);
	EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	EXPECT_EQ(file_cached(l.file, NULL), MiB_PAGES);
	REQUIRE(write(l.done[1], "", 1) == 1);
	EXPECT_EQ(cg_wait(pid), 0);

	end = time(NULL) + 60;
	/* they are looked for once a second, and are adopted two seconds later at least */
	for (i = 0; file_cached(l.file, NULL) >= MiB_PAGES / 2 && time(NULL) < end; i++) {
		cg_read_file(cg, other, 0, other->nr_pages);
		/* brings the counters up to date, which takes some seconds otherwise */
		cg_key(cg, "memory.stat", "file");
		EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	}
	diag("after %d rounds %zu of %zu pages are still cached", i, file_cached(l.file, NULL), MiB_PAGES);
	EXPECT_OP(file_cached(l.file, NULL), <, MiB_PAGES / 2);
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_BOOKS();
}

static void test_mlocked(void)
{
	locked_goes("cg", 0);
}

static void locked_elsewhere_goes(bool lru_gen)
{
	REQUIRE(!bind_to_node(0));
	locked_goes(lru_name(lru_gen), 1);
}

/*
 * The policy has nothing there, and could give all of what is wanted on its own node.
 * MGLRU, without a policy as well, has all of it from the larger node.
 */
static void test_mlocked_elsewhere(void)
{
	need_nodes();
	with_lru(false, locked_elsewhere_goes);
}

/* What is on no LRU list when a policy comes between goes to that one, too. */
static void test_mlocked_between(void)
{
	const char *top = cg_new(NULL, "top"), *child = cg_new(top, "child");
	struct locker l = { .file = file_new(NULL, "locked", MiB_PAGES) };
	struct bpf_link *link;
	pid_t pid;
	char c;

	REQUIRE(!pipe(l.locked) && !pipe(l.done));
	policy_start("fifo", top);
	pid = cg_start(child, keep_locked, &l);
	REQUIRE(read(l.locked[0], &c, 1) == 1);
	EXPECT_EQ(cg_stat(top, "managed_pages"), MiB_PAGES);
	link = policy_start("mru", child);
	EXPECT_EQ(cg_stat(child, "managed_pages"), MiB_PAGES);
	EXPECT_EQ(cg_stat(child, "adopted"), MiB_PAGES);
	EXPECT_EQ(cg_stat(top, "managed_pages"), 0);
	EXPECT_EQ(cg_stat(top, "removed_handover"), MiB_PAGES);
	EXPECT_BOOKS();

	/* and back */
	REQUIRE_EQ(bpf_link__destroy(link), 0);
	EXPECT_EQ(cg_stat(top, "managed_pages"), MiB_PAGES);
	REQUIRE(write(l.done[1], "", 1) == 1);
	EXPECT_EQ(cg_wait(pid), 0);
	EXPECT_EQ(file_cached(l.file, NULL), MiB_PAGES);
}

/* Looks that the kernel has taken for what it could adopt. */
static int nr_looks(void)
{
	char *at = read_text(TRACING "/trace");
	int nr = 0;

	REQUIRE(at != NULL);
	while ((at = strstr(at, "function adopt_rest"))) {
		at++;
		nr++;
	}
	return nr;
}

static int free_lazily(void *arg)
{
	const struct locker *l = arg;
	void *memory = mmap(NULL, 2 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char c = 0;

	if (memory == MAP_FAILED || madvise(memory, 2 * MiB, MADV_NOHUGEPAGE))
		return 1;
	memset(memory, 1, 2 * MiB);
	if (madvise(memory, 2 * MiB, MADV_FREE) || write(l->locked[1], &c, 1) != 1)
		return 2;
	return read(l->done[0], &c, 1) == 1 ? 0 : 3;
}

/* Reclaim a little of @cg, of which the counters are up to date, and wait for a second. */
static void reclaim_a_little(const char *cg)
{
	cg_key(cg, "memory.stat", "file");
	EXPECT_EQ(cg_reclaim(cg, 32 * PAGE), 0);
	sleep(1);
}

/* Nobody can adopt lazily freed memory: that is tried once, until there is something else. */
static void test_hopeless(void)
{
	const char *cg = cg_new(NULL, "a");
	struct locker lazy = {}, l = { .file = file_new(NULL, "locked", MiB_PAGES) };
	struct file *other = file_hole("other", 64 * MiB_PAGES);
	long long adopted;
	int i;
	char c;

	REQUIRE(!pipe(l.locked) && !pipe(l.done) && !pipe(lazy.locked) && !pipe(lazy.done));
	cg_start(cg, keep_locked, &l);
	REQUIRE(read(l.locked[0], &c, 1) == 1);
	policy_start("fifo", cg);
	REQUIRE_EQ(cg_run(cg, file_read_through, other), 0);
	tracing_start("workqueue/workqueue_execute_start");
	cg_start(cg, free_lazily, &lazy);
	REQUIRE(read(lazy.locked[0], &c, 1) == 1);
	adopted = cg_stat(cg, "adopted");
	for (i = 0; i < 60 && !nr_looks(); i++)
		reclaim_a_little(cg);
	EXPECT_EQ(nr_looks(), 1);
	for (i = 0; i < 8; i++)
		reclaim_a_little(cg);
	EXPECT_EQ(nr_looks(), 1);
	EXPECT_EQ(cg_stat(cg, "adopted"), adopted);

	REQUIRE(write(l.done[1], "", 1) == 1);
	for (i = 0; i < 60 && cg_stat(cg, "adopted") < adopted + (long long)MiB_PAGES / 2; i++)
		reclaim_a_little(cg);
	EXPECT_OP(cg_stat(cg, "adopted"), >=, adopted + (long long)MiB_PAGES / 2);
	tracing_stop();
}

static const struct test tests[] = {
	{ "what a live cgroup has cached",			test_live },
	{ "a nested policy takes and gives back",		test_nested },
	{ "a child's own folios are not touched",		test_around_child },
	{ "many times",						test_often },
	{ "what has no entry gets one later",			test_unmanaged },
	{ "what was locked in memory goes in its turn",		test_mlocked },
	{ "so does what was locked on another node",		test_mlocked_elsewhere },
	{ "what cannot be adopted is tried once",		test_hopeless },
	{ "what is locked in memory goes to a policy between",	test_mlocked_between },
};

SUBJECT(adopt);
