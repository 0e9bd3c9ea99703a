// SPDX-License-Identifier: GPL-2.0-only
/*
 * A policy never touches a folio of another cgroup, however entangled the two
 * are: shared files, processes that move, folios that move.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "selftest.h"

#define NR	(4 * MiB_PAGES)

/* What must not change in a cgroup that nobody reclaims. */
struct untouched {
	const char	*cg;
	long long	pgscan, pgsteal, refault, file, managed, removed;
};

static void look(struct untouched *u, const char *cg)
{
	u->cg = cg;
	u->pgscan = cg_key(cg, "memory.stat", "pgscan");
	u->pgsteal = cg_key(cg, "memory.stat", "pgsteal");
	u->refault = cg_key(cg, "memory.stat", "workingset_refault_file");
	u->file = cg_key(cg, "memory.stat", "file");
	u->managed = cg_stat(cg, "managed_pages");
	u->removed = cg_stat(cg, "removed_reclaim");
}

static void expect_untouched(const struct untouched *before, int line)
{
	struct untouched now;

	look(&now, before->cg);
	expect(now.pgscan == before->pgscan && now.pgsteal == before->pgsteal &&
	       now.refault == before->refault && now.file == before->file &&
	       now.managed == before->managed && now.removed == before->removed,
	       __FILE__, line,
	       "%s was touched: pgscan %+lld, pgsteal %+lld, refaults %+lld, file %+lld, managed %+lld, removed %+lld",
	       cg_name(now.cg), now.pgscan - before->pgscan, now.pgsteal - before->pgsteal,
	       now.refault - before->refault, now.file - before->file,
	       now.managed - before->managed, now.removed - before->removed);
}

/* Take everything that can be taken. */
static void reclaim_hard(const char *cg)
{
	int i;

	for (i = 0; i < 8; i++)
		cg_reclaim(cg, 64 * MiB);
}

/*
 * @shared is read by both; the first half by @a first, so that it is charged
 * there, the second by @b.
 */
static void shared_file(bool lru_gen)
{
	const char *top = cg_new(NULL, lru_gen ? "mglru" : "classic");
	const char *a = cg_new(top, "a"), *b = cg_new(top, "b");
	struct file *fa = file_new(NULL, "a", NR), *fb = file_new(NULL, "b", NR);
	struct file *shared = file_new(NULL, "shared", 2 * NR);
	struct bpf_link *links[2] = { policy_start("mru", a), policy_start("fifo", b) };
	static bool cached[2 * NR];
	struct untouched of_b;
	size_t i, nr;

	cg_read_file(a, fa, 0, NR);
	cg_read_file(b, fb, 0, NR);
	cg_read_file(a, shared, 0, NR);
	cg_read_file(b, shared, NR, NR);
	/* each uses the other's half, often: it is still the other's */
	for (i = 0; i < 3; i++) {
		cg_read_file(a, shared, NR, NR);
		cg_read_file(b, shared, 0, NR);
	}
	EXPECT_EQ(cg_stat(a, "managed_pages"), 2 * NR);
	EXPECT_EQ(cg_stat(b, "managed_pages"), 2 * NR);

	look(&of_b, b);
	reclaim_hard(a);
	expect_untouched(&of_b, __LINE__);
	EXPECT_EQ(file_cached(fb, NULL), NR);
	file_cached(shared, cached);
	for (i = NR, nr = 0; i < 2 * NR; i++)
		nr += cached[i];
	EXPECT_EQ(nr, NR);
	for (i = 0, nr = 0; i < NR; i++)
		nr += cached[i];
	EXPECT_EQ(nr, 0);
	EXPECT_EQ(file_cached(fa, NULL), 0);
	EXPECT_OP(cg_stat(a, "evict_reclaimed"), >=, 2 * NR - 64);

	/* what was a's is whose it is that reads it again */
	cg_read_file(b, shared, 0, NR);
	EXPECT_EQ(cg_stat(b, "managed_pages"), 3 * NR);
	look(&of_b, b);
	cg_read_file(a, fa, 0, NR);
	reclaim_hard(a);
	expect_untouched(&of_b, __LINE__);
	EXPECT_EQ(file_cached(shared, NULL), 2 * NR);

	REQUIRE_EQ(bpf_link__destroy(links[0]), 0);
	REQUIRE_EQ(bpf_link__destroy(links[1]), 0);
	unlink(fa->path);
	unlink(fb->path);
	unlink(shared->path);
}

static void test_shared_file(void)
{
	with_both_lrus(shared_file);
}

struct mover {
	const char	*to;
	const struct file *file;
};

/* Reads the first half where it is, and the second after it has moved. */
static int move_and_read(void *arg)
{
	struct mover *m = arg;
	int err = file_read(m->file, 0, NR / 2);

	if (!err && cg_write(m->to, "cgroup.procs", "0"))
		err = 255;
	return err ?: file_read(m->file, NR / 2, NR / 2);
}

