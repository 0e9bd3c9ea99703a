/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>

#include "histogram.h"

static unsigned bucket_of(uint64_t value) {
        unsigned shift, bucket;

        if (value < HISTOGRAM_SUB)
                return (unsigned) value;

        shift = 63U - (unsigned) __builtin_clzll(value) - HISTOGRAM_SUB_BITS;
        bucket = (shift << HISTOGRAM_SUB_BITS) + (unsigned) (value >> shift);

        return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

static uint64_t bucket_end(unsigned bucket) {
        uint64_t mantissa = (bucket & (HISTOGRAM_SUB - 1)) + HISTOGRAM_SUB;
        unsigned shift;

        if (bucket < HISTOGRAM_SUB)
                return bucket;

        shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
        return ((mantissa + 1) << shift) - 1;
}

void histogram_add(Histogram *h, uint64_t value) {
        assert(h);

        h->n++;
        h->sum += value;
        if (value > h->max)
                h->max = value;
        h->bucket[bucket_of(value)]++;
}

void histogram_merge(Histogram *h, const Histogram *other) {
        assert(h);
        assert(other);

        h->n += other->n;
        h->sum += other->sum;
        if (other->max > h->max)
                h->max = other->max;
        for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
                h->bucket[i] += other->bucket[i];
}

uint64_t histogram_quantile(const Histogram *h, double q) {
        uint64_t seen = 0, rank;

        assert(h);

        if (h->n == 0)
                return 0;

        rank = (uint64_t) (q * (double) h->n);
        if (rank >= h->n)
                rank = h->n - 1;

        for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
                seen += h->bucket[i];
                if (seen > rank) {
                        uint64_t end = bucket_end(i);

                        return end < h->max ? end : h->max;
                }
        }

        return h->max;
}
