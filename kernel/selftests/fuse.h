/* SPDX-License-Identifier: GPL-2.0-only */
/* A file system with one file, which a process of the test serves; in fuse.c. */
#ifndef FUSE_H
#define FUSE_H

#include "selftest.h"

enum fuse_pages {
	/* those of another file's page cache, which leave it */
	STOLEN,
	/* new ones that nobody is charged for yet */
	FRESH,
};

/*
 * Mount it, in a mount name space of this process, and serve its file with the
 * content of @source.  The kernel is offered the pages themselves, and takes
 * them into the cache of the file (SPLICE_F_MOVE).  Returns the file.
 */
struct file *fuse_mount(const struct file *source, enum fuse_pages pages);

#endif /* FUSE_H */
