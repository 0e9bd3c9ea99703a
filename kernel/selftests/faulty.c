// SPDX-License-Identifier: GPL-2.0-only
/*
 * A disk with errors: whoever reads gets the error where it is, and the right
 * data everywhere else, whatever a policy thinks of the file.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "admission.h"

#define NR		64
#define MAX_READS	1024

static const size_t bad_pages[] = { 5, 40, 41, NR - 1 };

static const char *disk;

/* Let the disk have errors, or none again, where the @bad_pages of @file are. */
static void break_disk(const struct file *file, bool bad)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC), block;
	size_t i;

	REQUIRE(fd >= 0);
	for (i = 0; i < ARRAY_SIZE(bad_pages); i++) {
		block = bad_pages[i];
		REQUIRE(!ioctl(fd, FIBMAP, &block) && block);
		disk_set_bad(disk, block, bad);
	}
	close(fd);
}

/* A file on a disk that can have errors. */
static struct file *new_file(void)
{
	disk = disk_new("faulty", 64, 1000);
	return file_new(disk_mount(disk, false), "f", NR);
}

/* What one process saw, in memory that it shares with the test. */
struct reads {
	const struct file	*file;
	size_t			size;
	bool			backwards;
	size_t			nr;
	/* bytes, or an errno as a negative number */
	ssize_t			results[MAX_READS];
};

static bool right(const struct file *file, const char *data, size_t size, loff_t pos)
{
	uint64_t word;
	size_t i;

	/* as file.c fills them */
	for (i = -pos % sizeof(word); i + sizeof(word) <= size; i += sizeof(word)) {
		memcpy(&word, data + i, sizeof(word));
		if (word != ((uint64_t)file->seed << 48) + (pos + i) / sizeof(word))
			return false;
	}
	return true;
}

static int do_reads(void *arg)
{
	const loff_t end = NR * PAGE, page = PAGE;
	struct reads *r = arg;
	char *buffer;
	loff_t pos;
	ssize_t n;
	int fd;

	fd = open(r->file->path, O_RDONLY | O_CLOEXEC);
	buffer = malloc(r->size);
	if (fd < 0 || !buffer)
		return 1;
	if (r->backwards)
		for (pos = end - r->size; pos >= 0 && r->nr < MAX_READS; pos -= r->size) {
			n = pread(fd, buffer, r->size, pos);
			if (n > 0 && !right(r->file, buffer, n, pos))
				return 2;
			r->results[r->nr++] = n < 0 ? -errno : n;
		}
	else
		for (pos = 0; pos < end && r->nr < MAX_READS;) {
			n = pread(fd, buffer, r->size, pos);
			if (n > 0 && !right(r->file, buffer, n, pos))
				return 2;
			r->results[r->nr++] = n < 0 ? -errno : n;
			/* beyond the page that is bad */
			pos = n > 0 ? pos + n : (pos / page + 1) * page;
		}
	return 0;
}

static struct reads *cg_reads(const char *where, const struct file *file, size_t size,
			      bool backwards)
{
	struct reads *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	REQUIRE(r != MAP_FAILED);
	r->file = file;
	r->size = size;
	r->backwards = backwards;
	REQUIRE_EQ(cg_run(where, do_reads, r), 0);
	return r;
}

/* Exactly the bad pages are errors, and nothing before them is missing. */
static void check_reads(const struct reads *r)
{
	size_t i, errors = 0, bytes = 0;

	for (i = 0; i < r->nr; i++) {
		if (r->results[i] > 0)
			bytes += r->results[i];
		else if (EXPECT_EQ(r->results[i], -EIO))
			errors++;
		else
			break;
	}
	EXPECT_EQ(errors, ARRAY_SIZE(bad_pages));
	EXPECT_EQ(bytes, (NR - ARRAY_SIZE(bad_pages)) * PAGE);
}

