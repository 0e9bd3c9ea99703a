/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "forecast.h"
#include "sample.h"

/* What "advise" and "size" both show. */

/* One or two lines: how much was recorded, and what the cache is. */
void sample_print_title(const Sample *sample);

/* The same as a new object, to be filled with more. */
struct json_object *sample_to_json(const Sample *sample);

/* Draws what rows would miss into an SVG file. EXIT_SUCCESS or a negative errno (logged). */
int sample_plot(const Sample *sample, const Simulation *s, const char *path);
