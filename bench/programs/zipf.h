/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "random.h"

/* The request distribution of YCSB, "scrambled Zipfian": a Zipfian rank is drawn from a universe of items
 * and hashed onto the records, so that the popular records lie scattered over the key space.  The
 * universe is the records themselves; YCSB's own generator always draws from 10^10 items, and is flatter
 * when folded. */
typedef struct Zipf {
        uint64_t records;
        uint64_t universe;
        double theta;
        double alpha;
        double zeta;
        double eta;
        Random random;          /* one Zipf a thread */
} Zipf;

void zipf_init(Zipf *z, uint64_t records, uint64_t universe, double theta, uint64_t seed);

/* Begin another sequence. */
void zipf_seed(Zipf *z, uint64_t seed);

/* A rank, 0 … universe-1; 0 is the most popular one. */
uint64_t zipf_rank(Zipf *z);

/* A record number, 0 … records-1. */
uint64_t zipf_next(Zipf *z);

/* sum of 1/i^theta for i = 1 … n */
double zipf_zeta(uint64_t n, double theta);
