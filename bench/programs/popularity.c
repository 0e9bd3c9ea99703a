/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <math.h>

#include "popularity.h"

/* The integral of x^-alpha, and where it has a value. */
static double integral(const Popularity *p, double x) {
        return pow(x, 1.0 - p->alpha) / (1.0 - p->alpha);
}

static double integral_inverse(const Popularity *p, double y) {
        return pow(y * (1.0 - p->alpha), 1.0 / (1.0 - p->alpha));
}

void popularity_init(Popularity *p, uint64_t records, double alpha, double shift, uint64_t seed) {
        assert(p);
        assert(records > 1);
        assert(alpha > 0.0 && alpha != 1.0);
        assert(shift > 0.0);

        *p = (Popularity) {
                .records = records,
                .alpha = alpha,
                .shift = shift * (double) records,
                .bits = 64 - (unsigned) __builtin_clzll(records - 1),
        };
        p->first = integral(p, p->shift);
        p->last = integral(p, p->shift + (double) records);
        random_seed(&p->random, seed);
}

uint64_t popularity_rank(Popularity *p) {
        double y = p->first + random_unit(&p->random) * (p->last - p->first);
        double x = integral_inverse(p, y) - p->shift;

        /* the ends, where rounding may go beyond */
        if (!(x > 0.0))
                return 0;
        return x < (double) p->records ? (uint64_t) x : p->records - 1;
}

uint64_t popularity_record(const Popularity *p, uint64_t rank) {
        const uint64_t mask = (UINT64_C(1) << p->bits) - 1;
        const unsigned half = (p->bits + 1) / 2;

        /* Each step takes the numbers of so many bits to one another, and so does their repetition until one
         * is that of a record; as there are less than twice as many numbers as records, that is soon. */
        do {
                rank = (rank * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x2545f4914f6cdd1d)) & mask;
                rank ^= rank >> half;
                rank = (rank * UINT64_C(0xd6e8feb86659fd93)) & mask;
                rank ^= rank >> half;
                rank = (rank * UINT64_C(0xa0761d6478bd642f)) & mask;
                rank ^= rank >> half;
        } while (rank >= p->records);
        return rank;
}

uint64_t popularity_next(Popularity *p) {
        return popularity_record(p, popularity_rank(p));
}
