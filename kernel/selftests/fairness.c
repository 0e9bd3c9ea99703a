// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pressure of the whole system on two cgroups without limits: does it make a
 * difference to either of them that one has a policy?
 *
 * Both read a file of their own in circles, page by page, and fit into memory
 * together, until somebody outside takes more and more of it for good.  All of
 * them work in step, by amount and not by time, so that a busy machine has the
 * same figures.  Runs without a policy and with one take turns, and medians are
 * compared.  For a machine like that of TEST-45-fairness.sh.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "selftest.h"

/* of memory, in per cent: a file; what is taken for good */
#define FILE_PERCENT	31
#define HOG_PERCENT	37
/* read by each reader in a step, in pages, and taken meanwhile */
#define STEP		MiB_PAGES
#define HOG_STEP	(MiB_PAGES / 2)
/* circles before it begins, and when all of it is taken */
#define WARM_UP		1
#define HOLD		2
/* one step in so many of those is looked at */
#define SAMPLED		16
#define ROUNDS		3
/*
 * How much more or less than without a policy a cgroup may keep, in per cent.
 * The aims are 10, and 20 for lfu, see below.  Under generations fifo is at 9, and
 * medians of so few runs differ by some MiB in 230, which is a per cent or two.
 */
#define MOST_OFF	12
#define MOST_OFF_LFU	25

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

enum { WITH, BESIDE, HOG, NR_WORKERS };

struct worker {
	const char	*cg;
	const char	*path;
	size_t		nr_pages;
	int		orders[2];
	int		answers[2];
	pid_t		pid;
};

/* What a cgroup keeps while all is taken, on average, and what it had to read again until then. */
struct result {
	long long	kept;
	long long	refaults;
};

static size_t page_of(struct worker *w, size_t done)
{
	return done % w->nr_pages;
}

/* An order is a number of pages to be read, or taken; the next ones each. */
static int work(void *arg)
{
	struct worker *w = arg;
	int fd = w->path ? open(w->path, O_RDONLY | O_CLOEXEC) : -1;
	char *memory = NULL;
	size_t nr, done = 0;
	char byte;

	close(w->orders[1]);
	if (w->path ? fd < 0 : write_text("/proc/self/oom_score_adj", "1000"))
		return 1;
	if (!w->path) {
		memory = mmap(NULL, w->nr_pages * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED || madvise(memory, w->nr_pages * PAGE, MADV_NOHUGEPAGE))
			return 2;
	}
	while (read(w->orders[0], &nr, sizeof(nr)) == sizeof(nr)) {
		for (; nr; nr--, done++) {
			if (memory && done < w->nr_pages)
				memory[done * PAGE] = 1;
			if (!memory && pread(fd, &byte, 1, page_of(w, done) * PAGE) != 1)
				return 3;
		}
		if (write(w->answers[1], &done, sizeof(done)) != sizeof(done))
			return 4;
	}
	return 0;
}

static void hire(struct worker *w)
{
	REQUIRE(!pipe2(w->orders, O_CLOEXEC) && !pipe2(w->answers, O_CLOEXEC));
	w->pid = cg_start(w->cg, work, w);
	close(w->orders[0]);
	close(w->answers[1]);
}

static void dismiss(struct worker *w)
{
	close(w->orders[1]);
	close(w->answers[0]);
	EXPECT_EQ(cg_wait(w->pid), 0);
	REQUIRE_EQ(cg_remove(w->cg), 0);
}

/* All of them at once; each is done when the next step begins. */
static void step(struct worker *workers, size_t hog_pages)
{
	size_t i, nr;

	for (i = 0; i < NR_WORKERS; i++) {
		nr = i == HOG ? hog_pages : STEP;
		REQUIRE(write(workers[i].orders[1], &nr, sizeof(nr)) == sizeof(nr));
	}
	for (i = 0; i < NR_WORKERS; i++)
		REQUIRE(read(workers[i].answers[0], &nr, sizeof(nr)) == sizeof(nr));
}

static size_t pages_of_memory(void)
{
	char *value = flat_key(read_text("/proc/meminfo"), "MemTotal:");

	REQUIRE(value != NULL);
	return strtoull(value, NULL, 10) * 1024 / PAGE;
}

/* Holes are read through the page cache like all else, and ask no disk to be quick. */
static const char *new_file(const char *name, size_t nr_pages)
{
	struct file *file = file_empty(name, nr_pages);

	REQUIRE(!truncate(file->path, nr_pages * PAGE));
	return file->path;
}

static long long kept(const struct worker *w)
{
	return cg_key(w->cg, "memory.stat", "file") / (long long)PAGE;
}

