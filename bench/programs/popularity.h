/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "random.h"

/* Which record, where popularity falls off by a power of the rank that may be above 1, but not from the
 * first rank on: requests for rank r are as (r + shift)^-alpha.  That is the curve of Zipf and Mandelbrot;
 * without the shift a steep one would give nearly all requests to a few records.
 *
 * The shift is a part of the number of records, so that the curve is the same for a database of any size.
 * Ranks are dealt out to the records one to one: what is rarely asked for stays so (YCSB's hash, as in
 * zipf.h, has ranks share records, and others get none). */
typedef struct Popularity {
        uint64_t records;
        double alpha, shift;
        double first, last;     /* the integral of the curve at both its ends */
        unsigned bits;          /* of a record number */
        Random random;
} Popularity;

void popularity_init(Popularity *p, uint64_t records, double alpha, double shift, uint64_t seed);

/* A rank, 0 … records-1; 0 is the most popular one. */
uint64_t popularity_rank(Popularity *p);

/* A record number, 0 … records-1. */
uint64_t popularity_next(Popularity *p);

/* The record that has this rank. */
uint64_t popularity_record(const Popularity *p, uint64_t rank);
