/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cache.h"

/* What frequencies alone can bring: of a cache of a fixed size, all pages but one hold what is used most in
 * the whole trace, and the last one what was asked for last. Where requests do not depend on each other, no
 * policy that does not know what comes does better (A0 of A. V. Aho, P. J. Denning and J. D. Ullman,
 * "Principles of optimal page replacement", 1971). As in a page cache, what is used is cached; readahead is
 * neither needed nor counted. The first "warm_up" requests
 * only fill the cache. Returns -ENOMEM or 0. */
int static_run(const Trace *trace, uint32_t capacity, size_t warm_up, SimStats *ret);
