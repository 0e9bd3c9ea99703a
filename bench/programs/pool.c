/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <string.h>

#include "bench-util.h"
#include "pool.h"

static void take(sem_t *semaphore) {
        while (sem_wait(semaphore) < 0)
                assert(errno == EINTR);
}

static void *pool_main(void *argument) {
        Pool *pool = argument;

        for (;;) {
                uint64_t begin;

                if (pool->every > 0)
                        take(&pool->tasks);
                if (pool->stop)
                        return NULL;

                begin = now_nsec();
                if (!pool->work(pool->context, atomic_fetch_add(&pool->next, 1)))
                        pool->errors++;
                atomic_fetch_add(&pool->busy_ns, now_nsec() - begin);
                pool->done++;
                if (pool->every > 0)
                        (void) sem_post(&pool->room);
        }
}

int pool_start(Pool *pool) {
        assert(pool->threads > 0 && pool->threads <= POOL_THREADS_MAX);
        assert(pool->depth >= pool->threads);

        (void) sem_init(&pool->room, 0, pool->depth);
        (void) sem_init(&pool->tasks, 0, 0);

        for (unsigned i = 0; i < pool->threads; i++) {
                int r;

                r = pthread_create(&pool->thread[i], NULL, pool_main, pool);
                if (r == 0)
                        r = pthread_setname_np(pool->thread[i], pool->name);
                if (r != 0)
                        return log_error(-r, "cannot start a thread %s: %s", pool->name, strerror(r));
        }

        return 0;
}

void pool_before_read(Pool *pool) {
        if (pool->every == 0 || (atomic_fetch_add(&pool->reads, 1) + 1) % pool->every != 0)
                return;

        if (sem_trywait(&pool->room) < 0) {
                pool->waits++;
                take(&pool->room);
        }
        (void) sem_post(&pool->tasks);
}

void pool_drain(Pool *pool) {
        if (pool->every == 0)
                return;
        for (unsigned i = 0; i < pool->depth; i++)
                take(&pool->room);
        for (unsigned i = 0; i < pool->depth; i++)
                (void) sem_post(&pool->room);
}

PoolCounters pool_counters(Pool *pool) {
        return (PoolCounters) {
                .done = pool->done,
                .errors = pool->errors,
                .busy_ns = pool->busy_ns,
                .waits = pool->waits,
        };
}

void pool_count_anew(Pool *pool) {
        pool->done = pool->busy_ns = pool->waits = 0;
}

void pool_stop(Pool *pool) {
        pool->stop = true;
        for (unsigned i = 0; i < pool->threads; i++)
                (void) sem_post(&pool->tasks);
        for (unsigned i = 0; i < pool->threads; i++)
                (void) pthread_join(pool->thread[i], NULL);
        (void) sem_destroy(&pool->room);
        (void) sem_destroy(&pool->tasks);
}
