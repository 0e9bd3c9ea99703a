/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Runs programs under test. Whatever goes wrong in here ends the test program. */

typedef struct Outcome {
        int status; /* exit status; -SIGNAL if it was killed */
        char *out;
        char *err;
} Outcome;

void outcome_done(Outcome *o);

typedef enum RunFlags {
        RUN_TERMINAL = 1 << 0, /* standard output is a terminal, 80 columns wide */
} RunFlags;

/* Runs argv[] to its end and captures what it writes. A terminal's CR LF arrives as LF. */
void run_program(char *const argv[], RunFlags flags, Outcome *ret);

/* Starts argv[] and lets it run. */
pid_t start_program(char *const argv[]);
void stop_program(pid_t pid);
