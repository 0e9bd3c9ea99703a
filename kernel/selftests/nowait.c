// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers that must not wait (RWF_NOWAIT), of a file that the policy does not
 * want: they get the right data or EAGAIN, as without a policy.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "admission.h"

#define NR	96

/* In memory that reader and test share. */
struct reader {
	const struct file	*file;
	/* pages that were not there at once; those that were */
	size_t			nr_again, nr_at_once;
};

static bool right(const struct file *file, const uint64_t *words, size_t page)
{
	size_t i;

	/* as file.c fills them */
	for (i = 0; i < PAGE / sizeof(*words); i++)
		if (words[i] != ((uint64_t)file->seed << 48) + page * PAGE / sizeof(*words) + i)
			return false;
	return true;
}

/* Read all pages, one by one and without readahead, each until it is there. */
static int read_nowait(void *arg)
{
	uint64_t words[PAGE / sizeof(uint64_t)];
	struct iovec iov = { words, sizeof(words) };
	struct reader *r = arg;
	size_t i, attempts;
	ssize_t n;
	int fd;

	fd = open(r->file->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		return 1;
	for (i = 0; i < r->file->nr_pages; i++) {
		for (attempts = 0; attempts < 5000; attempts++) {
			n = preadv2(fd, &iov, 1, i * PAGE, RWF_NOWAIT);
			if (n >= 0 || errno != EAGAIN)
				break;
			usleep(1000);
		}
		if (n != PAGE)
			return 2;
		if (!right(r->file, words, i))
			return 3;
		if (attempts)
			r->nr_again++;
		else
			r->nr_at_once++;
	}
	return 0;
}

static struct reader cg_read_nowait(const char *where, const struct file *file)
{
	struct reader *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	REQUIRE(r != MAP_FAILED);
	r->file = file;
	EXPECT_EQ(cg_run(where, read_nowait, r), 0);
	return *r;
}

static const char *slow_dir(void)
{
	return disk_mount(disk_new("slow", 64, 2000), false);
}

static const char *dir;

/*
 * Behind one who reads them.  The use that activates pages has them wait for
 * that, in the batch of a processor, until it is full or drained: they stay.
 */
static bool are_dropped(const struct file *file)
{
	EXPECT_EQ(cg_run(cg, read_sequential, (void *)file), 0);
	return file_cached(file, NULL) == 0;
}

static void rejected(bool lru_gen)
{
	struct file *file = file_new(dir, lru_name(lru_gen), NR);
	const char *without = cg_new(NULL, "without");
	struct reader r;

	r = cg_read_nowait(without, file);
	EXPECT_OP(r.nr_again, >=, NR - NR / 8);
	r = cg_read_nowait(without, file);
	EXPECT_EQ(r.nr_at_once, NR);
	file_forget(file);

	/* the first attempt brings it in, a later one gets it, and drops it */
	set_up("admission", lru_name(lru_gen), ADMIT_NONE);
	r = cg_read_nowait(cg, file);
	EXPECT_OP(r.nr_again, >=, NR - NR / 8);
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(cg_stat(cg, "removed_dropped"), NR);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	EXPECT_EQ(asked(READ, WRITE | FAULT | REUSE), NR);
	/* so that the next one finds nothing */
	r = cg_read_nowait(cg, file);
	EXPECT_OP(r.nr_again, >=, NR - NR / 8);
	EXPECT_EQ(cg_stat(cg, "removed_dropped"), 2 * NR);

	/* what is there does not have to be waited for */
	EXPECT_EQ(cg_run(cg, read_beginnings, file), 0);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), NR);
	r = cg_read_nowait(cg, file);
	EXPECT_EQ(r.nr_at_once, NR);
	EXPECT(EVENTUALLY(are_dropped(file)));
	check_books();
	REQUIRE_EQ(bpf_link__destroy(attachment), 0);
	REQUIRE_EQ(cg_remove(cg), 0);
	REQUIRE_EQ(cg_remove(without), 0);
	unlink(file->path);
}

static void test_rejected(void)
{
	dir = slow_dir();
	with_both_lrus(rejected);
}

static int write_and_start_writeback(void *arg)
{
	struct file *file = arg;
	int fd = open(file->path, O_RDWR | O_CLOEXEC);

	return file_write(file, 0, file->nr_pages) || fd < 0 ||
	       sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

/* Pages that are on their way to the disk are read, and neither waited for nor dropped. */
static void test_writeback(void)
{
	struct file *file = file_new(slow_dir(), "f", NR);
	struct reader r;

	set_up("admission", "a", ADMIT_NONE);
	EXPECT_EQ(cg_run(cg, write_and_start_writeback, file), 0);
	r = cg_read_nowait(cg, file);
	EXPECT_EQ(r.nr_at_once, NR);
	EXPECT_EQ(cg_stat(cg, "removed_dropped") + cg_stat(cg, "rejected_pages"), NR);
	/* later they are dropped like all others; memory.stat may be late to say that it is over */
	file_sync(file);
	EXPECT(EVENTUALLY(are_dropped(file)));
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	check_books();
}

static const struct test tests[] = {
	{ "of rejected folios",					test_rejected },
	{ "of folios under writeback",				test_writeback },
};

SUBJECT(nowait);
