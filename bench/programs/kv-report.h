/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "counters.h"
#include "histogram.h"
#include "kv-run.h"
#include "pool.h"

/* What ran beside the operations, in the measured time. */
typedef struct PoolResult {
        const char *singular, *plural;
        unsigned threads;       /* 0: nothing of that kind */
        PoolCounters counters;
} PoolResult;

typedef struct Result {
        uint64_t begin;                         /* on the calendar's clock, which others have, too */
        uint64_t nsec;                          /* measured */
        Histogram latency[_OPERATION_MAX];      /* by kind, in nanoseconds */
        Counters counters;                      /* of the process, and of the disk */
        Counters own;                           /* of the threads that do the operations */
        PoolResult pools[2];
} Result;

/* As text or, with options->json, as one JSON object. */
void report_print(const RunOptions *options, const Result *result);
