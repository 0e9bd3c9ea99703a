/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-varlink.h>

#include "objects.h"

/* What "top" knows of the units: their counters now and
 * a moment ago, and how the hit ratio was since it began. */

#define TOP_CURVE_MAX 60U

typedef struct TopUnit {
        char *name;
        char *policy; /* NULL: none */
        char *shown;  /* instead of that; NULL: nothing */
        char *state;
        bool counted;        /* it has counters */
        bool compared;       /* it had some in the sample before, of the same policy */
        uint64_t cached;     /* bytes */
        uint64_t hits, misses, evictions;
        /* a second, since the sample before */
        double hit_rate, miss_rate, eviction_rate;
        int permille;        /* hits of the accesses since then, or else of all; negative: no access */
        /* what it was in each sample, in percent, the newest at the end; -1: no access */
        int8_t curve[TOP_CURVE_MAX];
        unsigned n_curve;
        unsigned generation;
} TopUnit;

typedef struct TopSample {
        GPtrArray *units;    /* of type TopUnit; NULL before the first sample */
        uint64_t at_usec;    /* CLOCK_MONOTONIC; 0: there was no sample yet */
        unsigned generation;
} TopSample;

typedef enum TopOrder {
        TOP_BY_UNIT,
        TOP_BY_POLICY,
        TOP_BY_CACHED,
        TOP_BY_HITS,
        TOP_BY_MISSES,
        TOP_BY_RATIO,
        TOP_BY_EVICTIONS,
        _TOP_ORDER_MAX,
        _TOP_ORDER_INVALID = -EINVAL,
} TopOrder;

const char *top_order_to_string(TopOrder order);
TopOrder top_order_from_string(const char *s);

/* By the first letter: a key that is pressed. */
TopOrder top_order_from_key(char key);

void top_sample_done(TopSample *s);

/* Takes another sample of the units that match. Errors are logged. */
int top_sample_take(TopSample *s, sd_varlink *link, char **patterns, size_t n_patterns);

/* The same from the daemon's answers to ListUnits and GetStats, at a time. */
int top_sample_add(TopSample *s, const GPtrArray *units, const GPtrArray *stats, uint64_t at_usec);

/* The largest numbers, the worst ratio, and the first names come first. */
void top_sample_sort(TopSample *s, TopOrder order);

/* The last "width" points of the curve, a character each: the higher the better. */
char *top_curve(const TopUnit *u, unsigned width, bool utf8);
