/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "daemon/core/model.h"
#include "daemon/files/helper.h"
#include "read.h"

typedef enum ReplayJobKind {
        REPLAY_READ,   /* reads ahead what is recorded, in the control group of the unit */
        REPLAY_SAVE,   /* what the unit used becomes its recording */
        REPLAY_FORGET, /* removes the recording */
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
        int error;
        ReplayHarm harm;     /* that reading ahead would do, so nothing was read */
        bool removed;        /* there was a recording */
        uint64_t recorded_at; /* CLOCK_REALTIME, microseconds */
        ReplayCounts counts; /* of what was read, or is in the recording now */
} ReplayResult;

typedef void (*replay_forgotten_t)(int error, const char *file, void *userdata);

/* What a child process is to do for a unit. Nobody else waits for files, which may hang. */
typedef struct ReplayJob {
        ReplayJobKind kind;
        char *unit;
        char *dir;           /* of all recordings */
        const char *mounts;  /* "/proc/self/mountinfo" */
        Helper helper;

        /* to read */
        const char *root;    /* where control groups are mounted */
        char *cgroup;
        uint64_t cgroup_id;
        bool alone;          /* nobody else is in it any more */

        /* to save */
        Uses uses;
        bool brief;          /* the unit ended early: a recording of more pages stays */

        /* to forget */
        replay_forgotten_t forgotten; /* NULL: nobody wants to know */
        void *userdata;

        /* of jobs.c */
        struct ReplayJobs *jobs;
        bool stopped;        /* nobody wants to know what came of it */
        sd_event_source *ended, *timeout;
} ReplayJob;

ReplayJob *replay_job_new(ReplayJobKind kind, const char *unit, const char *dir);
ReplayJob *replay_job_free(ReplayJob *j);

int replay_job_start(ReplayJob *j);
/* What came of it, once it has ended. -ENOENT: there is nothing to read; -ENODATA: nothing to save;
 * -EALREADY: more is kept already; -ECANCELED: the unit has no process any more. */
int replay_job_end(ReplayJob *j, ReplayResult *ret);
