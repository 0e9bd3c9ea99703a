// SPDX-License-Identifier: GPL-2.0-only
/* Rejected folios behind a reader: dropped when it has used them, and not before. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>

#include "admission.h"

static void scan(bool lru_gen)
{
	struct file *file = file_new(NULL, lru_name(lru_gen), 16 * MiB_PAGES);

	set_up("admission", lru_name(lru_gen), ADMIT_NONE);
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	/* no limit, no reclaim: and yet there is nothing left, and never was much */
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
	EXPECT_OP(cg_number(cg, "memory.peak"), <, 4 * MiB);
	EXPECT_EQ(cg_stat(cg, "removed_dropped"), file->nr_pages);
	EXPECT_EQ(cg_stat(cg, "removed_reclaim"), 0);

	/* each page was read once, by readahead; the policy heard of none */
	EXPECT_EQ(cg_stat(cg, "added"), file->nr_pages);
	EXPECT_EQ(asked(READ | READAHEAD, WRITE | FAULT | REUSE), file->nr_pages);
	EXPECT_EQ(cg_stat(cg, "misses"), file->nr_pages);
	EXPECT_EQ(cg_stat(cg, "hits"), 0);
	EXPECT_EQ(state->added[0] + state->accessed + state->removed, 0);

	/* again: not a refault */
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(cg_stat(cg, "refaults"), 0);
	EXPECT_EQ(cg_stat(cg, "removed_dropped"), 2 * file->nr_pages);
	check_books();
	REQUIRE_EQ(bpf_link__destroy(attachment), 0);
}

static void test_scan(void)
{
	with_both_lrus(scan);
}

/* Without readahead each folio is still on its way to the LRU when it is dropped. */
static void test_random(void)
{
	struct file *file = file_new(NULL, "f", 256);
	int i;

	set_up("admission", "a", ADMIT_NONE);
	for (i = 255; i >= 0; i--) {
		cg_read_file(cg, file, i, 1);
		EXPECT_EQ(file_cached(file, NULL), 0);
		if (!EXPECT_EQ(cg_stat(cg, "removed_dropped"), 256 - i))
			break;
	}
	EXPECT_EQ(asked(READ, WRITE | FAULT | REUSE), 256);
	check_books();
}

/* Read it all in pieces of @size bytes. */
static int read_pieces(const struct file *file, size_t size)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC), err = 0;
	char *buffer = malloc(size);
	ssize_t n;

	if (fd < 0 || !buffer)
		return 1;
	while ((n = read(fd, buffer, size)) > 0)
		;
	if (n < 0)
		err = 1;
	close(fd);
	free(buffer);
	return err;
}

struct pieces {
	const struct file	*file;
	size_t			size;
	/* 512 bytes each, from the disk */
	long			*nr_blocks;
};

static int do_read_pieces(void *arg)
{
	struct pieces *pieces = arg;
	struct rusage before, after;
	int err;

	getrusage(RUSAGE_SELF, &before);
	err = read_pieces(pieces->file, pieces->size);
	getrusage(RUSAGE_SELF, &after);
	*pieces->nr_blocks = after.ru_inblock - before.ru_inblock;
	return err;
}

/* Returns what it reads from the disk, in blocks of 512 bytes. */
static long cg_read_pieces(const char *where, const struct file *file, size_t size)
{
	struct pieces pieces = { .file = file, .size = size };

	pieces.nr_blocks = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				-1, 0);
	REQUIRE(pieces.nr_blocks != MAP_FAILED);
	REQUIRE_EQ(cg_run(where, do_read_pieces, &pieces), 0);
	return *pieces.nr_blocks;
}

/* A page stays until its last byte has been read, and is read from the disk once. */
static void test_pieces(void)
{
	struct file *file = file_new(NULL, "f", 2 * MiB_PAGES);
	static const size_t sizes[] = { 512, 1000, 3000, 10000, 3 * MiB };
	const char *without = cg_new(NULL, "without");
	long nr_blocks;
	size_t i;

	/* the end of the file is the end of its last page */
	REQUIRE(!truncate(file->path, file->nr_pages * PAGE - 100));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		file_forget(file);
		nr_blocks = cg_read_pieces(without, file, sizes[i]);
		EXPECT_OP(nr_blocks, >=, 2 * MiB / 512);
		file_forget(file);

		set_up("admission", "with", ADMIT_NONE);
		if (!EXPECT_OP(cg_read_pieces(cg, file, sizes[i]), <=, nr_blocks))
			diag("in pieces of %zu bytes", sizes[i]);
		EXPECT_EQ(cg_stat(cg, "added"), file->nr_pages);
		EXPECT_EQ(file_cached(file, NULL), 0);
		check_books();
		REQUIRE_EQ(bpf_link__destroy(attachment), 0);
		REQUIRE_EQ(cg_remove(cg), 0);
	}
}

