// SPDX-License-Identifier: GPL-2.0-only
/*
 * Scratch files.  Every 8 bytes of a file are known from its seed and the
 * offset, and whoever reads compares those at the beginning of each sector, so
 * a page that was lost, stale or mixed up is found in any test.
 *
 * Files are made outside of the cgroups under test: their metadata is cached
 * and charged elsewhere, and what a test reads is data alone.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "selftest.h"

#define PREFIX	"cachebpf-selftest-"

const char *scratch_dir = "/var/tmp";

/* in words */
#define NR_WORDS	(PAGE / sizeof(uint64_t))
#define SECTOR		(512 / sizeof(uint64_t))

static uint64_t content(unsigned int seed, size_t page, size_t word)
{
	return ((uint64_t)seed << 48) + page * NR_WORDS + word;
}

static void fill(uint64_t *words, unsigned int seed, size_t page)
{
	size_t i;

	for (i = 0; i < NR_WORDS; i++)
		words[i] = content(seed, page, i);
}

/* To compare all of it would be a good part of what a read costs an emulated processor. */
static bool matches(const uint64_t *words, unsigned int seed, size_t page)
{
	size_t i;

	for (i = 0; i < NR_WORDS; i += SECTOR)
		if (words[i] != content(seed, page, i))
			return false;
	return true;
}

static struct file *describe(const char *dir, const char *name, size_t nr_pages)
{
	static unsigned int last_seed;
	struct file *file = calloc(1, sizeof(*file));

	REQUIRE(file != NULL);
	snprintf(file->path, sizeof(file->path), "%s/" PREFIX "%s", dir ?: scratch_dir, name);
	file->seed = ++last_seed;
	file->nr_pages = nr_pages;
	return file;
}

struct file *file_hole(const char *name, size_t nr_pages)
{
	struct file *file = file_empty(name, 0);

	file->nr_pages = nr_pages;
	REQUIRE(!truncate(file->path, nr_pages * PAGE));
	return file;
}

int file_read_through(void *arg)
{
	const struct file *file = arg;
	static char buffer[64 * PAGE];
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return errno;
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		;
	close(fd);
	return n ? errno : 0;
}

int file_write(struct file *file, size_t first, size_t nr)
{
	uint64_t words[NR_WORDS];
	int fd, err = 0;
	size_t i;

	fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return errno;
	for (i = first; i < first + nr && !err; i++) {
		fill(words, file->seed, i);
		if (pwrite(fd, words, PAGE, i * PAGE) != PAGE)
			err = errno ?: EIO;
	}
	close(fd);
	return err;
}

/* All pages are clean then. */
void file_sync(const struct file *file)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(!fsync(fd));
	close(fd);
}

void file_drop(const struct file *file)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);

	file_sync(file);
	REQUIRE(fd >= 0);
	REQUIRE(!posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	close(fd);
}

/* A page may be busy for a moment: it is written, or in the batch of another processor. */
void file_forget(const struct file *file)
{
	REQUIRE(EVENTUALLY((file_drop(file), file_cached(file, NULL) == 0)));
}

struct file *file_empty(const char *name, size_t nr_pages)
{
	struct file *file = describe(NULL, name, nr_pages);

	REQUIRE_EQ(file_write(file, 0, 0), 0);
	return file;
}

struct file *file_new(const char *dir, const char *name, size_t nr_pages)
{
	struct file *file = describe(dir, name, nr_pages);

	REQUIRE_EQ(file_write(file, 0, nr_pages), 0);
	file_forget(file);
	return file;
}

