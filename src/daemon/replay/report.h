/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/model.h"
#include "job.h"

/* What CacheReplay= did, for the journal and for those who look at the unit. The unit may be gone (NULL), or
 * want it no more; then nothing is shown. */

/* Why it cannot be recorded: a sentence without a full stop. */
void report_reason(Unit *u, const char *reason);

/* What came of jobs; the result is NULL if error is negative and the child said nothing. */
void report_read(Unit *u, const ReplayJob *j, int error, const ReplayResult *result);
/* A failure is said once (quiet: it was said already). Returns whether it is one. */
bool report_saved(Unit *u, const ReplayJob *j, int error, const ReplayResult *result, bool quiet);
void report_looked(Unit *u, const ReplayJob *j, int error, const ReplayResult *result);
