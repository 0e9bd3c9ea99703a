/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "figures.h"

#define CURVE_PARTS_MAX 1000

/* How a run becomes steady: what the disk reads in each of so many equal parts of it, the warm-up included.
 * One thread counts its operations; of several the others are about as far. */
typedef struct Curve {
        const char *disk;
        uint64_t parts;         /* at most CURVE_PARTS_MAX; 0: none */
        uint64_t operations;    /* of the thread that counts, in all */

        uint64_t done, n;       /* its operations so far, and the parts that are complete */
        uint64_t before;        /* reads of the disk when the last part was complete */
        uint64_t reads[CURVE_PARTS_MAX];
        int error;              /* the first one */
} Curve;

void curve_begin(Curve *c);

/* One more operation is done. */
void curve_step(Curve *c);

void curve_print(const Curve *c, Figures *figures);
