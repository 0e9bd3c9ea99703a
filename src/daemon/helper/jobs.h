/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "helper.h"
#include "shared/macro.h"

/* Has child processes do jobs for units: those of one unit one after the other, in order, and only a few
 * at a time. Jobs that are patient, such as saves, run one at a time; others do not wait for them, but for
 * those of the same unit before them. A child that goes on for too long, since a disk does not answer, is
 * killed, and given up even if it does not end; until it does, it keeps its place, so that there are never
 * many. */
typedef struct Jobs Jobs;

/* So many run at a time, and one more that is patient. */
#define JOBS_URGENT_MAX 4U

/* What came of forgetting; file is the one that was removed, NULL if there was none. */
typedef void (*job_forgotten_t)(int error, const char *file, void *userdata);

/* What a child process is to do for a unit: the beginning of a larger structure, which its owner knows. */
typedef struct Job {
        unsigned kind;       /* the owner's, below 32 */
        bool patient;
        char *unit;
        char *dir;           /* where files are kept for all units */
        uint64_t generation; /* the owner's: of what the job is for; 0: that is no matter */
        Helper helper;

        job_forgotten_t forgotten; /* NULL: nobody wants to know */
        void *userdata;

        /* of jobs.c */
        Jobs *jobs;
        sd_event_source *ended;
        unsigned minutes;    /* that began while it ran */
        bool urgent;         /* it is one of those that are not patient, or one of these waits for it */
        bool given_up;       /* what came of it is known, or nobody wants to know */
} Job;

void job_init(Job *j, unsigned kind, bool patient, const char *unit, const char *dir);
void job_done(Job *j);
/* Tells who asked what came of forgetting. */
void job_tell_forgotten(const Job *j, int error, bool removed);

typedef struct JobsHandler {
        size_t result_size; /* bytes that a child writes */
        /* Starts the helper of a job. If that fails, ended() is called with the error. */
        int (*start)(Job *j, void *userdata);
        /* What came of it: what the child wrote, or (result NULL) an error. -EIO: it did not end as it
         * should; -ETIMEDOUT: it was given up. */
        void (*ended)(Job *j, int error, const void *result, void *userdata);
        void (*free)(Job *j);
} JobsHandler;

Jobs *jobs_new(sd_event *event, const JobsHandler *handler, void *userdata);
/* Kills what runs; nobody hears of it. */
Jobs *jobs_free(Jobs *jobs);

/* The job belongs to jobs from now on, and is freed when it has ended. */
void jobs_add(Jobs *jobs, Job *j);
/* One of that kind and generation of a unit, which waits or runs, and is not given up. */
bool jobs_has(const Jobs *jobs, const char *unit, unsigned kind, uint64_t generation);
/* Takes back those of a unit, of the kinds in the mask, that wait. */
void jobs_drop(Jobs *jobs, const char *unit, unsigned kinds);
/* Kills the one of a unit that runs, if it is of these kinds; nobody hears what came of it. */
void jobs_kill(Jobs *jobs, const char *unit, unsigned kinds);
/* Nobody wants to know any more whether something was forgotten. */
void jobs_disown(Jobs *jobs, const void *userdata);

/* A minute has begun: gives up what runs for more than a whole one. */
void jobs_minute(Jobs *jobs);
bool jobs_are_busy(const Jobs *jobs);
/* Until all are done, or for that long (microseconds); returns whether they are. */
bool jobs_wait(Jobs *jobs, uint64_t usec);
