/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/wanted.h"

/* What came of a change, or would come of it. */
typedef struct ConfigOutcome {
        int error;             /* 0; -EINVAL, others: see the problem; -ESRCH: no such unit;
                                * -EACCES, -ENOKEY: not permitted, not without asking the user */
        char *problem;         /* one sentence, without a full stop */
        GPtrArray *files;      /* those that are other ones now, strings and a NULL; NULL: none */
        PolicySetting setting; /* what holds for the unit now */
        bool files_known;      /* or the unit has no files that could say something */
} ConfigOutcome;

void config_outcome_done(ConfigOutcome *o);

/* Sets the sentence of the outcome; returns the error. */
int config_refuse(ConfigOutcome *o, int error, const char *format, ...) _printf_(3, 4);

/* What no line of a configuration file can hold. */
int config_refuse_characters(ConfigOutcome *o);

/* KEY=VALUE each, NULL at the end; the lines have no file yet. */
int config_read_assignments(char **assignments, PolicySetting *ret, ConfigOutcome *o);

/* Sets the outcome's setting to what holds for the unit if that is what is said about it. */
void config_resolve(Manager *m, const char *unit, const PolicyLayers *l, ConfigOutcome *o);

/* Whether the outcome's setting can be carried out. asked is what of it a client asks for, source where that
 * is said to come from, which the sentence about a problem leaves out. */
int config_check(Manager *m, const char *unit, const PolicySetting *asked, const char *source,
                 ConfigOutcome *o);

/* What holds for a unit; -ESRCH if it does not exist, or is not known here, and nothing is set for it. */
void config_show(Manager *m, const char *unit, bool exists, ConfigOutcome *ret);
