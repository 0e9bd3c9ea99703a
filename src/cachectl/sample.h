/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/trace.h"
#include "unit-cache.h"

/* What a unit does to the page cache, as "advise" and "size" see it: a recording of all accesses to a part
 * of the pages. Such a part behaves in a small cache as all pages do in one that is as many times as large
 * (C. Waldspurger and others, "Efficient MRC construction with SHARDS", FAST 2015). */
typedef struct Sample {
        char *name;        /* of the unit or control group; NULL: nobody said */
        char *policy;      /* that the kernel has for it; NULL: none, or not known */
        char *chosen;      /* with CachePolicy=auto that, "auto (mru)"; else NULL */
        Trace *trace;
        uint32_t rate;     /* one page in so many is in the trace */
        uint64_t requests; /* for pages, in the trace or not; those that were lost are none */
        uint64_t sampled;  /* requests in the trace */
        uint64_t lost;     /* events */
        uint64_t usec;     /* how long it took; 0: not known */
        UnitCache cache;   /* nothing is known of it if --size= was given */
        uint32_t pages;    /* of the cache */
        bool multi_gen;    /* the unit was recorded on a kernel with MGLRU, which is not what is simulated */
} Sample;

/* Records the unit that is named, or reads the file that --input= names. Returns 0, an exit status, or a
 * negative errno; the reason has been logged. */
int sample_take(char **arguments, size_t n_arguments, Sample *ret);
void sample_done(Sample *s);

/* So many pages are a cache of that many in the sample. */
uint32_t sample_capacity(const Sample *s, uint32_t pages);

/* The requests at the beginning of the trace that only fill a cache of so many pages of the sample: a
 * quarter of all at least, half of them at most. *ret_full: it is full then. */
size_t sample_warm_up(const Sample *s, uint32_t capacity, bool *ret_full);

/* Misses per request of the unit, given those per request of the trace. Most requests are for a few pages,
 * and whether these are in the sample is chance: what is missing of the expected number counts as hits. */
double sample_ratio(const Sample *s, double ratio);
