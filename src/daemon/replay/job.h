/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/helper/jobs.h"
#include "read.h"

typedef enum ReplayJobKind {
        REPLAY_READ,       /* reads ahead what is recorded, in the control group of the unit */
        REPLAY_SAVE,       /* what the unit used becomes its recording */
        REPLAY_SAVE_BRIEF, /* the same, but it ended early: a recording of more pages stays */
        REPLAY_FORGET,     /* removes the recording */
        REPLAY_LOOK,       /* what is recorded */
} ReplayJobKind;

/* Why nothing is read ahead in a control group. */
typedef enum ReplayHarm {
        REPLAY_HARM_NONE,
        REPLAY_HARM_DELEGATED,
        REPLAY_HARM_READS,
        REPLAY_HARM_TASKS,
} ReplayHarm;

/* What a child says of its job. */
typedef struct ReplayResult {
        int error;           /* -ENOENT: there is nothing to read; -ENODATA: nothing to save; -EALREADY: more
                              * is kept already; -ECANCELED: the unit has no process any more; -ETIME: it is
                              * too late */
        ReplayHarm harm;     /* that reading ahead would do, so nothing was read */
        bool removed;        /* there was a recording */
        RecordingSummary kept; /* the recording that is read, or was saved */
        ReplayCounts counts; /* of what was read */
} ReplayResult;

/* What a child process is to do for a unit. Nobody else waits for files, which may hang. */
typedef struct ReplayJob {
        Job job;
        const char *mounts;  /* "/proc/self/mountinfo" */

        /* to read */
        const char *root;    /* where control groups are mounted */
        char *cgroup;
        uint64_t cgroup_id;
        uint64_t deadline;   /* CLOCK_MONOTONIC, microseconds */
        bool alone;          /* nobody else is in it any more */

        /* to save */
        Uses uses;
} ReplayJob;

ReplayJob *replay_job_new(ReplayJobKind kind, const char *unit, const char *dir);
void replay_job_free(Job *j);

/* Starts a child that writes a ReplayResult. */
int replay_job_start(Job *j, void *userdata);
