/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cgroup.h"
#include "record/recorder.h"

/* Every second while something is recorded; false ends the recording. */
typedef bool (*RecordTick)(void *userdata);

/* Finds what is to be recorded; the unit must be active. Returns 0, an exit status, or a negative errno; the
 * reason has been logged. */
int record_find(const char *name, Cgroup *ret);

/* Begins to record the control group, as "settings" say but for the group itself. Negative errno; the reason
 * has been logged. */
int record_begin(const Cgroup *cgroup, RecorderSettings settings, Recorder **ret);

/* Records until a signal, the end of the time (usec, UINT64_MAX: none), an error, until "tick" (NULL: there
 * is none) wants no more, or until the control group is gone; then stops, and hands over the rest. Returns
 * what the recorder's function did if that is negative, 1 if the control group is gone, else 0. */
int record_until_end(Recorder *recorder, const Cgroup *cgroup, uint64_t duration, RecordTick tick,
                     void *userdata);

/* Says that the control group of the unit was gone before the end. */
void record_warn_gone(const Cgroup *cgroup);