static int send_all(void *arg)
{
	struct file *file = arg;
	int in = open(file->path, O_RDONLY | O_CLOEXEC), out = open("/dev/null", O_WRONLY);
	size_t left = file->nr_pages * PAGE;
	ssize_t n;

	for (; left; left -= n) {
		n = sendfile(out, in, NULL, left);
		if (n <= 0)
			return 1;
	}
	return 0;
}

/* A pipe refers to the pages that were spliced into it; they are dropped when it is done. */
static void test_spliced(void)
{
	struct file *file = file_new(NULL, "f", 4);
	uint64_t words[4 * PAGE / sizeof(uint64_t)];
	int fds[2], fd = open(file->path, O_RDONLY | O_CLOEXEC);
	size_t i, done = 0;
	ssize_t n;

	set_up("admission", "a", ADMIT_NONE);
	REQUIRE(fd >= 0 && !pipe(fds));
	cg_read_ahead(cg, file, 0, 4);
	REQUIRE(EVENTUALLY(file_cached(file, NULL) == 4));
	while (done < sizeof(words)) {
		n = splice(fd, NULL, fds[1], NULL, sizeof(words) - done, 0);
		REQUIRE(n > 0);
		done += n;
	}
	EXPECT_EQ(file_read(file, 0, 4), 0);
	EXPECT_EQ(file_cached(file, NULL), 4);
	EXPECT_EQ(cg_stat(cg, "removed_dropped"), 0);

	for (done = 0; done < sizeof(words); done += n) {
		n = read(fds[0], (char *)words + done, sizeof(words) - done);
		REQUIRE(n > 0);
	}
	for (i = 1; i < ARRAY_SIZE(words); i++)
		if (!EXPECT_EQ(words[i], words[0] + i))
			break;
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(cg_stat(cg, "removed_dropped"), 4);
	check_books();

	/* as they do it who copy or send a file */
	file = file_new(NULL, "g", 4 * MiB_PAGES);
	EXPECT_EQ(cg_run(cg, send_all, file), 0);
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(cg_stat(cg, "removed_dropped"), 4 + 4 * MiB_PAGES);
	check_books();
}

/* Several readers of one file, none of which can count on what the others brought in. */
static void test_many_readers(void)
{
	struct file *file = file_new(NULL, "f", 8 * MiB_PAGES);
	pid_t pids[4];
	size_t i;

	set_up("admission", "a", ADMIT_NONE);
	for (i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = cg_start(cg, read_sequential, file);
	for (i = 0; i < ARRAY_SIZE(pids); i++)
		EXPECT_EQ(cg_wait(pids[i]), 0);
	EXPECT_OP(cg_stat(cg, "removed_dropped"), >=, file->nr_pages / 2);
	EXPECT_EQ(cg_stat(cg, "removed_dropped") + cg_stat(cg, "managed_pages"),
		  cg_stat(cg, "added"));
	EXPECT_EQ(cg_stat(cg, "managed_pages"), file_cached(file, NULL));
	check_books();
}

/* Sequentially, with readahead, and no folio to its end. */
static int read_nearly_all(void *arg)
{
	struct file *file = arg;
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	char buffer[PAGE - 1];
	size_t i;

	for (i = 0; i < file->nr_pages; i++)
		if (pread(fd, buffer, sizeof(buffer), i * PAGE) != sizeof(buffer))
			return 1;
	return 0;
}

static void test_large_folios(void)
{
	struct file *file = file_new(xfs_dir(), "f", 16 * MiB_PAGES);
	size_t pages;

	set_up("admission", "a", ADMIT_NONE);
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(cg_stat(cg, "added"), file->nr_pages);
	EXPECT_OP(state->nr_pages, >, 1);

	EXPECT_EQ(cg_run(cg, send_all, file), 0);
	EXPECT_EQ(file_cached(file, NULL), 0);

	/* those that are split stay rejected */
	EXPECT_EQ(cg_run(cg, read_nearly_all, file), 0);
	EXPECT_EQ(file_cached(file, NULL), file->nr_pages);
	EXPECT_EQ(cg_stat(cg, "rejected_pages"), file->nr_pages);
	EXPECT_OP(cg_stat(cg, "managed_folios"), <, file->nr_pages / 2);
	check_books();
	for (pages = 1000; pages > 300; pages -= 33) {
		REQUIRE(!truncate(file->path, pages * PAGE));
		file->nr_pages = pages;
		if (!EXPECT_EQ(cg_stat(cg, "rejected_pages"), file_cached(file, NULL)))
			break;
	}
	/* the second use has small ones wait for their activation, the third finds them alone */
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(cg_run(cg, read_sequential, file), 0);
	EXPECT_EQ(file_cached(file, NULL), 0);
	EXPECT_EQ(cg_stat(cg, "managed_pages"), 0);
}

static const struct test tests[] = {
	{ "a scan leaves nothing in the cache",			test_scan },
	{ "nor do single pages",				test_random },
	{ "read in pieces, and once from the disk",		test_pieces },
	{ "folios in a pipe",					test_spliced },
	{ "several readers of one file",			test_many_readers, .spread = true },
	{ "large folios",					test_large_folios },
};

SUBJECT(dropped);
