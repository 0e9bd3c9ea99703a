/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <math.h>

#include "distinct.h"
#include "shared/macro.h"

#define N_BITS (64 * ELEMENTSOF(((Distinct *) NULL)->bits))

/* The upper bits of the key are those that chose the sample. */
void distinct_add(Distinct *d, uint64_t key) {
        d->bits[key / 64 % ELEMENTSOF(d->bits)] |= UINT64_C(1) << key % 64;
}

uint64_t distinct_count(const Distinct *d) {
        unsigned n_zero = N_BITS;

        for (size_t i = 0; i < ELEMENTSOF(d->bits); i++)
                n_zero -= (unsigned) __builtin_popcountll(d->bits[i]);
        return (uint64_t) llround(N_BITS * log((double) N_BITS / MAX(n_zero, 1U)));
}
