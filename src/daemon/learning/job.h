/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/helper/jobs.h"
#include "shared/learned-file.h"

typedef enum LearningJobKind {
        LEARNING_SAVE,
        LEARNING_RESTORE,
        LEARNING_FORGET, /* removes the file, and empties the map, if there is one */
} LearningJobKind;

/* What a child process is to do for one unit: between its policy's map and its file. The generation is that
 * of the unit's policy. */
typedef struct LearningJob {
        Job job;
        char *label;
        int map_fd;          /* its own: the map stays, even if the policy goes; -EBADF: none */
        bool has_sum;        /* the file is known to have: */
        uint8_t sum[LEARNED_SUM_SIZE];
} LearningJob;

/* What a child says. */
typedef struct LearningResult {
        int error;           /* -ENOENT: there is nothing to restore */
        bool written;        /* the file was, as it did not have that already; or removed */
        bool has_sum;        /* if there is no error, the file is known to have: */
        uint8_t sum[LEARNED_SUM_SIZE];
} LearningResult;

LearningJob *learning_job_new(LearningJobKind kind, const char *unit, const char *dir, const char *label,
                              int map_fd);
void learning_job_free(Job *j);

/* Starts a child that writes a LearningResult. */
int learning_job_start(LearningJob *j);
