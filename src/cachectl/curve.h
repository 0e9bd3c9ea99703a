/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "forecast.h"
#include "sample.h"

/* Miss ratios over sizes of the cache: from a sixteenth of what it is to four times that. */

#define CURVE_SIZES 13
/* The present size in the curve. */
#define CURVE_NOW 8

/* More than now that may be read with less memory. */
#define CURVE_TOLERANCE 0.05

typedef struct Curve {
        uint32_t pages[CURVE_SIZES]; /* of the unit's cache, from the smallest */
        Simulation simulation;       /* with stock, other policies, and the optimum; its sizes are these */
} Curve;

/* "policies" are names separated by commas. Negative errno (logged). */
int curve_make(const Sample *sample, const char *policies, Curve *ret);
void curve_done(Curve *c);

/* The smallest cache, in bytes, that misses no more with the policy of that row than stock does now, but for
 * CURVE_TOLERANCE; between two sizes of the curve as if it were straight there. At least the smallest of the
 * curve. 0: the present size is too small as well. */
uint64_t curve_smallest(const Sample *sample, const Curve *c, size_t row);
