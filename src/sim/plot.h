/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A picture of miss ratios by cache size, as SVG: lines, one a policy; bars if there is one size. */

typedef struct PlotSize {
        const char *label;
        uint32_t pages; /* at least 1 */
} PlotSize;

typedef struct PlotSeries {
        const char *name;
        bool optimum;         /* drawn as the border that it is */
        const double *ratios; /* one for each size, in the same order; negative: unknown */
} PlotSeries;

typedef struct Plot {
        const char *title;
        const PlotSize *sizes; /* in any order */
        size_t n_sizes;
        const PlotSeries *series;
        size_t n_series;
} Plot;

/* Writes the file, or replaces it. Returns a negative errno. */
int plot_write(const Plot *plot, const char *path);
