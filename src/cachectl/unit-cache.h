/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How much the page cache of a control group can hold, in bytes. */
typedef struct UnitCache {
        uint64_t bytes; /* of files: what its limit leaves, or if there is none what is cached now */
        uint64_t other; /* memory of the group for something else */
        bool limited;   /* MemoryHigh= or MemoryMax=, of the group or of one above it */
} UnitCache;

/* "path" is that of the control group, "level" levels below the root, and "available" the memory that the
 * machine has for it: a limit that would leave more is none. Negative errno. */
int unit_cache_read(const char *path, uint32_t level, uint64_t available, UnitCache *ret);
