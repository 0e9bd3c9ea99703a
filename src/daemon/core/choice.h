/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

/* What is to run for a unit: the policy of its setting, or with CachePolicy=auto one of the candidates.
 * Which one is decided elsewhere (daemon/auto); here is what came of that, and what is shown of it. */

UnitChoice *unit_choice_free(UnitChoice *c);

/* Finds the policy that is to run, and how. The kernel calls what is attached own; "": nothing is; NULL: it
 * was not asked. The first time it was, what is attached goes on if it is a candidate; else the first one
 * begins. -EINVAL: *ret_problem is a sentence that names file and line. */
int unit_find_policy(Unit *u, const char *own, const Policy **ret_policy, PolicyConfig *ret,
                     char **ret_problem);

/* Whether that policy is attached, configured so. */
bool unit_runs(const Unit *u, const char *own, const Policy *p, const PolicyConfig *config);

/* Has another candidate run after the next reconcile. The sentence says why, for status and journal. NULL:
 * this is no switch, since that one is attached. */
void unit_choose(Unit *u, guint candidate, const char *why);
/* It does now. Returns whether that was a switch; it is counted then. */
bool unit_note_chosen(Unit *u);

/* As people see it: "s3fifo small_percent=20"; NULL: the daemon does not choose for the unit. */
const char *unit_chosen_name(const Unit *u);
/* The policy that is to run, as far as it is known. */
const char *unit_wanted_policy(const Unit *u);
