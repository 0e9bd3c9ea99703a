/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"
#include "histogram.h"

/* What a program has measured, on its standard output: a line for each figure, or one JSON object. */
typedef struct Figures {
        bool json;
        unsigned n;     /* printed so far */
} Figures;

/* Of what it is ("" for all) comes before the name: "read" of "read_ops" and "read: operations". */
void figure(Figures *figures, const char *of, const char *name, const char *text, int digits, double value);
void figure_number(Figures *figures, const char *name, const char *text, uint64_t value);

/* Several of one kind. */
void figure_list(Figures *figures, const char *name, const char *text, const uint64_t *values, uint64_t n);

/* How many operations there were, and in what time. */
void figures_rate(Figures *figures, uint64_t operations, uint64_t nsec);

/* A histogram of nanoseconds, that is not empty. */
void figures_latencies(Figures *figures, const char *of, const Histogram *h);

/* Of one kind of operations, if there were any. */
void figures_operations(Figures *figures, const char *of, const Histogram *h);

/* What the process asked for; and its faults, with what the disk read if one is named. */
void figures_reads(Figures *figures, const Counters *c);
void figures_waits(Figures *figures, const char *disk, const Counters *c);

void figures_end(Figures *figures);
