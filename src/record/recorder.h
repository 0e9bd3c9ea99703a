/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sim/trace-record.h"

/* The kernel's side of "cachectl record": BPF programs on the tracepoints of the page cache. */
typedef struct Recorder Recorder;

/* Gets each access; a negative return value ends recorder_process() with it. */
typedef int (*RecorderFunc)(const RecordAccess *a, void *userdata);

/* Begins to record what the threads of the control group with that id do, and of those below it. "level" is
 * how many directories it is below the root. "readahead": also what is read ahead. On failure *ret_error
 * says why, or is NULL. */
int recorder_new(uint64_t cgroup_id, uint32_t level, bool readahead, RecorderFunc func, void *userdata,
                 Recorder **ret, char **ret_error);

/* Becomes readable when there is something to process. */
int recorder_fd(const Recorder *r);

/* Hands over what was recorded up to now. */
int recorder_process(Recorder *r);

/* Stops recording, and hands over the rest. */
int recorder_stop(Recorder *r);

/* How many events there was no room for, because they came faster than they were processed. */
uint64_t recorder_lost(const Recorder *r);

Recorder *recorder_free(Recorder *r);
DEFINE_TRIVIAL_CLEANUP_FUNC(Recorder *, recorder_free);
