/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "macro.h"

/* Reads a whole file of at most max bytes into a NUL-terminated buffer; -E2BIG when it is longer.
 * Works for the pseudo files of sysfs and cgroupfs, whose size is not known in advance. */
int read_full_file_at(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size);

static inline int read_full_file(const char *path, size_t max, char **ret, size_t *ret_size) {
        return read_full_file_at(-100 /* AT_FDCWD */, path, max, ret, ret_size);
}

/* Calls func for each "key value" line of a flat keyed file; stops at the first negative return. */
typedef int (*flat_keyed_func_t)(const char *key, const char *value, void *userdata);
int flat_keyed_foreach(char *text, flat_keyed_func_t func, void *userdata);
