/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

#include "objects.h"

/* Writes the state of units (of object_kind_unit) and their counters (of object_kind_stats) in the text form
 * of OpenMetrics 1.0. What goes wrong is logged; that of writing shows in the file. */
int openmetrics_print(const ObjectList *units, const ObjectList *stats, FILE *f);
