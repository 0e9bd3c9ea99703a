/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "sim/run.h"
#include "sim/trace.h"

/* What "cachectl simulate" is to do: all policies with all sizes. */

typedef struct SimulationSize {
        char *label; /* as it was given */
        uint32_t pages;
} SimulationSize;

typedef struct SimulationRow {
        const SimPolicy *policy; /* NULL: the limit */
        SimLimit limit;
} SimulationRow;

typedef struct Simulation {
        Trace *trace;
        uint32_t batch; /* as it was given; each run has its own, see sim_clamp_batch() */

        /* policies in the order in which they were named, then limits; the last one is Belady's */
        SimulationRow *rows;
        size_t n_rows;

        SimulationSize *sizes;
        size_t n_sizes;

        SimSetting *settings;
        size_t n_settings;

        GArray *advice; /* of SimAdvice */
        uint32_t *readahead; /* as in SimRun; NULL: none is simulated */

        /* n_rows times n_sizes, row by row */
        SimRun *runs;
        SimResult *results;
} Simulation;

void simulation_done(Simulation *s);

/* Fills a simulation from the arguments. Complaints are logged, and are -EINVAL; -ENOMEM is logged, too. */
int simulation_setup(Simulation *s, const char *path);

/* The trace that a file has, in the form that --format= names. Negative errno, as above. */
int simulation_read_trace(const char *path, Trace **ret);

/* Adds rows for policies, whose names are separated by commas, and the limits. -EINVAL (logged). */
int simulation_setup_policies(Simulation *s, const char *list);

/* Trace, rows and sizes are there: makes the runs, each with what the command line says. */
void simulation_setup_runs(Simulation *s);

/* Does all runs. Returns how many have failed, which is logged, or a negative errno (logged). */
int simulation_execute(Simulation *s);

/* What managers say; the trace is there. simulate-managers.c */
int simulation_setup_managers(Simulation *s);

static inline const SimRun *simulation_run(const Simulation *s, size_t row, size_t size) {
        return s->runs + row * s->n_sizes + size;
}

static inline const SimResult *simulation_result(const Simulation *s, size_t row, size_t size) {
        return s->results + row * s->n_sizes + size;
}

static inline const char *simulation_row_name(const Simulation *s, size_t row) {
        return s->rows[row].policy ? s->rows[row].policy->name : sim_limit_to_string(s->rows[row].limit);
}
