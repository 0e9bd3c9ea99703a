/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* Log-linear histogram of latencies: every power of two is cut into 128 equal buckets, so that a percentile
 * is read back with at most 0.8 % of error from 34 KiB of counters: two runs may differ by more. */
#define HISTOGRAM_SUB_BITS 7
#define HISTOGRAM_SUB (1U << HISTOGRAM_SUB_BITS)
/* up to 2^40 ns, 18 minutes */
#define HISTOGRAM_BUCKETS ((40U - HISTOGRAM_SUB_BITS + 1U) * HISTOGRAM_SUB)

typedef struct Histogram {
        uint64_t n;
        uint64_t sum;
        uint64_t max;
        uint64_t bucket[HISTOGRAM_BUCKETS];
} Histogram;

void histogram_add(Histogram *h, uint64_t value);
void histogram_merge(Histogram *h, const Histogram *other);

/* Upper end of the bucket in which the q-th quantile (0 … 1) lies; 0 when the histogram is empty. */
uint64_t histogram_quantile(const Histogram *h, double q);
