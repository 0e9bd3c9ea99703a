/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* The request distribution of YCSB, "scrambled Zipfian": a Zipfian rank is drawn from a fixed universe of 10^10
 * items and hashed onto the records, so that the popular records lie scattered over the key space. */
typedef struct Zipf {
        uint64_t records;
        double theta;
        double alpha;
        double zeta;
        double eta;
        uint64_t random[4];     /* state of the generator: one Zipf a thread */
} Zipf;

void zipf_init(Zipf *z, uint64_t records, double theta, uint64_t seed);

/* A record number, 0 … records-1. */
uint64_t zipf_next(Zipf *z);

/* sum of 1/i^theta for i = 1 … n */
double zipf_zeta(uint64_t n, double theta);
