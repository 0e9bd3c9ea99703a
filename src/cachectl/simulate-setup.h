/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "run.h"
#include "trace.h"

/* What "cachectl simulate" is to do: all policies with all sizes. */

typedef struct SimulationSize {
        char *label; /* as it was given */
        uint32_t pages;
} SimulationSize;

typedef struct Simulation {
        Trace *trace;
        uint32_t batch; /* as it was given; each run has its own, see sim_clamp_batch() */

        /* in the order in which they were named; the last one is NULL, the optimum */
        const SimPolicy **policies;
        size_t n_policies;

        SimulationSize *sizes;
        size_t n_sizes;

        SimSetting *settings;
        size_t n_settings;

        /* n_policies times n_sizes, policy by policy */
        SimRun *runs;
        SimResult *results;
} Simulation;

void simulation_done(Simulation *s);

/* Fills a simulation from the arguments. Complaints are logged, and are -EINVAL; -ENOMEM is logged, too. */
int simulation_setup(Simulation *s, const char *path);

static inline const SimRun *simulation_run(const Simulation *s, size_t policy, size_t size) {
        return s->runs + policy * s->n_sizes + size;
}

static inline const SimResult *simulation_result(const Simulation *s, size_t policy, size_t size) {
        return s->results + policy * s->n_sizes + size;
}

/* "belady" for the optimum. */
static inline const char *simulation_policy_name(const Simulation *s, size_t policy) {
        return s->policies[policy] ? s->policies[policy]->name : "belady";
}
