/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>
#include <sys/uio.h>

#include "macro.h"

/* Files that are kept for units, one a unit, in a directory that nobody else has anything to do with. A file
 * takes the place of the one before in one step; what is in it is up to who writes it. */

/* The name of a unit's file in the directory of all. */
char *kept_file_name(const char *unit);

/* Opens the directory of all; -ENOENT: there is none. */
int kept_open(const char *path);

/* -ENOENT: there is none; -EBADMSG: it is no ordinary file, or has more than max bytes. */
int kept_read(int dir_fd, const char *name, size_t max, char **ret, size_t *ret_size);
/* What is wrong with a file, as a part of a sentence. */
const char *kept_strerror(int error);
/* Writes the parts one after the other. The old file stays, whole, until the new one is on the disk. */
int kept_save(int dir_fd, const char *name, const struct iovec *parts, size_t n);
/* Fine if there is none. */
int kept_remove(int dir_fd, const char *name);
/* Removes a file and what a writer of it that was killed left behind, also from the disk. Fine if there is
 * none. */
int kept_forget(int dir_fd, const char *name, bool *ret_existed);
/* Removes what writers that were killed left behind. */
int kept_clean(int dir_fd);
/* Removes those that were not written for the longest time, until no more than that number is left, and they
 * take no more than size bytes of the disk. */
int kept_limit(int dir_fd, guint number, uint64_t size);
