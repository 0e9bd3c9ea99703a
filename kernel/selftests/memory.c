// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a policy costs in memory, and who pays: the folio table's entries are
 * charged to the cgroup whose folios they are for.  For a kernel whose slabs
 * have nothing added for debugging.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "selftest.h"

#define CACHED		(512 * MiB)
/* of what is cached, in per cent */
#define MOST		1.0
/* what memory.stat lags behind, and what else a process allocates */
#define NOISE		(256L << 10)

/* What is cached of a disk goes when it is closed. */
static int fill_and_hold(void *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	static char buf[MiB];
	size_t done;

	for (done = 0; done < CACHED; done += MiB)
		if (pread(fd, buf, MiB, done) != (ssize_t)MiB)
			return 1;
	for (;;)
		pause();
}

static long long in_use(const char *cg, const char *what)
{
	return cg_key(cg, "memory.stat", what);
}

/* Does the counter stay the same for longer than its kernel takes to collect it? */
static bool has_settled(const char *cg, const char *what)
{
	long long was = in_use(cg, what);

	usleep(2500000);
	return in_use(cg, what) == was;
}

/* Bytes of slab memory that are charged to a cgroup full of page cache. */
static long long slab_of_full(const char *cg, char *disk)
{
	pid_t pid = cg_start(cg, fill_and_hold, disk);
	long long slab;

	REQUIRE(EVENTUALLY(in_use(cg, "file") >= (long long)CACHED));
	REQUIRE(EVENTUALLY(has_settled(cg, "slab")));
	slab = in_use(cg, "slab");
	EXPECT_EQ(kill(pid, SIGKILL), 0);
	waitpid(pid, NULL, 0);
	return slab;
}

static void test_full(void)
{
	const char *without = cg_new(NULL, "without"), *with = cg_new(NULL, "with");
	char *disk = disk_new("zero", CACHED / MiB, 0);
	long long before, after, more;

	before = slab_of_full(without, disk);
	policy_start("lfu", with);
	after = slab_of_full(with, disk);
	more = after - before;
	diag("%lu MiB cached: %lld KiB of slabs without a policy, %lld with one: %+.3f %%",
	     CACHED / MiB, before >> 10, after >> 10, 100.0 * more / CACHED);
	EXPECT_OP(more, >, 0);
	EXPECT(100.0 * more / CACHED <= MOST);

	/* and it goes with the folios */
	EXPECT(EVENTUALLY(cg_stat(with, "managed_pages") == 0));
	EXPECT(EVENTUALLY(in_use(with, "slab") <= NOISE));
}

/* Pages of the cgroup under test, and how many of others come between two of them. */
#define NR_SPARSE	(16 * MiB_PAGES)
#define GAP		15
/* of what is cached, in per cent, however the folios lie */
#define MOST_SPARSE	4.0

/*
 * Bytes of slab memory that are charged to @cg when of 16 page frames it has
 * one, and @other has the rest.
 */
static long long slab_of_sparse(const char *cg, const char *other)
{
	struct file *few = file_hole(cg_name(cg), NR_SPARSE);
	struct file *rest = file_hole(cg_name(other), NR_SPARSE * GAP);
	struct page_reader *one = page_reader_start(cg, few, false);
	struct page_reader *many = page_reader_start(other, rest, false);
	long long nr_bytes = NR_SPARSE * PAGE;
	size_t i;

	for (i = 0; i < NR_SPARSE; i++) {
		REQUIRE(page_reader_next(one, 1));
		REQUIRE(page_reader_next(many, GAP));
	}
	REQUIRE(EVENTUALLY(in_use(cg, "file") == nr_bytes));
	REQUIRE(EVENTUALLY(has_settled(cg, "slab")));
	return in_use(cg, "slab");
}

