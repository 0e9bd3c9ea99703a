/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/model.h"
#include "daemon/helper/jobs.h"

/* Keeps what the policies of units learn: saves it every minute, and when a policy goes, and hands it to the
 * next one that understands it. It follows the units of the manager by itself. Nobody waits for it: maps and
 * files are read and written by child processes. */
typedef struct Learning Learning;

int learning_new(Manager *m, Learning **ret);
Learning *learning_free(Learning *l);
DEFINE_TRIVIAL_CLEANUP_FUNC(Learning *, learning_free);

/* What happens every minute: gives up what has hung for one, restores what could not be restored before, and
 * saves what has changed. */
void learning_minute(Learning *l);
/* Saves what has changed at the end, and waits for that; not for ever. */
void learning_finish(Learning *l);
/* Something is being saved or restored, or will be. */
bool learning_is_busy(const Learning *l);

/* Removes what is kept for a unit, and has its policy begin anew. The unit need not be there any more. Calls
 * forgotten() later, when nothing is left, unless learning_disown() comes first. */
void learning_forget(Learning *l, const char *unit, job_forgotten_t forgotten, void *userdata);
void learning_disown(Learning *l, const void *userdata);
