/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "forecast.h"
#include "sample.h"

/* What "advise" says, from what policies would have missed. */

typedef enum AdviceKind {
        ADVICE_CHANGE,    /* take another policy */
        ADVICE_STAY,      /* that of the kernel is as good */
        ADVICE_TOO_SHORT, /* the recording does not tell */
        ADVICE_NOTHING,   /* there were no requests */
        _ADVICE_KIND_MAX,
} AdviceKind;

typedef struct Advice {
        AdviceKind kind;
        size_t stock, best, optimum; /* rows of the simulation; "best" is no limit */
        double stock_ratio, best_ratio, optimum_ratio;
        double cold_ratio;      /* of stock: first uses of a page */
        double margin;          /* so much less has to be missed */
        uint64_t used_bytes;    /* of different pages */
        uint64_t duration_usec; /* what a recording should take that tells more; 0: it is not known */
        unsigned times;         /* the same, in times of this one */
} Advice;

const char *advice_kind_to_string(AdviceKind kind);

/* The simulation is one of a single size, that of the cache. */
void advice_find(const Sample *sample, const Simulation *s, Advice *ret);

/* One sentence, or two; to be freed. */
char *advice_to_string(const Sample *sample, const Simulation *s, const Advice *a);

/* What the unit has now, as a sentence beside that policy; NULL: nothing, or it is not known. To be
 * freed. */
char *advice_present(const Sample *sample, const char *policy);

/* A time as --duration= takes it: "90s", "15min"; to be freed. */
char *advice_duration_to_string(uint64_t usec);
