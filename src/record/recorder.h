/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "sim/trace-record.h"

/* The kernel's side of "cachectl record": BPF programs on the tracepoints of the page cache. */
typedef struct Recorder Recorder;

/* Gets each access; a negative return value ends recorder_process() with it. */
typedef int (*RecorderFunc)(const RecordAccess *a, void *userdata);

typedef struct RecorderSettings {
        uint64_t cgroup_id; /* of the control group whose threads are recorded, and those of groups below it */
        uint32_t level;     /* how many directories it is below the root */
        bool readahead;     /* also what is read ahead */
        uint32_t sample;    /* one page in so many is recorded, with all that is done to it; a power of two */
        RecorderFunc func;
        void *userdata;
} RecorderSettings;

/* Begins to record. On failure *ret_error says why, or is NULL. */
int recorder_new(const RecorderSettings *settings, Recorder **ret, char **ret_error);

/* Becomes readable when there is much to process. What is little waits for recorder_process() or
 * recorder_stop(). */
int recorder_fd(const Recorder *r);

/* Hands over what was recorded up to now. */
int recorder_process(Recorder *r);

/* Stops recording, and hands over the rest. */
int recorder_stop(Recorder *r);

/* Pages that were read or written up to now, be they in the sample or not. */
uint64_t recorder_accesses(const Recorder *r);

/* How many events there was no room for, because they came faster than they were processed. */
uint64_t recorder_lost(const Recorder *r);

Recorder *recorder_free(Recorder *r);
DEFINE_TRIVIAL_CLEANUP_FUNC(Recorder *, recorder_free);
