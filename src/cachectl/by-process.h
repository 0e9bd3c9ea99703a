/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* "stats" and "top" with --by=process: who does it. They need no daemon, but root. */

/* Whether --by= wants processes. Returns 0, or an exit status (logged) if it wants something unknown, or
 * other options do not go with it. */
int by_process_wanted(bool *ret);

/* Like the function of a verb. "names": at most one, of a unit or the path of a control group. */
int stats_processes(char **names, size_t n_names);
int top_processes(char **names, size_t n_names);