/* Pages in the cache; @cached, if any, says which. */
size_t file_cached(const struct file *file, bool *cached)
{
	unsigned char *vec = malloc(file->nr_pages);
	size_t i, nr = 0;
	void *map;
	int fd;

	/* not for writing: that throws the huge folios of some file systems out */
	fd = open(file->path, O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0 && vec);
	map = mmap(NULL, file->nr_pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	REQUIRE(map != MAP_FAILED);
	REQUIRE(!mincore(map, file->nr_pages * PAGE, vec));
	for (i = 0; i < file->nr_pages; i++) {
		nr += vec[i] & 1;
		if (cached)
			cached[i] = vec[i] & 1;
	}
	munmap(map, file->nr_pages * PAGE);
	close(fd);
	free(vec);
	return nr;
}

/*
 * Open for one use of each page: readahead off, and a file of its own, since a
 * second read of the page that was read last counts as the same use.
 */
static int open_random(const struct file *file)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

static int read_pages(int fd, const struct file *file, size_t first, size_t nr)
{
	uint64_t words[NR_WORDS];
	size_t i;

	for (i = first; i < first + nr; i++) {
		if (pread(fd, words, PAGE, i * PAGE) != PAGE)
			return errno ?: EIO;
		if (!matches(words, file->seed, i)) {
			diag("page %zu of %s: wrong content", i, file->path);
			return EILSEQ;
		}
	}
	return 0;
}

int file_read(const struct file *file, size_t first, size_t nr)
{
	int err, fd = open_random(file);

	if (fd < 0)
		return errno;
	err = read_pages(fd, file, first, nr);
	close(fd);
	return err;
}

int file_read_sequential(const struct file *file)
{
	int err, fd = open(file->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	err = read_pages(fd, file, 0, file->nr_pages);
	close(fd);
	return err;
}

const char *xfs_dir(void)
{
	const char *dir = getenv("CACHEBPF_TEST_XFS");

	if (!dir || !*dir)
		skip("CACHEBPF_TEST_XFS names no directory on XFS");
	return dir;
}

/* Bring pages into the cache without using them. */
int file_read_ahead(const struct file *file, size_t first, size_t nr)
{
	int err, fd = open(file->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	err = posix_fadvise(fd, first * PAGE, nr * PAGE, POSIX_FADV_WILLNEED);
	close(fd);
	return err;
}

struct span {
	const struct file	*file;
	size_t			first, nr;
};

static int do_read(void *arg)
{
	struct span *span = arg;

	return file_read(span->file, span->first, span->nr);
}

static int do_read_ahead(void *arg)
{
	struct span *span = arg;

	return file_read_ahead(span->file, span->first, span->nr);
}

void cg_read_file(const char *cg, const struct file *file, size_t first, size_t nr)
{
	struct span span = { file, first, nr };

	REQUIRE_EQ(cg_run(cg, do_read, &span), 0);
}

void cg_read_ahead(const char *cg, const struct file *file, size_t first, size_t nr)
{
	struct span span = { file, first, nr };

	REQUIRE_EQ(cg_run(cg, do_read_ahead, &span), 0);
}

static void remove_files(const char *where)
{
	DIR *dir = where ? opendir(where) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}

void files_cleanup(void)
{
	remove_files(scratch_dir);
	remove_files(getenv("CACHEBPF_TEST_XFS"));
}

volatile char *file_map(const struct file *file)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, file->nr_pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	return fd >= 0 && map != MAP_FAILED ? map : NULL;
}

static void touch_all(const struct file *file, volatile char *map)
{
	size_t i;

	for (i = 0; i < file->nr_pages; i++)
		(void)map[i * PAGE];
}

/* For cg_run(): map a struct file and read all of it through the mapping, once. */
int file_read_mapped(void *file)
{
	volatile char *map = file_map(file);

	if (!map)
		return 1;
	touch_all(file, map);
	return 0;
}

static int keep_mapped(const struct file *file, int advice)
{
	volatile char *map = file_map(file);

	if (!map || madvise((void *)map, file->nr_pages * PAGE, advice))
		return 1;
	for (;;)
		touch_all(file, map);
}

/* For cg_start(): the same for ever. */
int file_keep_mapped(void *file)
{
	return keep_mapped(file, MADV_NORMAL);
}

int file_keep_mapped_at_random(void *file)
{
	return keep_mapped(file, MADV_RANDOM);
}

uint64_t *file_frames(const struct file *file)
{
	uint64_t *entries = calloc(file->nr_pages, sizeof(*entries));
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	volatile char *map;
	size_t i;

	map = mmap(NULL, file->nr_pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	REQUIRE(entries && fd >= 0 && pagemap >= 0 && map != MAP_FAILED);
	REQUIRE(!madvise((void *)map, file->nr_pages * PAGE, MADV_RANDOM));
	for (i = 0; i < file->nr_pages; i++)
		(void)map[i * PAGE];
	REQUIRE_EQ(pread(pagemap, entries, file->nr_pages * sizeof(*entries),
			 (uintptr_t)map / PAGE * sizeof(*entries)),
		   file->nr_pages * sizeof(*entries));
	munmap((void *)map, file->nr_pages * PAGE);
	close(pagemap);
	close(fd);
	for (i = 0; i < file->nr_pages; i++)
		entries[i] &= (1ULL << 55) - 1;
	return entries;
}
