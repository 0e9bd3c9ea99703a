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

static const struct test tests[] = {
	{ "a full cgroup pays for its entries",	test_full, .spread = true },
};

SUBJECT(memory);
