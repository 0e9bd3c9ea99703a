/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "macro.h"

/* Reads a whole file of at most max bytes into a NUL-terminated buffer; -E2BIG when it is longer, -ENOTSUP
 * when it is none, but a FIFO or a socket.
 * Works for the pseudo files of sysfs and cgroupfs, whose size is not known in advance. */
int read_full_file_at(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size);

static inline int read_full_file(const char *path, size_t max, char **ret, size_t *ret_size) {
        return read_full_file_at(-100 /* AT_FDCWD */, path, max, ret, ret_size);
}

/* Writes all of it. */
int write_all(int fd, const void *data, size_t n);

/* Calls func for each "key value" line of a flat keyed file; stops at the first negative return. */
typedef int (*flat_keyed_func_t)(const char *key, const char *value, void *userdata);
int flat_keyed_foreach(char *text, flat_keyed_func_t func, void *userdata);

/* A new version of a file, beside the old one until it takes its place as a whole. */
typedef struct FileUpdate {
        char *path;
        char *temporary; /* NULL: the file is to be removed */
} FileUpdate;

/* What temporary files begin with that a killed program left behind. */
#define FILE_UPDATE_PREFIX ".#update-"

/* Writes the new version, and makes the directory of the
 * file if there is none; text NULL: it is to be removed. */
int file_update_prepare(const char *path, const char *text, FileUpdate *ret);
/* Returns 0 also if a file to be removed is not there. */
int file_update_commit(FileUpdate *u);
/* After a commit, or instead of it. */
void file_update_done(FileUpdate *u);
