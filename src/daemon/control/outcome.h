/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/model.h"

/* What came of a change, or would come of it. */
typedef struct ConfigOutcome {
        int error;             /* 0; -EINVAL, others: see the problem; -ESRCH: no such unit;
                                * -EACCES, -ENOKEY: not permitted, not without asking the user */
        char *problem;         /* one sentence, without a full stop */
        GPtrArray *files;      /* those that are other ones now, strings */
        PolicySetting setting; /* what holds for the unit now */
        bool files_known;      /* or the unit has no files that could say something */
} ConfigOutcome;

void config_outcome_done(ConfigOutcome *o);

/* Sets the sentence of the outcome; returns the error, or -ENOMEM. */
int config_refuse(ConfigOutcome *o, int error, const char *format, ...) _printf_(3, 4);
