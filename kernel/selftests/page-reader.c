// SPDX-License-Identifier: GPL-2.0-only
/* Somebody in a cgroup who reads the next pages of a file when told to. */
#include <fcntl.h>
#include <sys/mman.h>

#include "selftest.h"

static int read_on_order(void *arg)
{
	struct page_reader *r = arg;
	int fd = open(r->file->path, O_RDONLY | O_CLOEXEC);
	volatile char *map = NULL;
	size_t nr, page = 0;
	char byte;

	close(r->orders[1]);
	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		return 1;
	if (r->locks) {
		map = mmap(NULL, r->file->nr_pages * PAGE, PROT_READ, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED ||
		    madvise((void *)map, r->file->nr_pages * PAGE, MADV_RANDOM) ||
		    mlock2((void *)map, r->file->nr_pages * PAGE, MLOCK_ONFAULT))
			return 2;
	}
	while (read(r->orders[0], &nr, sizeof(nr)) == sizeof(nr)) {
		for (; nr; nr--, page++) {
			if (map)
				(void)map[page * PAGE];
			else if (pread(fd, &byte, 1, page * PAGE) != 1)
				return 3;
		}
		if (write(r->answers[1], "", 1) != 1)
			return 4;
	}
	return 0;
}

struct page_reader *page_reader_start(const char *cg, const struct file *file, bool locks)
{
	struct page_reader *r = calloc(1, sizeof(*r));

	REQUIRE(r && !pipe2(r->orders, O_CLOEXEC) && !pipe2(r->answers, O_CLOEXEC));
	r->file = file;
	r->locks = locks;
	r->pid = cg_start(cg, read_on_order, r);
	close(r->orders[0]);
	close(r->answers[1]);
	return r;
}

bool page_reader_next(struct page_reader *r, size_t nr)
{
	char done;

	REQUIRE(write(r->orders[1], &nr, sizeof(nr)) == sizeof(nr));
	return read(r->answers[0], &done, 1) == 1;
}
