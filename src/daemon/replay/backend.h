/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "uses.h"

/* How uses are watched; uses.h says what these do. Unit tests have another one. */
typedef struct ReplayBackend {
        /* May be called again; begin and end come after it. After an error *ret_problem says why, as the end
         * of a sentence; to be freed. */
        int (*prepare)(void *userdata, char **ret_problem);
        int (*begin)(void *userdata, uint64_t cgroup_id, unsigned level, uint64_t pages_max);
        int (*end)(void *userdata, uint64_t cgroup_id, Uses *ret);
        void (*done)(void *userdata);
        void *userdata;
} ReplayBackend;

/* The kernel's, whose type information is in that file; the path stays the caller's as long as this is
 * used. */
ReplayBackend replay_kernel_backend(const char *btf);
