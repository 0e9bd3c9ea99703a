/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <dirent.h>
#include <glib.h>
#include <stdio.h>
#include <unistd.h>

#include "macro.h"

/* Clean-up of what does not come from libc's allocator; the basics are in macro.h. */

/* Closes without disturbing errno, so that it can be used on error paths. */
static inline int safe_close(int fd) {
        if (fd >= 0) {
                int saved = errno;

                (void) close(fd);
                errno = saved;
        }

        return -EBADF;
}

static inline void closep(int *fd) {
        *fd = safe_close(*fd);
}

static inline char **strv_free(char **l) {
        g_strfreev(l);
        return NULL;
}

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(FILE *, fclose);
DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(DIR *, closedir);
DEFINE_TRIVIAL_CLEANUP_FUNC(char **, strv_free);
DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(GHashTable *, g_hash_table_unref);
DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(GPtrArray *, g_ptr_array_unref);

static inline void g_string_free_charp(GString **s) {
        if (*s)
                g_string_free(*s, TRUE);
}

#define _cleanup_close_ _cleanup_(closep)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_closedir_ _cleanup_(closedirp)
#define _cleanup_strv_free_ _cleanup_(strv_freep)
#define _cleanup_hash_table_ _cleanup_(g_hash_table_unrefp)
#define _cleanup_ptr_array_ _cleanup_(g_ptr_array_unrefp)
#define _cleanup_gstring_ _cleanup_(g_string_free_charp)
