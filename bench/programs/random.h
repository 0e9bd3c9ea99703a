/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* xoshiro256+, a generator for each sequence of random numbers that has to be the same again. */
typedef struct Random {
        uint64_t state[4];
} Random;

void random_seed(Random *r, uint64_t seed);

/* The upper 53 bits as a number in [0, 1). */
double random_unit(Random *r);

/* Without a generator: the same for each number of a sequence. */
uint64_t random_numbered(uint64_t seed, uint64_t number);

/* 0 … n-1, all equally likely; n is at most 2^53. */
uint64_t random_below(Random *r, uint64_t n);
