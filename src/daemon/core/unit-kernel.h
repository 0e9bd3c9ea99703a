/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

/* What the kernel says about a unit at this moment, for whoever shows it. */

/* The policy in force, inherited or own, "none" for the stock one, or NULL if the kernel cannot be asked.
 * The result is valid as long as k, which gets the details. */
const char *unit_read_verified(Unit *u, KernelPolicy *k);

/* The kernel's counters, and those of the program that the policy has the daemon run. */
int unit_stat_foreach(Unit *u, flat_keyed_func_t func, void *userdata);

/* For g_ptr_array_sort(): by name. */
int unit_compare(const void *a, const void *b);
