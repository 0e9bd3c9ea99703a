// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files whose content is known at any moment: a copy of each is in memory that
 * all workers share.  One worker changes a file, the one it belongs to, and
 * marks what it changes; whoever reads compares with the copy if that did not
 * change meanwhile.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "programs.h"

static char paths[NR_FILES][512];

const char *model_path(unsigned int file)
{
	return paths[file];
}

static void bump(uint32_t *seq)
{
	__atomic_store_n(seq, *seq + 1, __ATOMIC_SEQ_CST);
}

static size_t page_below(size_t pos)
{
	return pos / PAGE;
}

static size_t page_above(size_t pos)
{
	return (pos + PAGE - 1) / PAGE;
}

/* One whose change failed is odd already, until it is written again. */
void change_begin(unsigned int file, size_t from, size_t to)
{
	size_t i;

	for (i = page_below(from); i < page_above(to); i++)
		if (shared->files[file].seq[i] % 2 == 0)
			bump(&shared->files[file].seq[i]);
}

void change_end(unsigned int file, size_t from, size_t to)
{
	size_t i;

	for (i = page_below(from); i < page_above(to); i++)
		bump(&shared->files[file].seq[i]);
}

void model_fill(unsigned int file, size_t from, size_t to, uint64_t with)
{
	unsigned char *content = shared->files[file].content;
	uint64_t rng = with;
	size_t i;

	for (i = from; i < to && i % 8; i++)
		content[i] = draw(&rng);
	for (; i + 8 <= to; i += 8) {
		rng += 0x9e3779b97f4a7c15ULL;
		memcpy(&content[i], &rng, 8);
	}
	for (; i < to; i++)
		content[i] = draw(&rng);
}

void model_zero(unsigned int file, size_t from, size_t to)
{
	if (from < to)
		memset(shared->files[file].content + from, 0, to - from);
}

/* What lies beyond the end is zero, so that a file that grows is as it must be. */
void model_resize(unsigned int file, size_t size)
{
	if (size == shared->files[file].size)
		return;
	bump(&shared->files[file].size_seq);
	model_zero(file, size, shared->files[file].size);
	shared->files[file].size = size;
	bump(&shared->files[file].size_seq);
}

/* Before the file is opened: another one may take its name. */
void look_file(struct look *look, unsigned int file)
{
	look->file = file;
	look->generation = __atomic_load_n(&shared->files[file].generation, __ATOMIC_SEQ_CST);
}

void look_page(struct look *look, size_t page)
{
	look->size_seq = __atomic_load_n(&shared->files[look->file].size_seq, __ATOMIC_SEQ_CST);
	look->size = __atomic_load_n(&shared->files[look->file].size, __ATOMIC_SEQ_CST);
	look->seq = __atomic_load_n(&shared->files[look->file].seq[page], __ATOMIC_SEQ_CST);
}

/* Did nothing change since? */
bool look_holds(const struct look *look, size_t page)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return look->generation % 2 == 0 && look->size_seq % 2 == 0 && look->seq % 2 == 0 &&
	       shared->files[look->file].generation == look->generation &&
	       shared->files[look->file].size_seq == look->size_seq &&
	       shared->files[look->file].seq[page] == look->seq;
}

static size_t in_page(uint64_t size, size_t page)
{
	if (size <= page * PAGE)
		return 0;
	return size - page * PAGE < PAGE ? size - page * PAGE : PAGE;
}

/* @nr bytes of @page were read. */
void look_compare(const struct look *look, size_t page, const void *got, ssize_t nr)
{
	const unsigned char *content = shared->files[look->file].content + page * PAGE;
	const unsigned char *bytes = got;
	size_t wanted = in_page(look->size, page), i;
	static unsigned char copy[PAGE];

	memcpy(copy, content, PAGE);
	if (nr >= 0 && (size_t)nr == wanted && !memcmp(copy, bytes, wanted))
		return;
	if (!look_holds(look, page))
		return;
	for (i = 0; nr > 0 && i < (size_t)nr && i < wanted && copy[i] == bytes[i];)
		i++;
	wrong("file%u page %zu (%s): %zd bytes, not %zu; byte %zu is %#x, not %#x", look->file,
	      page, paths[look->file], nr, wanted, i, nr > 0 && i < (size_t)nr ? bytes[i] : 0,
	      i < wanted ? copy[i] : 0);
}

static void write_whole(unsigned int file)
{
	size_t size = program->file_size[file];
	int fd = open(paths[file], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	REQUIRE(fd >= 0);
	model_fill(file, 0, size, program->seed + file);
	REQUIRE(pwrite(fd, shared->files[file].content, size, 0) == (ssize_t)size);
	shared->files[file].size = size;
	REQUIRE(!fsync(fd));
	REQUIRE(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	close(fd);
}

/* Half of them on XFS, if there is one: large folios. */
void files_make(const char *xfs)
{
	unsigned int i;

	/* not on the account of those who happen to touch it first */
	memset(shared->files, 0, sizeof(shared->files));
	for (i = 0; i < NR_FILES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/cachebpf-selftest-file%u",
			 i % 2 && xfs ? xfs : scratch_dir, i);
		write_whole(i);
	}
}

/* Nobody else is at work: every page is what it must be. */
static void check_file(unsigned int file)
{
	unsigned char bytes[PAGE];
	struct look look;
	struct stat st;
	ssize_t nr;
	size_t page;
	int fd;

	look_file(&look, file);
	fd = open(paths[file], O_RDONLY | O_CLOEXEC);
	if (!EXPECT(fd >= 0 && !fstat(fd, &st)))
		return;
	EXPECT_EQ(st.st_size, shared->files[file].size);
	for (page = 0; page < FILE_PAGES; page++) {
		look_page(&look, page);
		nr = pread(fd, bytes, PAGE, page * PAGE);
		look_compare(&look, page, bytes, nr);
	}
	close(fd);
}

void files_check(const char *when)
{
	unsigned int i, before = shared->nr_errors;

	for (i = 0; i < NR_FILES; i++)
		check_file(i);
	if (shared->nr_errors != before)
		wrong("the above: %s", when);
}
