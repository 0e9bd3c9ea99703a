/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "outcome.h"

/* What no line of a configuration file can hold. */
int config_refuse_characters(ConfigOutcome *o);

/* KEY=VALUE each, NULL at the end; the lines have no file yet. */
int config_read_assignments(char **assignments, PolicySetting *ret, ConfigOutcome *o);

/* Sets the outcome's setting to what holds for the unit with these overrides (one for each kind) and holds
 * (of PolicySetting; NULL: none). */
int config_resolve(Manager *m, const char *unit, const PolicySetting *const *overrides, GPtrArray *holds,
                   ConfigOutcome *o);

/* Whether the outcome's setting can be carried out. asked is what of it a client asks for, source where that
 * is said to come from, which the sentence about a problem leaves out. */
int config_check(Manager *m, const char *unit, const PolicySetting *asked, const char *source,
                 ConfigOutcome *o);

/* What holds for a unit; -ESRCH if it does not exist, or is not known here, and nothing is set for it. */
void config_show(Manager *m, const char *unit, bool exists, ConfigOutcome *ret);
