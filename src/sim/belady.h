/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cache.h"

/* The optimum for a cache of a fixed size, which knows the trace: a miss evicts the page whose next use is
 * the farthest (L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", 1966). As
 * in a page cache, what is used is cached; readahead is neither needed nor counted. The first "warm_up"
 * requests only fill the cache. Returns -ENOMEM or 0. */
int belady_run(const Trace *trace, uint32_t capacity, size_t warm_up, SimStats *ret);
