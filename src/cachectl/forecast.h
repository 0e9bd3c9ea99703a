/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sample.h"
#include "simulate-setup.h"

/* What policies would have missed of a sample. */

/* A policy that does nothing: the kernel's own. */
#define FORECAST_STOCK "noop"

/* The policies that a sample says something of, with stock; names separated by commas, to be freed. */
char *forecast_policies(void);

/* Runs policies (names, separated by commas) and the optimum with caches of the unit, of n sizes in pages.
 * The trace stays the sample's. Returns a negative errno (logged), also if a run has failed. */
int forecast_run(const Sample *sample, const char *policies, const uint32_t *pages, size_t n,
                 Simulation *ret);
void forecast_done(Simulation *s);

/* The row of a policy by its name; SIZE_MAX: there is none. */
size_t forecast_row(const Simulation *s, const char *policy);

/* Misses per request of the unit: "row" with "size". */
double forecast_ratio(const Sample *sample, const Simulation *s, size_t row, size_t size);

/* The same of those misses that were first uses of a page. */
double forecast_cold_ratio(const Sample *sample, const Simulation *s, size_t row, size_t size);

/* As users know it: "stock" for noop, "optimum" for the optimum. */
const char *forecast_name(const Simulation *s, size_t row);

/* What another recording, of other pages, could have differed by, twice: one in twenty does more. */
double forecast_noise(const Sample *sample, double ratio);
