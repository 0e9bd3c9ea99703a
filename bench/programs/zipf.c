/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <math.h>

#include "zipf.h"

/* Terms added one by one; the rest of the sum is an integral with its first corrections, to 12 digits. */
#define ZETA_TERMS UINT64_C(100000)

double zipf_zeta(uint64_t n, double theta) {
        uint64_t exact = n < ZETA_TERMS ? n : ZETA_TERMS;
        double sum = 0.0, m, e = 1.0 - theta;

        assert(theta > 0.0 && theta != 1.0);

        for (uint64_t i = exact; i > 0; i--)    /* the small terms first, for precision */
                sum += pow((double) i, -theta);
        if (exact == n)
                return sum;

        /* Euler-Maclaurin, from m (already in the sum) to n */
        m = (double) exact;
        sum += (pow((double) n, e) - pow(m, e)) / e;
        sum += (pow((double) n, -theta) - pow(m, -theta)) / 2.0;
        sum += theta * (pow(m, -theta - 1.0) - pow((double) n, -theta - 1.0)) / 12.0;
        return sum;
}

/* FNV-1a over the eight bytes of the rank, as YCSB scrambles */
static uint64_t scramble(uint64_t rank) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325);

        for (unsigned i = 0; i < 8; i++, rank >>= 8) {
                hash ^= rank & 0xff;
                hash *= UINT64_C(1099511628211);
        }

        return hash;
}

void zipf_init(Zipf *z, uint64_t records, uint64_t universe, double theta, uint64_t seed) {
        double zeta = zipf_zeta(universe, theta);

        assert(z);
        assert(records > 0);
        assert(universe > 1);

        *z = (Zipf) {
                .records = records,
                .universe = universe,
                .theta = theta,
                .alpha = 1.0 / (1.0 - theta),
                .zeta = zeta,
                .eta = (1.0 - pow(2.0 / (double) universe, 1.0 - theta)) /
                       (1.0 - zipf_zeta(2, theta) / zeta),
        };
        zipf_seed(z, seed);
}

void zipf_seed(Zipf *z, uint64_t seed) {
        random_seed(&z->random, seed);
}

/* J. Gray and others, "Quickly generating billion-record synthetic databases", SIGMOD 1994 */
uint64_t zipf_rank(Zipf *z) {
        double u = random_unit(&z->random), uz = u * z->zeta;

        if (uz < 1.0)
                return 0;
        if (uz < 1.0 + pow(0.5, z->theta))
                return 1;

        return (uint64_t) ((double) z->universe * pow(z->eta * u - z->eta + 1.0, z->alpha));
}

uint64_t zipf_next(Zipf *z) {
        return scramble(zipf_rank(z)) % z->records;
}
