/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cache.h"

/* A run in which pages are read ahead as the kernel would, or a policy with bpf/lib/readahead.bpf.h, by a
 * setting of shared/readahead-setting.h. What the trace says of readahead does not count. Each read is for
 * one page, a file is opened once, and it ends with the last page that the trace has of it.
 *
 * What was read ahead is no miss any more when it is used. The trace must have files. Errors are those of
 * cache_run(), and -E2BIG: there are not numbers enough for pages that are read ahead only. */
int readahead_play(const SimPolicy *policy, const Trace *trace, const CacheSettings *with, uint32_t setting,
                   SimStats *ret);
