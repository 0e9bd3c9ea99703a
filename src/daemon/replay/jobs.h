/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job.h"

/* Has child processes do jobs, those of one unit one after the other, in order. One that takes longer than a
 * minute is killed. */
typedef struct ReplayJobs ReplayJobs;

/* What came of a job, which is freed then. */
typedef void (*replay_job_ended_t)(const ReplayJob *j, int r, const ReplayResult *result, void *userdata);

ReplayJobs *replay_jobs_new(sd_event *event, replay_job_ended_t ended, void *userdata);
/* Kills what runs; nobody hears of it. */
ReplayJobs *replay_jobs_free(ReplayJobs *jobs);

/* The job belongs to jobs from now on. One to save takes the place of one that waits. */
void replay_jobs_add(ReplayJobs *jobs, ReplayJob *j);
/* Kills those of a unit of that kind, or takes them back if they wait. */
void replay_jobs_stop(ReplayJobs *jobs, const char *unit, ReplayJobKind kind);
/* Nobody wants to know any more whether something was forgotten. */
void replay_jobs_disown(ReplayJobs *jobs, const void *userdata);
bool replay_jobs_are_busy(const ReplayJobs *jobs);
