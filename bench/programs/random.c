/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>

#include "random.h"

/* splitmix64 */
static uint64_t splitmix(uint64_t *x) {
        uint64_t z = *x += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, unsigned n) {
        return x << n | x >> (64 - n);
}

void random_seed(Random *r, uint64_t seed) {
        assert(r);

        for (unsigned i = 0; i < 4; i++)
                r->state[i] = splitmix(&seed);
}

double random_unit(Random *r) {
        uint64_t *s = r->state, result = s[0] + s[3], t = s[1] << 17;

        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = rotate_left(s[3], 45);

        return (double) (result >> 11) * 0x1p-53;
}

uint64_t random_numbered(uint64_t seed, uint64_t number) {
        uint64_t x = seed * UINT64_C(0xd1342543de82ef95) + number * UINT64_C(0x9e3779b97f4a7c15);

        return splitmix(&x);
}

uint64_t random_below(Random *r, uint64_t n) {
        assert(n > 0 && n <= UINT64_C(1) << 53);

        return (uint64_t) (random_unit(r) * (double) n);
}
