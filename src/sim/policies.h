/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "host.h"

/* The policies that are linked into this program, and their tunables. */

/* Sorted by name. */
const SimPolicy *sim_policies(void);

/* As the file or as the variable in it is called: "get-scan", "get_scan". NULL: there is none. */
const SimPolicy *sim_policy_find(const char *name);

/* Loads a policy that was compiled to a shared library with -DCACHEBPF_SIM, against the headers that are
 * installed with this program; it is one of sim_policies() then. The path has a slash in it. A policy that
 * is called as another one goes by the name of its file. -ENOENT, -ELIBBAD; *ret_error says why. */
int sim_policy_load(const char *path, const SimPolicy **ret, char **ret_error);

const SimTunable *sim_tunable_find(const SimPolicy *policy, const char *name);

/* What it counts, one after the other; NULL: nothing. */
const SimCounter *sim_counters(const SimPolicy *policy);

/* The range that its value may have; that of its type if the policy does not say. */
void sim_tunable_range(const SimTunable *t, int64_t *ret_min, int64_t *ret_max);

/* -ERANGE; nothing is changed then. In this process only: a run is a process of its own. */
int sim_tunable_set(const SimTunable *t, int64_t value);
