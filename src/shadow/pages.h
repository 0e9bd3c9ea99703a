/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "sim/policies.h"

/* The simulator's cache, for pages that are known by keys, and requests that never end: the numbers of
 * objects are used again. Of pages that were evicted as many are remembered as the cache has: what the
 * kernel's own policy misses does not depend on older ones. There is one such cache in a process, as there
 * is one run of the simulator. */

/* Begins with an empty cache, which stands for one "scale" times as large; the batch is at most
 * CACHEBPF_BATCH. Errors are those of cache_begin(). */
int pages_begin(const SimPolicy *policy, uint32_t capacity, uint32_t scale, uint32_t batch);

/* A page is used. Returns whether it missed. */
bool pages_use(uint64_t key);

/* The content of a page is no more. */
void pages_remove(uint64_t key);

/* Gives all memory back. */
void pages_end(void);