static void compare_reads(const struct reads *stock, const struct reads *r)
{
	size_t i;

	EXPECT_EQ(r->nr, stock->nr);
	for (i = 0; i < r->nr && i < stock->nr; i++)
		if (!expect(r->results[i] == stock->results[i], __FILE__, __LINE__,
			    "read %zu of %zu bytes: %zd, without policy %zd", i, r->size,
			    r->results[i], stock->results[i]))
			break;
}

/* Without what the readers share with the test. */
static long long file_memory(const char *where)
{
	return cg_key(where, "memory.stat", "file") - cg_key(where, "memory.stat", "shmem");
}

static void test_reads(void)
{
	static const size_t sizes[] = { 1000, 10000, NR * PAGE };
	static const enum admission_mode modes[] = { ADMIT_NONE, ADMIT_ALL };
	struct file *file = new_file();
	const char *without = cg_new(NULL, "without");
	struct reads *stock, *r;
	size_t i, j;

	break_disk(file, true);
	for (i = 0; i < ARRAY_SIZE(sizes) + 1; i++) {
		bool backwards = i == ARRAY_SIZE(sizes);
		size_t size = backwards ? PAGE : sizes[i];

		file_forget(file);
		stock = cg_reads(without, file, size, backwards);
		check_reads(stock);
		for (j = 0; j < ARRAY_SIZE(modes); j++) {
			file_forget(file);
			set_up("admission", "with", modes[j]);
			r = cg_reads(cg, file, size, backwards);
			check_reads(r);
			compare_reads(stock, r);
			/* what could not be read may wait for the next attempt, and for reclaim */
			if (modes[j] == ADMIT_NONE)
				EXPECT_EQ(file_cached(file, NULL), 0);
			else
				EXPECT_EQ(file_cached(file, NULL), NR - ARRAY_SIZE(bad_pages));
			EXPECT_OP(cg_stat(cg, "managed_pages"), <=,
				  file_cached(file, NULL) + ARRAY_SIZE(bad_pages));
			check_books();
			/* what could not be read is proposed like all others */
			cg_reclaim(cg, cg_stat(cg, "managed_pages") * PAGE);
			EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
			EXPECT_EQ(cg_stat(cg, "evict_fallback"), 0);
			REQUIRE_EQ(bpf_link__destroy(attachment), 0);
			REQUIRE_EQ(cg_remove(cg), 0);
		}
	}

	/* the same folios, once the disk is well again */
	set_up("admission", "with", ADMIT_NONE);
	cg_reads(cg, file, NR * PAGE, false);
	break_disk(file, false);
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	EXPECT(EVENTUALLY(file_memory(cg) == 0));
	check_books();
}

static int write_and_sync(void *arg)
{
	struct file *file = arg;
	int fd = open(file->path, O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return errno;
	err = file_write(file, 0, file->nr_pages);
	if (!err && fsync(fd))
		err = errno;
	close(fd);
	return err;
}

/* What cannot be written is an error once, and no page is dirty for ever. */
static void test_writes(void)
{
	struct file *file = new_file();

	set_up("admission", "a", ADMIT_NONE);
	break_disk(file, true);
	EXPECT_EQ(cg_run(cg, write_and_sync, file), EIO);
	EXPECT_EQ(asked(WRITE, READ | FAULT | REUSE), NR);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), NR);
	check_books();
	/* what is in the cache is what was written */
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	break_disk(file, false);
	cg_reclaim(cg, 2 * NR * PAGE);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	EXPECT(EVENTUALLY(file_memory(cg) == 0));
	EXPECT(EVENTUALLY(cg_key(cg, "memory.stat", "file_dirty") == 0));
	/* and the disk has what it had: the same */
	EXPECT_EQ(file_read(file, 0, NR), 0);
	check_books();
}

static const struct test tests[] = {
	{ "errors of reading",					test_reads },
	{ "errors of writing",					test_writes },
};

SUBJECT(faulty);