static void test_moved_process(void)
{
	const char *a = cg_new(NULL, "a"), *b = cg_new(NULL, "b");
	struct file *file = file_new(NULL, "f", NR);
	struct mover to_b = { b, file };
	struct untouched of_b;
	static bool cached[NR];
	size_t i, nr;

	policy_start("lfu", a);
	policy_start("fifo", b);
	/* what a process reads stays where it was read when the process goes */
	REQUIRE_EQ(cg_run(a, move_and_read, &to_b), 0);
	EXPECT_EQ(cg_stat(a, "managed_pages"), NR / 2);
	EXPECT_EQ(cg_stat(b, "managed_pages"), NR / 2);
	look(&of_b, b);
	reclaim_hard(a);
	expect_untouched(&of_b, __LINE__);
	file_cached(file, cached);
	for (i = NR / 2, nr = 0; i < NR; i++)
		nr += cached[i];
	EXPECT_EQ(nr, NR / 2);
	EXPECT_EQ(file_cached(file, NULL), NR / 2);
}

/* The files of two cgroups lie in turn, with holes between them, and room on both sides. */
static void scatter(const char *a, struct file *fa, const char *b, struct file *fb,
		    struct file *before, struct file *after)
{
	size_t i;

	file_forget(fa);
	file_forget(fb);
	/* compaction moves upwards in memory */
	EXPECT_EQ(file_read(before, 0, before->nr_pages), 0);
	/* page by page in turn, then every other piece of a's goes: holes to be filled */
	for (i = 0; i < 4 * NR; i += 64) {
		cg_read_file(a, fa, i, 64);
		cg_read_file(b, fb, i, 64);
	}
	EXPECT_EQ(file_read(after, 0, after->nr_pages), 0);
	file_drop(before);
	file_drop(after);
	cg_reclaim(a, 2 * NR * PAGE);
}

static long long nr_migrated(void)
{
	return cg_key("/proc", "vmstat", "pgmigrate_success");
}

/* Folios lie elsewhere after compaction, and what was at their place is another's. */
static void test_compaction(void)
{
	const char *a = cg_new(NULL, "a"), *b = cg_new(NULL, "b");
	struct file *fa = file_new(NULL, "a", 4 * NR), *fb = file_new(NULL, "b", 4 * NR);
	struct file *before = file_new(NULL, "before", 8 * NR), *after = file_new(NULL, "after", 8 * NR);
	long long migrated = nr_migrated();
	struct untouched of_b;
	int i;

	policy_start("fifo", a);
	policy_start("mru", b);
	/* where the kernel takes memory, and keeps what is freed, is luck */
	for (i = 0; i < 8 && nr_migrated() == migrated; i++) {
		scatter(a, fa, b, fb, before, after);
		EXPECT(!write_text("/proc/sys/vm/compact_memory", "1"));
	}
	EXPECT_OP(nr_migrated(), >, migrated);
	EXPECT_EQ(cg_stat(a, "managed_pages"), file_cached(fa, NULL));
	EXPECT_EQ(cg_stat(b, "managed_pages"), 4 * NR);

	cg_read_file(a, fa, 0, 4 * NR);
	EXPECT(!write_text("/proc/sys/vm/compact_memory", "1"));
	look(&of_b, b);
	reclaim_hard(a);
	expect_untouched(&of_b, __LINE__);
	EXPECT_EQ(file_cached(fb, NULL), 4 * NR);
	EXPECT_EQ(file_cached(fa, NULL), 0);
	EXPECT_EQ(file_read(fb, 0, 4 * NR), 0);
}

/* Limits reclaim by themselves, all the time, while the neighbour rests. */
static int read_twice(void *arg)
{
	const struct file *file = arg;

	return file_read_sequential(file) ?: file_read_sequential(file);
}

static void test_limit(void)
{
	const char *top = cg_new(NULL, "top"), *a = cg_new(top, "a"), *b = cg_new(top, "b");
	struct file *fa = file_new(NULL, "a", 6 * NR), *fb = file_new(NULL, "b", NR);
	struct untouched of_b;

	policy_start("mru", a);
	policy_start("lfu", b);
	REQUIRE_EQ(cg_write(a, "memory.max", "8388608"), 0);
	cg_read_file(b, fb, 0, NR);
	look(&of_b, b);
	EXPECT_EQ(cg_run(a, read_twice, fa), 0);
	EXPECT_OP(cg_stat(a, "removed_reclaim"), >, 6 * NR);
	expect_untouched(&of_b, __LINE__);
	EXPECT_EQ(file_cached(fb, NULL), NR);
}

static const struct test tests[] = {
	{ "files that two cgroups share",			test_shared_file },
	{ "a process that moves leaves its folios behind",	test_moved_process },
	{ "after compaction",					test_compaction },
	{ "a limit hit again and again",			test_limit },
};

SUBJECT(isolation);
