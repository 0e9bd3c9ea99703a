/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/model.h"

/* What a client wants to be set for a unit, or taken back. */
typedef struct ConfigChange {
        const char *unit;
        char **assignments; /* KEY=VALUE; NULL: take back what was set */
        bool persistent;    /* until it is taken back, not only until the next boot;
                             * taking back: that as well */
        bool dry_run;       /* only say what would come of it */
} ConfigChange;

typedef struct ConfigOutcome {
        int error;             /* 0; -EINVAL, others: see the problem; -ESRCH: no such unit;
                                * -EACCES, -ENOKEY: not permitted, not without asking the user */
        char *problem;         /* one sentence, without a full stop */
        GPtrArray *files;      /* those that are other ones now, strings */
        PolicySetting setting; /* what holds for the unit now */
        bool files_known;      /* or the unit has no files that could say something */
} ConfigOutcome;

void config_outcome_done(ConfigOutcome *o);

/* Carries it out, all of it or nothing. The unit's name has been checked. */
void config_change(Manager *m, const ConfigChange *c, ConfigOutcome *ret);

/* What holds for a unit; -ESRCH if nothing is known of it. */
void config_show(Manager *m, const char *unit, ConfigOutcome *ret);
