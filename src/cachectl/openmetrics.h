/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "objects.h"

typedef enum MetricsFormat {
        METRICS_NONE, /* a table, or JSON */
        METRICS_OPENMETRICS,
        METRICS_PROMETHEUS,
} MetricsFormat;

/* Writes the state of units (of object_kind_unit) and their counters (of object_kind_stats) in the text form
 * of OpenMetrics 1.0, or in that of Prometheus, 0.0.4. The latter knows fewer types; its readers refuse what
 * is only of the former. What goes wrong is logged; that of writing shows in the file. */
int openmetrics_print(const GPtrArray *units, const GPtrArray *stats, MetricsFormat format, FILE *f);
