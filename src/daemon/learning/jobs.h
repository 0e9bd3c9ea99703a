/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job.h"

/* Has child processes do jobs: those of one unit one after the other, in order. Restoring and forgetting,
 * and the saves of that unit before them, do not wait for saves of other units, which run one at a time. A
 * child that goes on for too long, since a disk does not answer, is killed, and given up even if it does not
 * end; until it does, it keeps its place, so that there are never many. */

typedef struct LearningJobsHandler {
        /* The job is about to be started. */
        void (*begins)(LearningJob *j, void *userdata);
        /* What came of it. -ETIMEDOUT: it was given up. */
        void (*ended)(LearningJob *j, int r, void *userdata);
} LearningJobsHandler;

LearningJobs *learning_jobs_new(sd_event *event, const LearningJobsHandler *handler, void *userdata);
/* Kills what runs; nobody hears of it. */
LearningJobs *learning_jobs_free(LearningJobs *jobs);

/* The job belongs to jobs from now on, and is freed when it has ended. */
void learning_jobs_add(LearningJobs *jobs, LearningJob *j);
/* One of that kind for a policy of a unit, which waits or runs, and is not given up. */
bool learning_jobs_has(const LearningJobs *jobs, const char *unit, LearningJobKind kind,
                       uint64_t generation);
/* Takes back those of a unit, of the kinds in the mask, that wait. */
void learning_jobs_drop(LearningJobs *jobs, const char *unit, unsigned kinds);
/* Kills the one of a unit that runs, if it is of these kinds; nobody hears what came of it. */
void learning_jobs_kill(LearningJobs *jobs, const char *unit, unsigned kinds);
/* Nobody wants to know any more whether something was forgotten. */
void learning_jobs_disown(LearningJobs *jobs, void *userdata);

/* A minute has begun: gives up what runs for more than a whole one. */
void learning_jobs_minute(LearningJobs *jobs);
bool learning_jobs_are_busy(const LearningJobs *jobs);
/* Until all are done, or for that long; returns whether they are. */
bool learning_jobs_wait(LearningJobs *jobs, uint64_t usec);
