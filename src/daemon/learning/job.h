/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "daemon/files/helper.h"
#include "shared/learned-file.h"

typedef enum LearningJobKind {
        LEARNING_SAVE,
        LEARNING_RESTORE,
        LEARNING_FORGET, /* removes the file, and empties the map, if there is one */
} LearningJobKind;

typedef struct LearningJobs LearningJobs;

/* What a child process is to do for one unit: between its policy's map and its file. */
typedef struct LearningJob {
        LearningJobKind kind;
        char *unit;
        char *dir;
        char *label;
        int map_fd;          /* its own: the map stays, even if the policy goes; -EBADF: none */
        uint64_t generation; /* of the unit's policy */
        bool written;        /* the file was, as it did not have that already; or removed */
        bool has_sum;        /* the file is known to have: */
        uint8_t sum[LEARNED_SUM_SIZE];
        Helper helper;

        void (*forgotten)(int error, const char *file, void *userdata); /* NULL: nobody wants to know */
        void *userdata;

        /* of jobs.c */
        LearningJobs *jobs;
        sd_event_source *ended;
        unsigned minutes;    /* that began while it ran */
        bool urgent;         /* somebody waits */
        bool given_up;       /* it was killed, and what came of it is known */
} LearningJob;

LearningJob *learning_job_new(LearningJobKind kind, const char *unit, const char *dir, const char *label,
                              int map_fd);
LearningJob *learning_job_free(LearningJob *j);
DEFINE_TRIVIAL_CLEANUP_FUNC(LearningJob *, learning_job_free);

int learning_job_start(LearningJob *j);
/* What came of it, once it has ended; the job then has the sum of the file, as far as it is known. -ENOENT:
 * there is nothing to restore. */
int learning_job_end(LearningJob *j);
