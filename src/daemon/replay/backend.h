/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "uses.h"

/* How uses are watched; uses.h says what these do. Unit tests have another one. */
typedef struct ReplayBackend {
        int (*prepare)(void *userdata); /* may be called again; begin and end come after it */
        int (*begin)(void *userdata, uint64_t cgroup_id, unsigned level, uint64_t pages_max);
        int (*end)(void *userdata, uint64_t cgroup_id, Uses *ret);
        void (*done)(void *userdata);
        void *userdata;
} ReplayBackend;

/* The kernel's. */
ReplayBackend replay_kernel_backend(void);