/* One run; @policy: NULL for none. */
static void run(const char *policy, struct result results[2])
{
	struct worker workers[NR_WORKERS] = {};
	size_t i, nr, memory = pages_of_memory(), circle = memory * FILE_PERCENT / 100 / STEP;
	long long kswapd = cg_key("/proc", "vmstat", "pgsteal_kswapd");
	long long direct = cg_key("/proc", "vmstat", "pgsteal_direct");
	struct bpf_link *link = NULL;

	for (i = 0; i < NR_WORKERS; i++) {
		static const char *const names[] = { "with", "beside", "hog" };

		workers[i].cg = cg_new(NULL, names[i]);
		workers[i].nr_pages = circle * STEP;
		if (i != HOG)
			workers[i].path = new_file(names[i], workers[i].nr_pages);
		else
			workers[i].nr_pages = memory * HOG_PERCENT / 100;
	}
	if (policy)
		link = policy_start(policy, workers[WITH].cg);
	REQUIRE(!write_text("/proc/sys/vm/drop_caches", "3"));
	for (i = 0; i < NR_WORKERS; i++)
		hire(&workers[i]);

	for (i = 0; i < WARM_UP * circle; i++)
		step(workers, 0);
	for (nr = 0; nr < workers[HOG].nr_pages; nr += HOG_STEP)
		step(workers, HOG_STEP);
	memset(results, 0, 2 * sizeof(*results));
	for (nr = 0; nr < HOLD * circle; nr++) {
		step(workers, 0);
		for (i = 0; i < HOG && nr % SAMPLED == 0; i++)
			results[i].kept += kept(&workers[i]);
	}
	for (i = 0; i < HOG; i++) {
		results[i].kept /= DIV_ROUND_UP(HOLD * circle, SAMPLED);
		results[i].refaults = cg_key(workers[i].cg, "memory.stat",
					     "workingset_refault_file");
	}
	diag("%-5s %4lld and %4lld MiB kept, at the end %4lld and %4lld; refaults: %6lld and %6lld; kswapd %6lld, direct %6lld",
	     policy ?: "none", results[0].kept / (long long)MiB_PAGES,
	     results[1].kept / (long long)MiB_PAGES, kept(&workers[0]) / (long long)MiB_PAGES,
	     kept(&workers[1]) / (long long)MiB_PAGES, results[0].refaults, results[1].refaults,
	     cg_key("/proc", "vmstat", "pgsteal_kswapd") - kswapd,
	     cg_key("/proc", "vmstat", "pgsteal_direct") - direct);
	if (link)
		REQUIRE_EQ(bpf_link__destroy(link), 0);
	/* the last one first: it has the ends of the others' pipes as well */
	for (i = NR_WORKERS; i--;) {
		dismiss(&workers[i]);
		if (workers[i].path)
			unlink(workers[i].path);
	}
}

static int by_size(const void *a, const void *b)
{
	const long long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static long long median(long long *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), by_size);
	return values[nr / 2];
}

static void fairness(bool lru_gen)
{
	/*
	 * A policy that misses less brings in less, and so keeps less under the same
	 * pressure: how far off a cgroup with one may be.
	 */
	static const char *const policies[] = { NULL, "fifo", "lfu" };
	static const int most_off[] = { 0, MOST_OFF, MOST_OFF_LFU };
	static const char *const whose[] = { "the cgroup with it", "its neighbour" };
	long long all[ARRAY_SIZE(policies)][2][ROUNDS], without[2], with;
	struct result results[2];
	size_t round, i, j;

	diag("%s, %zu MiB of memory", lru_name(lru_gen), pages_of_memory() / MiB_PAGES);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < ARRAY_SIZE(policies); i++) {
			alarm(1800);
			run(policies[i], results);
			for (j = 0; j < 2; j++)
				all[i][j][round] = results[j].kept;
		}
	}
	for (j = 0; j < 2; j++)
		without[j] = median(all[0][j], ROUNDS);
	for (i = 1; i < ARRAY_SIZE(policies); i++) {
		for (j = 0; j < 2; j++) {
			with = median(all[i][j], ROUNDS);
			expect(llabs(with - without[j]) * 100 <= most_off[i] * without[j],
			       __FILE__, __LINE__,
			       "%s: %s: %s keeps %lld pages, and %lld without a policy: %+.1f %%",
			       lru_name(lru_gen), policies[i], whose[j], with, without[j],
			       100.0 * (with - without[j]) / without[j]);
		}
	}
}

static void need_small_machine(void)
{
	if (pages_of_memory() > (2UL << 30) / PAGE)
		skip("this machine has a lot of memory");
}

static void test_classic(void)
{
	need_small_machine();
	with_lru(false, fairness);
}

static void test_mglru(void)
{
	need_small_machine();
	with_lru(true, fairness);
}

static const struct test tests[] = {
	{ "classic LRU",	test_classic,	.spread = true },
	{ "generations",	test_mglru,	.spread = true },
};

SUBJECT(fairness);
