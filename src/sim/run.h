/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cache.h"
#include "policies.h"

typedef struct SimSetting {
        const SimTunable *tunable;
        int64_t value; /* within its range */
} SimSetting;

/* What policies cannot reach, as it knows the trace. */
typedef enum SimLimit {
        SIM_LIMIT_BELADY,
        SIM_LIMIT_STATIC,
        _SIM_LIMIT_MAX,
} SimLimit;

typedef struct SimRun {
        const SimPolicy *policy; /* NULL: the limit */
        SimLimit limit;
        uint32_t capacity;       /* as in CacheSettings */
        uint32_t batch;
        bool admission;
        /* those of other policies are passed over */
        const SimSetting *settings;
        size_t n_settings;
        const SimAdvice *advice;
        size_t n_advice;
        /* A file with what the policy has learned in an earlier run, which gets what it has learned after
         * this one; it need not be there before. NULL: nothing is kept. */
        const char *learned;
        size_t warm_up; /* as in CacheSettings; so is: */
        uint32_t scale;
        /* How pages are read ahead, as for readahead_play(); not for limits. NULL: as the trace says. */
        const uint32_t *readahead;
        bool *missed; /* as in CacheSettings, in memory that processes share; not for limits */
} SimRun;

#define SIM_COUNTERS_MAX 32 /* of one policy, as cachebpfd has it */

typedef struct SimResult {
        SimStats stats;
        uint64_t counters[SIM_COUNTERS_MAX]; /* of its policy, in the order of sim_counters() */
        uint64_t ns;       /* of processor time that the run took */
        bool done;
        char message[256]; /* what was wrong, if it is not done */
} SimResult;

/* "belady" or "static". */
const char *sim_limit_to_string(SimLimit limit);

/* A request is for no more than a sixteenth of the cache:
 * 32 pages are the kernel's batch in caches that are much larger. */
uint32_t sim_clamp_batch(uint32_t batch, uint32_t capacity);

/* Runs each in a process of its own, n_parallel at a time (0: as many as there are processors). results has
 * n_runs elements; what fails in one run, even a crash of the policy, is said there and is no error. The
 * caller has no other child processes that it waits for. Returns a negative errno if processes cannot be
 * made. */
int sim_run_all(const Trace *trace, const SimRun *runs, size_t n_runs, unsigned n_parallel,
                SimResult *results);
