/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdarg.h>
#include <stdio.h>

#include "outcome.h"

void config_outcome_done(ConfigOutcome *o) {
        free(o->problem);
        if (o->files)
                g_ptr_array_unref(o->files);
        policy_setting_done(&o->setting);
        *o = (ConfigOutcome) {};
}

int config_refuse(ConfigOutcome *o, int error, const char *format, ...) {
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&o->problem, format, ap);
        va_end(ap);

        if (r < 0)
                o->problem = NULL;
        return r < 0 ? -ENOMEM : error;
}
