// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cgroup below the policy's that has a limit of its own: what it costs there
 * does not depend on what its siblings have cached, and these are not disordered.
 *
 * The environment variable CACHEBPF_TEST_BARS makes the sibling 1 GiB, and
 * "enforce" makes the times a matter of passing: for a machine whose clock counts
 * instructions (TEST-33-live.sh).
 */
#include <dirent.h>
#include <fcntl.h>
#include <time.h>

#include "selftest.h"

#define LIMIT		"16777216"
#define NR_READ		(64 * MiB_PAGES)
#define MAX_RATIO	1.10

static int read_twice(void *file)
{
	return file_read_through(file) ?: file_read_through(file);
}

/* Nanoseconds a miss of the cgroup @child at its limit, under the policy of @top. */
static double ns_per_miss(const char *top, const char *child, struct file *file)
{
	long long misses = cg_stat(top, "misses");
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	EXPECT_EQ(cg_run(child, read_twice, file), 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	misses = cg_stat(top, "misses") - misses;
	REQUIRE(misses > (long long)NR_READ);
	return ((end.tv_sec - begin.tv_sec) * 1e9 + end.tv_nsec - begin.tv_nsec) / misses;
}

/* @top has a child with a limit, @busy one as well, and another one with much cached. */
static void compare(const char *name, const char *top, const char *busy)
{
	const char *bars = getenv("CACHEBPF_TEST_BARS");
	const char *alone = cg_new(top, name), *beside = cg_new(busy, name);
	struct file *file = file_hole(name, NR_READ);
	struct bpf_link *links[2] = { policy_start(name, top), policy_start(name, busy) };
	double ns[2];

	REQUIRE_EQ(cg_write(alone, "memory.max", LIMIT), 0);
	REQUIRE_EQ(cg_write(beside, "memory.max", LIMIT), 0);
	ns[0] = ns_per_miss(top, alone, file);
	file_forget(file);
	ns[1] = ns_per_miss(busy, beside, file);
	diag("%s: %.0f ns a miss alone, %.0f beside a large sibling: %.3f", name, ns[0], ns[1],
	     ns[1] / ns[0]);
	if (bars && !strcmp(bars, "enforce"))
		expect(ns[1] <= MAX_RATIO * ns[0], __FILE__, __LINE__, "%s: %.3f times as long",
		       name, ns[1] / ns[0]);
	EXPECT_EQ(bpf_link__destroy(links[0]), 0);
	EXPECT_EQ(bpf_link__destroy(links[1]), 0);
	unlink(file->path);
}

static void test_cost(void)
{
	const char *top = cg_new(NULL, "top"), *busy = cg_new(NULL, "busy");
	const char *sibling = cg_new(busy, "sibling");
	struct file *file = file_hole("sibling", (getenv("CACHEBPF_TEST_BARS") ? 1024 : 64) * MiB_PAGES);
	DIR *dir = opendir(policies_dir);
	struct dirent *entry;
	int nr = 0;
	char *end;

	REQUIRE_EQ(cg_run(sibling, file_read_through, file), 0);
	while (dir && (entry = readdir(dir))) {
		end = strstr(entry->d_name, ".bpf.o");
		if (!end || end[strlen(".bpf.o")])
			continue;
		compare(strndup(entry->d_name, end - entry->d_name), top, busy);
		nr++;
	}
	EXPECT_OP(nr, >=, 12);
	EXPECT_EQ(file_cached(file, NULL), file->nr_pages);
}

/* Those that evict in the order of arrival still do so when a sibling was at its limit for long. */
static void test_order(void)
{
	enum { NR = 16 * MiB_PAGES };
	static const char *const names[] = { "fifo", "s3fifo" };
	static bool cached[NR];
	size_t i, j, first;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const char *top = cg_new(NULL, names[i]);
		const char *sibling = cg_new(top, "sibling"), *child = cg_new(top, "child");
		struct file *old = file_new(NULL, names[i], NR), *file = file_hole("f", 16 * MiB_PAGES);
		struct bpf_link *link = policy_start(names[i], top);

		REQUIRE_EQ(cg_write(child, "memory.max", "4194304"), 0);
		cg_read_file(sibling, old, 0, NR);
		EXPECT_EQ(cg_run(child, read_twice, file), 0);
		EXPECT_EQ(file_cached(old, NULL), NR);

		EXPECT_EQ(cg_reclaim(top, 4 * MiB), 0);
		file_cached(old, cached);
		for (first = 0; first < NR && !cached[first]; first++)
			;
		EXPECT_OP(first, >=, 4 * MiB_PAGES);
		for (j = first; j < NR; j++)
			if (!expect(cached[j], __FILE__, __LINE__,
				    "%s: page %zu was evicted before page %zu", names[i], j, first))
				break;
		EXPECT_EQ(cg_stat(top, "evict_fallback"), 0);
		EXPECT_BOOKS();
		EXPECT_EQ(bpf_link__destroy(link), 0);
		unlink(file->path);
	}
}

static const struct test tests[] = {
	{ "a child at its limit costs what it costs alone",	test_cost },
	{ "a child at its limit does not disorder its siblings", test_order },
};

SUBJECT(limits);