static void test_sparse(void)
{
	const char *without = cg_new(NULL, "without"), *with = cg_new(NULL, "with");
	long long before, after, more, managed, unmanaged, bytes = NR_SPARSE * PAGE;

	before = slab_of_sparse(without, cg_new(NULL, "beside-without"));
	policy_start("lfu", with);
	after = slab_of_sparse(with, cg_new(NULL, "beside-with"));
	more = after - before;
	managed = cg_stat(with, "managed_pages");
	unmanaged = cg_stat(with, "unmanaged");
	diag("%lld MiB cached, one page in %d: %lld KiB of slabs without a policy, %lld with one: %+.2f %%; %lld pages managed, %lld not",
	     bytes >> 20, GAP + 1, before >> 10, after >> 10, 100.0 * more / bytes, managed,
	     unmanaged);
	EXPECT(100.0 * more / bytes <= MOST_SPARSE);
	EXPECT_EQ(managed, NR_SPARSE);
	EXPECT_EQ(unmanaged, 0);
}

/* the kernel has no more reports in five seconds */
#define NR_ATTEMPTS	10
#define OOM		"invoked oom-killer"

/* What the kernel has to say from now on, without waiting for more. */
static int open_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(lseek(fd, 0, SEEK_END) >= 0);
	return fd;
}

/* Do reports of the OOM killer name @function as who called it, and how many are there? */
static bool reports_name(int fd, const char *function, int *nr_reports)
{
	char record[8192];
	bool found = false;
	ssize_t n;

	while ((n = read(fd, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		record[n] = '\0';
		*nr_reports += strstr(record, OOM) != NULL;
		/* what is behind a question mark was left on the stack by somebody else */
		if (strstr(record, function) && !strstr(record, "? "))
			found = true;
	}
	return found;
}

/*
 * Folios that cannot go, until there is no memory left in the cgroup: to have an
 * entry is not worth that somebody dies.  Each needs a block of its own, and the
 * limit is another one each time, so that it is an entry's turn to be the first
 * that does not fit.
 */
static void test_no_kill(void)
{
	int i, nr, nr_reports = 0, nr_by_entries = 0, fd = open_log();

	for (i = 0; i < NR_ATTEMPTS; i++) {
		struct page_reader *one, *many;
		const char *cg, *other;
		char name[64];

		snprintf(name, sizeof(name), "attempt-%d", i);
		cg = cg_new(NULL, name);
		policy_start("lfu", cg);
		one = page_reader_start(cg, file_hole(name, 4096), true);
		snprintf(name, sizeof(name), "beside-%d", i);
		other = cg_new(NULL, name);
		many = page_reader_start(other, file_hole(name, 4096 * GAP), false);
		for (nr = 0; nr < 64; nr++)
			REQUIRE(page_reader_next(one, 1) && page_reader_next(many, GAP));
		snprintf(name, sizeof(name), "%lld",
			 cg_number(cg, "memory.current") + (32 + i) * (long long)PAGE);
		REQUIRE_EQ(cg_write(cg, "memory.max", name), 0);
		while (nr++ < 4096 && page_reader_next(one, 1))
			REQUIRE(page_reader_next(many, GAP));
		EXPECT_EQ(cg_wait(one->pid), -EINTR);
		EXPECT_EQ(cg_key(cg, "memory.events", "oom_kill"), 1);
		nr_by_entries += reports_name(fd, "cachebpf_block_new", &nr_reports);
		EXPECT_EQ(kill(many->pid, SIGKILL), 0);
		cg_wait(many->pid);
		unlink(one->file->path);
		unlink(many->file->path);
	}
	diag("%d of %d reports of the OOM killer are for want of an entry", nr_by_entries,
	     nr_reports);
	EXPECT_OP(nr_reports, >=, NR_ATTEMPTS / 2);
	EXPECT_EQ(nr_by_entries, 0);
}

static const struct test tests[] = {
	{ "a full cgroup pays for its entries",	test_full, .spread = true },
	/* in the order in which one processor has its pages */
	{ "one page here and there",		test_sparse },
	{ "nobody is killed for an entry",	test_no_kill },
};

SUBJECT(memory);
