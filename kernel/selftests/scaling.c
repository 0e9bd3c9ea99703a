// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do readers in one cgroup get in each other's way?  Measures 4 KiB reads that
 * hit the page cache, by one reader and by two on processors of their own:
 *
 *	cachebpf-scaling ROUNDS MILLISECONDS [POLICY...]
 *
 * prints "POLICY READERS READS-PER-SECOND" for each turn of a measurement, for
 * one reader and right after it for two, so that what disturbs the machine for
 * a while disturbs both; and the policies ("none" is always the first) take
 * turns.  bench/scaling compares that with the stock kernel's, where this runs
 * with "none" alone.
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include "selftest.h"

#define FILE_PAGES	(64 * MiB_PAGES)
#define MAX_READERS	2
#define TURNS		6

struct reader {
	const struct file	*file;
	pthread_barrier_t	*ready;
	const bool		*stop;
	int			cpu;
	unsigned long		reads;
};

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void *read_hits(void *arg)
{
	struct reader *r = arg;
	unsigned int random = r->cpu + 1;
	unsigned long reads = 0;
	cpu_set_t cpus;
	char page[PAGE];
	int fd;

	CPU_ZERO(&cpus);
	CPU_SET(r->cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	fd = open(r->file->path, O_RDONLY | O_CLOEXEC);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	pthread_barrier_wait(r->ready);
	while (!__atomic_load_n(r->stop, __ATOMIC_RELAXED)) {
		random = random * 1103515245 + 12345;
		if (pread(fd, page, PAGE, (random >> 4) % FILE_PAGES * PAGE) != PAGE)
			break;
		reads++;
	}
	close(fd);
	r->reads = reads;
	return NULL;
}

static double reads_per_second(const struct file *file, int nr_readers, unsigned int ms)
{
	struct reader readers[MAX_READERS];
	pthread_t threads[MAX_READERS];
	pthread_barrier_t ready;
	unsigned long reads = 0;
	bool stop = false;
	double begin, end;
	int i;

	pthread_barrier_init(&ready, NULL, nr_readers + 1);
	for (i = 0; i < nr_readers; i++) {
		readers[i] = (struct reader) {
			.file = file, .ready = &ready, .stop = &stop, .cpu = i,
		};
		REQUIRE(!pthread_create(&threads[i], NULL, read_hits, &readers[i]));
	}
	pthread_barrier_wait(&ready);
	begin = seconds();
	usleep(ms * 1000);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	end = seconds();
	for (i = 0; i < nr_readers; i++) {
		pthread_join(threads[i], NULL);
		reads += readers[i].reads;
	}
	pthread_barrier_destroy(&ready);
	return reads / (end - begin);
}

struct measurement {
	const struct file	*file;
	const char		*policy;
	unsigned int		ms;
};

/* In the cgroup. */
static int measure(void *arg)
{
	struct measurement *m = arg;
	int turn, i;

	if (file_read(m->file, 0, FILE_PAGES) || file_read(m->file, 0, FILE_PAGES))
		return 1;
	for (turn = 0; turn < TURNS; turn++)
		for (i = 0; i < MAX_READERS; i++)
			printf("%s %d %.0f\n", m->policy, i + 1,
			       reads_per_second(m->file, i + 1, m->ms / TURNS));
	fflush(stdout);
	return 0;
}

static void measure_with(const char *policy, struct measurement *m)
{
	const char *cg = cg_new(NULL, policy);
	struct bpf_link *link = NULL;

	m->policy = policy;
	if (strcmp(policy, "none"))
		link = policy_start(policy, cg);
	file_forget(m->file);
	REQUIRE_EQ(cg_run(cg, measure, m), 0);
	if (link) {
		EXPECT_EQ(cg_stat(cg, "managed_pages"), FILE_PAGES);
		bpf_link__destroy(link);
	}
	cg_remove(cg);
}

int main(int argc, char **argv)
{
	char exe[PATH_MAX] = "";
	struct measurement m;
	int round, i;

	if (argc < 3 || readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return 2;
	objects_dir = dirname(exe);
	if (cg_setup())
		return 1;
	m.file = file_new(NULL, "f", FILE_PAGES);
	m.ms = atoi(argv[2]);
	for (round = 0; round < atoi(argv[1]); round++) {
		measure_with("none", &m);
		for (i = 3; i < argc; i++)
			measure_with(argv[i], &m);
	}
	files_cleanup();
	cg_cleanup();
	conclude();
}
