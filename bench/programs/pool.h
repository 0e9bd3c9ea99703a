/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define POOL_THREADS_MAX 16

/* Threads that work beside the readers: without a pause, if "every" is 0, one task after the other as fast
 * as they can.  Else in a fixed proportion: every so many reads release one task.  The
 * queue is bounded.  A reader that would get further ahead than that waits, and the pool has nothing to do
 * until the next task is due, so that the proportion holds at all times, whoever is the faster one; and in
 * each run, whatever the policy, the same tasks are done. */
typedef struct Pool {
        const char *name;                                       /* of its threads: at most 15 characters */
        bool (*work)(void *context, uint64_t number);           /* tasks are numbered from 0 */
        void *context;
        unsigned threads, depth;                                /* depth: of tasks not yet done */
        uint64_t every;

        pthread_t thread[POOL_THREADS_MAX];
        sem_t room, tasks;
        atomic_bool stop;
        atomic_uint_fast64_t reads, next;
        atomic_uint_fast64_t done, errors, busy_ns, waits;
} Pool;

typedef struct PoolCounters {
        uint64_t done;
        uint64_t errors;
        uint64_t busy_ns;       /* all threads together; without the time in which there was no task */
        uint64_t waits;         /* reads that had to wait for the pool */
} PoolCounters;

/* The first six members are set; the others are zero.  Returns 0 or -errno. */
int pool_start(Pool *pool);

/* Called by each reader before each read, not as a part of it. */
void pool_before_read(Pool *pool);

/* Returns when all tasks released so far are done.  One caller at a time, and no reads meanwhile.  Does
 * nothing if the threads work without a pause. */
void pool_drain(Pool *pool);

PoolCounters pool_counters(Pool *pool);

/* From now on; errors stay. */
void pool_count_anew(Pool *pool);

void pool_stop(Pool *pool);
