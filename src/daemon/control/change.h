/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "check.h"

/* What a client wants to be set for a unit, or taken back. */
typedef struct ConfigChange {
        const char *unit;
        char **assignments; /* KEY=VALUE; NULL: take back what was set */
        bool persistent;    /* until it is taken back, not only until the next boot;
                             * taking back: that as well */
        bool dry_run;       /* only say what would come of it */
} ConfigChange;

/* Carries it out, all of it or nothing. The unit's name has been checked. */
void config_change(Manager *m, const ConfigChange *c, ConfigOutcome *ret);
