// SPDX-License-Identifier: GPL-2.0-only
/* Reclaim with the installed policies: whose folios go, which, and at what cost. */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "selftest.h"

static void subtree(bool lru_gen)
{
	const char *lru = lru_gen ? "mglru" : "classic";
	const char *top = cg_new(NULL, lru), *a = cg_new(top, "a"), *b = cg_new(top, "b");
	struct file *fa = file_new(NULL, "a", 4 * MiB_PAGES);
	struct file *fb = file_new(NULL, "b", 4 * MiB_PAGES);
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

	/* aimed at both of them, there is no need of b's permission either */
	EXPECT_EQ(cg_reclaim(top, 4 * MiB), 0);
	EXPECT_OP(file_cached(fa, NULL) + file_cached(fb, NULL), <=, 3 * MiB_PAGES);
	EXPECT_OP(file_cached(fb, NULL), <, fb->nr_pages);
	EXPECT_EQ(cg_stat(top, "evict_fallback"), 0);
	EXPECT_BOOKS();
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_subtree(void)
{
	with_both_lrus(subtree);
}

static void fifo_order(bool lru_gen)
{
	const char *lru = lru_gen ? "mglru" : "classic";
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
	EXPECT_BOOKS();
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_fifo_order(void)
{
	with_both_lrus(fifo_order);
}

static void counters(bool lru_gen)
{
	const char *lru = lru_gen ? "mglru" : "classic";
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
	EXPECT_BOOKS();
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

static void show_stat(const char *name, const char *cg)
{
	char *line, *text = cg_read(cg, "memory.cachebpf.stat");

	diag("%s:", name);
	for (line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
		if (!strstr(line, " 0"))
			diag("    %s", line);
}

/*
 * @nr processes read more than fits under each policy; the limit must hold,
 * and of @part folios asked for not more than one may have to be stock
 * reclaim's; 0: none at all.
 */
static void limit(const char *lru, int nr, int part)
{
	static const char *const policies[] = { "fifo", "mru", "lfu" };
	struct load load = { file_new(NULL, lru, 24 * MiB_PAGES), 2 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		struct bpf_link *link;
		char *name, *cg;
		pid_t pids[8];
		int n;

		REQUIRE(asprintf(&name, "%s-%s", lru, policies[i]) > 0);
		cg = cg_new(NULL, name);
		REQUIRE_EQ(cg_write(cg, "memory.max", "8388608"), 0);
		link = policy_start(policies[i], cg);
		for (n = 0; n < nr; n++)
			pids[n] = cg_start(cg, scan, &load);
		for (n = 0; n < nr; n++)
			EXPECT_EQ(cg_wait(pids[n]), 0);
		EXPECT_OP(cg_number(cg, "memory.peak"), <=, 8 * MiB);
		EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
		EXPECT_OP(cg_stat(cg, "evict_reclaimed"), >, 15 * MiB_PAGES);
		EXPECT_EQ(cg_stat(cg, "unmanaged"), 0);
		EXPECT(EVENTUALLY(cg_key(cg, "memory.stat", "file") ==
				  cg_stat(cg, "managed_pages") * (long long)PAGE));
		if (!EXPECT_OP(cg_stat(cg, "evict_fallback"), <=,
			       part ? cg_stat(cg, "evict_asked") / part : 0))
			show_stat(name, cg);
		EXPECT_BOOKS();
		REQUIRE_EQ(bpf_link__destroy(link), 0);
		file_forget(load.file);
	}
}

static void limit_one(bool lru_gen)
{
	limit(lru_gen ? "mglru" : "classic", 1, 0);
}

static void limit_many(bool lru_gen)
{
	/* mru's first choice is what somebody else may be using at this moment */
	limit(lru_gen ? "mglru" : "classic", 3, 100);
}

static void test_limit_one(void)
{
	with_both_lrus(limit_one);
}

static void test_limit_many(void)
{
	with_both_lrus(limit_many);
}

/* The limit is an ancestor's, and all there is to reclaim the policy's. */
static void limit_above(bool lru_gen)
{
	const char *top = cg_new(NULL, lru_gen ? "mglru" : "classic"), *cg = cg_new(top, "a");
	struct load load = { file_new(NULL, "f", 24 * MiB_PAGES), 1 };
	struct bpf_link *link = policy_start("fifo", cg);

	REQUIRE_EQ(cg_write(top, "memory.max", "8388608"), 0);
	EXPECT_EQ(cg_run(cg, scan, &load), 0);
	EXPECT_OP(cg_number(top, "memory.peak"), <=, 8 * MiB);
	EXPECT_EQ(cg_key(top, "memory.events", "oom"), 0);
	EXPECT_OP(cg_stat(cg, "evict_reclaimed"), >, 15 * MiB_PAGES);
	EXPECT_EQ(cg_stat(cg, "evict_reclaimed"), cg_stat(cg, "removed_reclaim"));
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	EXPECT_BOOKS();
	REQUIRE_EQ(bpf_link__destroy(link), 0);
	unlink(load.file->path);
}

static void test_limit_above(void)
{
	with_both_lrus(limit_above);
}

/* From above a generation is asked for in whole batches; one that is empty is passed over. */
static void generations_from_above(bool lru_gen)
{
	const char *top = cg_new(NULL, "top"), *cg = cg_new(top, "a");
	struct file *file = file_new(NULL, "f", 16 * MiB_PAGES);

	(void)lru_gen;
	policy_start("fifo", cg);
	/* the oldest generation of a new cgroup has nothing in it: what is read joins the next one */
	cg_read_file(cg, file, 0, file->nr_pages);
	EXPECT_EQ(cg_reclaim(top, 4 * MiB), 0);
	diag("%lld requests for %lld pages", cg_stat(cg, "evict_calls"), cg_stat(cg, "evict_asked"));
	EXPECT_OP(cg_stat(cg, "evict_calls"), >, 0);
	EXPECT_EQ(cg_stat(cg, "evict_asked"), cg_stat(cg, "evict_calls") * 32);
	EXPECT_EQ(cg_stat(cg, "evict_reclaimed"), cg_stat(cg, "evict_asked"));
}

static void test_generations_from_above(void)
{
	with_lru(true, generations_from_above);
}

static int write_all(void *arg)
{
	struct file *file = arg;

	return file_write(file, 0, file->nr_pages);
}

static void dirty(bool lru_gen)
{
	const char *lru = lru_gen ? "mglru" : "classic";
	static const char *const policies[] = { "fifo", "mru", "lfu" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		struct bpf_link *link;
		struct file *file;
		char *name, *cg;

		REQUIRE(asprintf(&name, "%s-%s", lru, policies[i]) > 0);
		cg = cg_new(NULL, name);
		file = file_empty(name, 48 * MiB_PAGES);
		/* not less: writers of a smaller one are stopped too late when the disk is busy */
		REQUIRE_EQ(cg_write(cg, "memory.max", "16777216"), 0);
		link = policy_start(policies[i], cg);
		EXPECT_EQ(cg_run(cg, write_all, file), 0);
		EXPECT_EQ(cg_key(cg, "memory.events", "oom"), 0);
		EXPECT_OP(cg_stat(cg, "removed_reclaim"), >, 24 * MiB_PAGES);
		EXPECT_BOOKS();
		REQUIRE_EQ(bpf_link__destroy(link), 0);
		/* what the disk has */
		file_forget(file);
		EXPECT_EQ(file_read_sequential(file), 0);
		file_forget(file);
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
	struct file *fa = file_new(NULL, "a", 4 * MiB_PAGES);
	struct file *fb = file_new(NULL, "b", 4 * MiB_PAGES);

	policy_start("fifo", top);
	REQUIRE_EQ(cg_write(top, "memory.min", "16777216"), 0);
	REQUIRE_EQ(cg_write(b, "memory.min", "16777216"), 0);
	cg_read_file(b, fb, 0, fb->nr_pages);
	cg_read_file(a, fa, 0, fa->nr_pages);
	EXPECT_EQ(cg_reclaim(top, MiB), 0);
	EXPECT_EQ(file_cached(fb, NULL), fb->nr_pages);
	EXPECT_OP(file_cached(fa, NULL), <=, 3 * MiB_PAGES);
}

/* A file that does not fit is looked at through a mapping, each page once. */
static void mapped_once(bool lru_gen)
{
	const char *lru = lru_name(lru_gen), *cg = cg_new(NULL, lru);
	struct file *file = file_new(NULL, lru, 64 * MiB_PAGES);
	struct bpf_link *link = policy_start("fifo", cg);

	REQUIRE_EQ(cg_write(cg, "memory.max", "16777216"), 0);
	EXPECT_EQ(cg_run(cg, file_read_mapped, file), 0);
	expect(!cg_policy(cg, "ejected"), __FILE__, __LINE__, "%s: ejected %s", lru,
	       cg_policy(cg, "ejected") ?: "");
	diag("%s: evicted %lld, chosen %lld; put back %lld, used again %lld", lru,
	     cg_stat(cg, "removed_reclaim"), cg_stat(cg, "evict_reclaimed"),
	     cg_stat(cg, "reject_kept"), cg_stat(cg, "hits"));
	EXPECT_OP(cg_stat(cg, "evict_reclaimed") * 2, >, cg_stat(cg, "removed_reclaim"));
	/* each was used once, but for those of which reclaim did not see it in time */
	EXPECT_OP(cg_stat(cg, "hits"), <, (long long)file->nr_pages / 8);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_mapped_once(void)
{
	with_both_lrus(mapped_once);
}

/* fewer than a processor collects before they go to the LRU, and than a request is for */
#define NR_FRESH	24
#define BATCH		32

struct fresh {
	const char	*cg;
	struct file	*file;
};

/* One process: what it has read waits on its processor, at the latest until it ends. */
static int read_and_reclaim(void *arg)
{
	struct fresh *fresh = arg;

	return file_read(fresh->file, 0, NR_FRESH) ?: -cg_reclaim(fresh->cg, BATCH * PAGE);
}

/* What is not on the LRU yet is there when the policy is asked. */
static void just_read(bool lru_gen)
{
	const char *lru = lru_name(lru_gen), *cg = cg_new(NULL, lru);
	struct file *old = file_new(NULL, "old", 4 * MiB_PAGES);
	struct fresh fresh = { cg, file_new(NULL, "fresh", NR_FRESH) };
	struct bpf_link *link = policy_start("mru", cg);

	cg_read_file(cg, old, 0, old->nr_pages);
	EXPECT_EQ(cg_run(cg, read_and_reclaim, &fresh), 0);
	EXPECT_EQ(file_cached(fresh.file, NULL), 0);
	EXPECT_EQ(file_cached(old, NULL), old->nr_pages - (BATCH - NR_FRESH));
	EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
	REQUIRE_EQ(bpf_link__destroy(link), 0);
}

static void test_just_read(void)
{
	with_both_lrus(just_read);
}

/* Pages that one of two cgroups that are alike gives, if reclaim is from above. */
static size_t given_with(const char *object, const char *name)
{
	const char *top = cg_new(NULL, name), *cgs[] = { cg_new(top, "a"), cg_new(top, "b") };
	struct file *files[2];
	size_t given;
	int i;

	policy_attach(object ? policy_open(object, name, cgs[0]) :
			       policy_open_installed(name, cgs[0]));
	for (i = 0; i < 2; i++) {
		files[i] = file_new(NULL, cgs[i] + strlen(cgs[i]) - 1, 9000);
		cg_read_file(cgs[i], files[i], 0, files[i]->nr_pages);
	}
	EXPECT_EQ(cg_reclaim(top, 16 * MiB), 0);
	given = files[0]->nr_pages - file_cached(files[0], NULL);
	diag("%s: %zu pages, fallback %lld", name, given, cg_stat(cgs[0], "evict_fallback"));
	for (i = 0; i < 2; i++) {
		file_drop(files[i]);
		REQUIRE_EQ(cg_remove(cgs[i]), 0);
	}
	REQUIRE_EQ(cg_remove(top), 0);
	return given;
}

/* Who cannot give all of its share gives the rest to stock reclaim, and not all of it once more. */
static void falls_short(bool lru_gen)
{
	(void)lru_gen;
	EXPECT_OP(given_with("watchdog", "whole"), <=, given_with(NULL, "fifo") + 128);
}

static void test_falls_short(void)
{
	with_both_lrus(falls_short);
}

static int fill(void *path)
{
	static char buf[MiB];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), i;

	for (i = 0; i < 300; i++)
		if (write(fd, buf, MiB) != MiB)
			return 1;
	return 0;
}

/* What nobody can evict, and is looked at first: a walk gets no further, whatever there is behind it. */
static void in_the_way(bool lru_gen)
{
	const char *cg = cg_new(NULL, lru_name(lru_gen));
	struct file *file = file_new(NULL, "f", 8 * MiB_PAGES);
	char *mountpoint, *path;
	int i;

	REQUIRE(asprintf(&mountpoint, "%s/ramfs", scratch_dir) > 0);
	REQUIRE(asprintf(&path, "%s/f", mountpoint) > 0);
	REQUIRE(!mkdir(mountpoint, 0700) && !mount("none", mountpoint, "ramfs", 0, NULL));
	policy_start("mru", cg);
	for (i = 0; i < 2; i++)
		cg_read_file(cg, file, i * file->nr_pages / 2, file->nr_pages / 2);
	EXPECT_EQ(cg_run(cg, fill, path), 0);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(cg_reclaim(cg, MiB), 0);
	diag("%lld calls for %lld pages", cg_stat(cg, "evict_calls"), cg_stat(cg, "evict_asked"));
	EXPECT_OP(cg_stat(cg, "evict_calls"), <=, 20);
	EXPECT_STR(cg_policy(cg, "policy"), "mru");

	/* it is asked again when nothing is in the way */
	REQUIRE(!unlink(path) && !umount2(mountpoint, MNT_DETACH) && !rmdir(mountpoint));
	cg_read_file(cg, file, 0, file->nr_pages);
	for (i = 0; i < 400 && !cg_stat(cg, "evict_reclaimed"); i++)
		EXPECT_EQ(cg_reclaim(cg, 16 * PAGE), 0);
	EXPECT_OP(cg_stat(cg, "evict_reclaimed"), >, 0);
}

static void test_in_the_way(void)
{
	with_both_lrus(in_the_way);
}

static const struct test tests[] = {
	{ "only the subtree's folios are taken",		test_subtree },
	{ "fifo evicts the oldest, and no others",		test_fifo_order },
	{ "the kernel's own counters agree",			test_counters },
	{ "a limit holds, without any fallback",		test_limit_one },
	{ "a limit holds with several processes",		test_limit_many, .spread = true },
	{ "a limit of an ancestor",				test_limit_above },
	{ "from above, by generations",				test_generations_from_above },
	{ "what was written is on the disk",			test_dirty,	.spread = true },
	{ "stock reclaim on request",				test_stock_reclaim },
	{ "a protected child is left alone",			test_protected_child },
	{ "a mapping is read once",				test_mapped_once },
	{ "what was read a moment ago can be taken",		test_just_read },
	{ "who falls short gives its share once",		test_falls_short },
	{ "what cannot go is in the way",			test_in_the_way },
};

SUBJECT(reclaim);
