// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory pressure of the whole system: nobody's limit is hit, kswapd and
 * whoever allocates reclaim from all cgroups, and a policy is asked for its
 * share of that.
 */
#include <sys/mman.h>

#include "admission.h"

#define NR		(16 * MiB_PAGES)
/* what that needs, and hardly anything for others to inherit: 18 MiB */
#define MIN		"18874368"
/* what the hog does not take at once of the memory that is free */
#define MARGIN		(160 * MiB)
#define STEP		(2 * MiB)

static long long meminfo(const char *key)
{
	char *value = flat_key(read_text("/proc/meminfo"), key);

	REQUIRE(value != NULL);
	return strtoll(value, NULL, 10) * 1024;
}

/* Pages that reclaim of the whole system has brought. */
static long long stolen(void)
{
	return cg_key("/proc", "vmstat", "pgsteal_kswapd") +
	       cg_key("/proc", "vmstat", "pgsteal_direct");
}

/* bytes, in memory that parent and child share */
struct hog {
	size_t	taken;
	/* all that was free, and more */
	size_t	wanted;
};

/*
 * Take all memory that is free, in huge pages, and then piece by piece as much
 * as is wanted, so that it has to be taken from somebody else.
 */
static int take_memory(void *arg)
{
	size_t size = meminfo("MemFree:"), begin = size - MARGIN;
	volatile struct hog *hog = arg;
	char *memory;

	if (write_text("/proc/self/oom_score_adj", "1000"))
		return 1;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || madvise(memory, begin, MADV_HUGEPAGE))
		return 2;
	hog->wanted = begin;
	while (hog->taken + STEP <= size) {
		if (hog->taken >= hog->wanted) {
			usleep(10000);
			continue;
		}
		if (madvise(memory + hog->taken, STEP, MADV_POPULATE_WRITE))
			return 3;
		hog->taken += STEP;
	}
	pause();
	return 0;
}

/* Is nobody in the middle of reclaiming something of @with? */
static bool is_over(const char *with)
{
	long long before = stolen();

	usleep(300000);
	return stolen() == before &&
	       cg_stat(with, "removed_reclaim") == cg_stat(with, "evict_reclaimed");
}

/*
 * Let somebody outside of the test's cgroups take what is there, and then more,
 * until @with was asked for something and @nr pages were reclaimed.
 */
static void press(const char *with, long long nr)
{
	const char *outside = cg_new(NULL, "hog");
	long long before = stolen(), last = 0;
	volatile struct hog *hog;
	pid_t pid;
	int i;

	hog = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(hog != MAP_FAILED);
	pid = cg_start(outside, take_memory, (void *)hog);
	/* a debug kernel takes its time */
	for (i = 0; i < 2000; i++) {
		if (stolen() - before >= nr && cg_stat(with, "evict_reclaimed"))
			break;
		/* a bit more, when nothing happens any more: too much, and somebody is killed */
		if (stolen() == last && hog->wanted && hog->taken >= hog->wanted)
			hog->wanted += STEP;
		last = stolen();
		usleep(25000);
	}
	EXPECT_EQ(cg_write(outside, "cgroup.kill", "1"), 0);
	EXPECT_EQ(cg_wait(pid), -EINTR);
	EXPECT(EVENTUALLY(is_over(with)));
	diag("%zu MiB taken, %lld pages reclaimed", hog->taken / MiB, stolen() - before);
	REQUIRE_EQ(cg_remove(outside), 0);
}

/*
 * The first pages of the file went; some of them may be left, which somebody
 * else had just then: compaction, which wants large pages for the hog and for
 * kswapd, has this many at a time.
 */
#define COMPACT_CLUSTER	32
static size_t expect_fifo(const struct file *file)
{
	static bool cached[NR];
	size_t i, last, nr_cached = file_cached(file, cached), nr_before = 0;

	for (last = file->nr_pages; last && cached[last - 1]; last--)
		;
	for (i = 0; i < last; i++)
		nr_before += cached[i];
	expect(nr_before <= COMPACT_CLUSTER, __FILE__, __LINE__,
	       "%zu pages are left before page %zu, which went", nr_before, last - 1);
	return nr_cached;
}

/*
 * Three cgroups with as much in the cache: one with a policy, one with a
 * policy and protected, one without either.
 */
static void shared_pressure(bool lru_gen)
{
	const char *top = cg_new(NULL, lru_name(lru_gen));
	const char *with = cg_new(top, "with"), *protected = cg_new(top, "protected");
	const char *without = cg_new(top, "without");
	struct file *fw = file_new(NULL, "with", NR), *fp = file_new(NULL, "protected", NR);
	struct file *fo = file_new(NULL, "without", NR);
	struct bpf_link *links[2] = { policy_start("fifo", with), policy_start("mru", protected) };
	long long left, left_without;

	REQUIRE_EQ(cg_write(scratch_cgroup, "memory.min", MIN), 0);
	REQUIRE_EQ(cg_write(top, "memory.min", MIN), 0);
	REQUIRE_EQ(cg_write(protected, "memory.min", MIN), 0);
	/* little else is there to be reclaimed */
	REQUIRE(!write_text("/proc/sys/vm/drop_caches", "1"));
	EXPECT_EQ(cg_run(without, read_sequential, fo), 0);
	EXPECT_EQ(cg_run(with, read_sequential, fw), 0);
	EXPECT_EQ(cg_run(protected, read_sequential, fp), 0);
	press(with, 3 * MiB_PAGES);

	left = expect_fifo(fw);
	left_without = file_cached(fo, NULL);
	diag("%s: %lld with, %lld without policy left of %lu; asked %lld, reclaimed %lld, fallback %lld",
	     lru_name(lru_gen), left, left_without, NR, cg_stat(with, "evict_asked"),
	     cg_stat(with, "evict_reclaimed"), cg_stat(with, "evict_fallback"));
	/* the policy was asked, and gave what it was asked for; */
	EXPECT_OP(left, <, (long long)NR);
	EXPECT_EQ(cg_stat(with, "managed_pages"), left);
	EXPECT_EQ(cg_stat(with, "removed_reclaim"), (long long)NR - left);
	EXPECT_EQ(cg_stat(with, "evict_reclaimed"), (long long)NR - left);
	EXPECT(EVENTUALLY(cg_key(with, "memory.stat", "pgsteal") == (long long)NR - left));
	/* not for everything, which the others have to give some of; */
	EXPECT_OP(left, >, 0);
	EXPECT_OP(left_without, <, (long long)NR);
	EXPECT_EQ(cg_stat(with, "evict_fallback"), 0);
	/*
	 * and what is protected was left alone.  (With generations kswapd is who
	 * finds out what is, and somebody else may have been faster.)
	 */
	EXPECT_OP(file_cached(fp, NULL), >=, NR - (lru_gen ? NR / 16 : 0));
	EXPECT_EQ(cg_stat(protected, "removed_reclaim"), NR - file_cached(fp, NULL));
	EXPECT_BOOKS();

	REQUIRE_EQ(cg_write(scratch_cgroup, "memory.min", "0"), 0);
	REQUIRE_EQ(bpf_link__destroy(links[0]), 0);
	REQUIRE_EQ(bpf_link__destroy(links[1]), 0);
	unlink(fw->path);
	unlink(fp->path);
	unlink(fo->path);
}

static void test_shared_pressure(void)
{
	/* it has to be filled */
	if (meminfo("MemTotal:") > 3LL << 30)
		skip("this machine has a lot of memory");
	with_both_lrus(shared_pressure);
}

static const struct test tests[] = {
	{ "everybody gives a share of it",			test_shared_pressure },
};

SUBJECT(global);
