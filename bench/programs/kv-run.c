/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "bench-util.h"
#include "figures.h"
#include "kv-run.h"
#include "pool.h"

/* Updates beside the operations are of random records, all equally likely: they make the engine compact
 * tables in the background.  Operations may be so many of them ahead: as many as RocksDB collects before it
 * compacts, which are four small buffers full. */
#define WRITES_AHEAD 1024

/* Compaction keeps up with them: after so many, these wait until nothing is left to compact. */
#define WRITES_BATCH 64

/* What is written is not what is scanned or read. */
#define WRITES_SEED (UINT64_C(1) << 32)

enum {
        POOL_SCANS,
        POOL_WRITES,
        _POOL_MAX,
};

/* One measured run: the database, what the threads share, and the totals. */
typedef struct Run {
        const RunOptions *options;
        Database database;
        Scans *scans;
        Pool pools[_POOL_MAX];                  /* what runs beside the operations */
        pthread_barrier_t barrier;
        uint64_t drain_errors;                  /* of the thread that takes the counters */
        Counters before;

        uint64_t calendar;                      /* when it began, on the clock that others have, too */
        uint64_t begin, nsec;                   /* the same on ours, and how long it took */
        Curve curve;
        Histogram latency[_OPERATION_MAX];      /* by kind, in nanoseconds */
        Counters counters;                      /* of the process, and of the disk */
        Counters own;                           /* of the threads that do the operations */
        PoolCounters pool_counters[_POOL_MAX];
} Run;

typedef struct Worker {
        Run *run;
        Curve *curve;           /* of one of them */
        pthread_t thread;
        Sequence sequence;
        uint64_t warmup, operations;
        uint64_t next;          /* when the next operation is due, if they have a rate */
        Histogram latency[_OPERATION_MAX];
        Counters own;
        uint64_t errors;
} Worker;

static bool pool_used(const Pool *pool) {
        return pool->threads > 0;
}

/* Who is late does not wait, and so comes back to the rate, as with the target of YCSB.  That an operation
 * was late is not in its latency. */
static void wait_until_due(Worker *worker) {
        const RunOptions *options = worker->run->options;
        struct timespec due;

        if (options->rate == 0)
                return;

        due = (struct timespec) {
                .tv_sec = (time_t) (worker->next / NSEC_PER_SEC),
                .tv_nsec = (long) (worker->next % NSEC_PER_SEC),
        };
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
                ;
        worker->next += NSEC_PER_SEC * options->threads / options->rate;
}

static Operation begin_operation(Worker *worker) {
        wait_until_due(worker);
        for (size_t i = 0; i < ELEMENTSOF(worker->run->pools); i++)
                if (pool_used(&worker->run->pools[i]))
                        pool_before_read(&worker->run->pools[i]);
        return sequence_next(&worker->sequence);
}

static bool execute(const Database *d, const Operation *operation) {
        switch (operation->kind) {
        case OPERATION_READ:
                return database_get(d, operation->record);
        case OPERATION_UPDATE:
        case OPERATION_INSERT:
                return database_put(d, operation->record);
        case OPERATION_SCAN:
                return database_scan(d, operation->record, operation->length);
        case OPERATION_MODIFY:
                return database_get(d, operation->record) && database_put(d, operation->record);
        case _OPERATION_MAX:
                break;
        }

        assert(!"no such operation");
        return false;
}

/* Until all is done that operations have released or caused: tasks of the pools, and compaction. */
static void drain(Run *run) {
        for (size_t i = 0; i < ELEMENTSOF(run->pools); i++)
                pool_drain(&run->pools[i]);
        if (workload_writes(run->options->workload))
                run->drain_errors += run->database.engine->type->settle(run->database.engine) < 0;
}

/* One thread takes the counters, while the others wait at the second barrier.  No task is under way then:
 * what was released before is counted before.  In the same way the measured time ends when what the
 * operations released is done, so that each run has done the same work in it. */
static void begin_measurement(Run *run) {
        if (pthread_barrier_wait(&run->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
                drain(run);
                for (size_t i = 0; i < ELEMENTSOF(run->pools); i++)
                        pool_count_anew(&run->pools[i]);
                counters_take(run->options->disk, &run->before);
                run->calendar = calendar_nsec();
                run->begin = now_nsec();
        }
        (void) pthread_barrier_wait(&run->barrier);
}

static void end_measurement(Run *run) {
        Counters after = {};

        if (pthread_barrier_wait(&run->barrier) != PTHREAD_BARRIER_SERIAL_THREAD)
                return;

        drain(run);
        run->nsec = now_nsec() - run->begin;
        counters_take(run->options->disk, &after);
        run->counters = counters_difference(&after, &run->before);
        for (size_t i = 0; i < ELEMENTSOF(run->pools); i++)
                run->pool_counters[i] = pool_counters(&run->pools[i]);
}

static void *worker_main(void *argument) {
        Worker *worker = argument;
        Run *run = worker->run;
        Counters before = {}, after = {};

        worker->next = now_nsec();
        for (uint64_t i = 0; i < worker->warmup; i++) {
                Operation operation = begin_operation(worker);

                worker->errors += !execute(&run->database, &operation);
                if (worker->curve)
                        curve_step(worker->curve);
        }

        begin_measurement(run);
        /* who records what is asked for finds by it where the measured part begins */
        (void) pthread_setname_np(pthread_self(), "kv-measured");
        (void) counters_take_thread(&before);
        worker->next = now_nsec();

        for (uint64_t i = 0; i < worker->operations; i++) {
                Operation operation = begin_operation(worker);
                uint64_t start = now_nsec();

                worker->errors += !execute(&run->database, &operation);
                histogram_add(&worker->latency[operation.kind], now_nsec() - start);
                if (worker->curve)
                        curve_step(worker->curve);
        }

        (void) counters_take_thread(&after);
        worker->own = counters_difference(&after, &before);
        end_measurement(run);
        return NULL;
}

static int start_scans(Run *run) {
        unsigned threads = (unsigned) run->options->scan_threads;
        int r;

        r = scans_new(run->options, &run->scans);
        if (r < 0)
                return r;

        run->pools[POOL_SCANS] = (Pool) {
                .name = "kv-scan",      /* by which policies can know the threads */
                .work = scans_work,
                .context = run->scans,
                .threads = threads,
                .depth = threads,
        };
        return pool_start(&run->pools[POOL_SCANS]);
}

static bool write_one(void *context, uint64_t number) {
        const Run *run = context;
        const Database *d = &run->database;

        if (!database_put(d, random_numbered(run->options->seed + WRITES_SEED, number) % d->records))
                return false;

        return (number + 1) % WRITES_BATCH != 0 || d->engine->type->settle(d->engine) >= 0;
}

static int start_writes(Run *run) {
        run->pools[POOL_WRITES] = (Pool) {
                .name = "kv-write",
                .work = write_one,
                .context = run,
                .threads = (unsigned) run->options->write_threads,
                .depth = WRITES_AHEAD,
                .every = 1,
        };
        return pool_start(&run->pools[POOL_WRITES]);
}

static int open_all(Run *run) {
        const RunOptions *options = run->options;
        EngineOptions access = options->access;
        int r = 0;

        access.writable = options->write_threads > 0 || workload_writes(options->workload);
        /* before there is another handle with descriptors of the same tables */
        if (options->scan_threads > 0)
                r = start_scans(run);
        if (r >= 0)
                r = database_open(options->engine, options->directory, &access, &run->database);
        if (r >= 0 && options->write_threads > 0)
                r = start_writes(run);
        return r;
}

static uint64_t close_all(Run *run) {
        uint64_t errors = 0;

        for (size_t i = 0; i < ELEMENTSOF(run->pools); i++)
                if (pool_used(&run->pools[i])) {
                        pool_stop(&run->pools[i]);
                        errors += pool_counters(&run->pools[i]).errors;
                }
        if (run->scans)
                scans_free(run->scans);
        database_close(&run->database);
        return errors;
}

static int start_and_join(Run *run, Worker *workers) {
        const RunOptions *options = run->options;
        uint64_t n = options->threads;

        for (uint64_t i = 0; i < n; i++) {
                Worker *worker = &workers[i];
                int r;

                worker->run = run;
                worker->warmup = options->warmup / n;
                worker->operations = options->operations / n + (i < options->operations % n);
                if (i == 0 && options->curve > 0) {
                        worker->curve = &run->curve;
                        run->curve.operations = worker->warmup + worker->operations;
                        curve_begin(&run->curve);
                }
                sequence_init(&worker->sequence, options->workload, &(SequenceOptions) {
                        .records = run->database.records,
                        .universe = options->universe,
                        .theta = options->theta,
                        .seed = options->seed,
                        .operations = worker->warmup + worker->operations,
                        .thread = (unsigned) i,
                        .threads = (unsigned) n,
                });

                /* Threads already started wait at the barrier for ever; the caller leaves the process. */
                r = pthread_create(&worker->thread, NULL, worker_main, worker);
                if (r != 0)
                        return log_error(-r, "cannot start a thread: %s", strerror(r));
        }

        for (uint64_t i = 0; i < n; i++)
                (void) pthread_join(workers[i].thread, NULL);

        return 0;
}

/* Returns how many operations went wrong. */
static uint64_t add_up(Run *run, const Worker *workers) {
        uint64_t errors = 0;

        for (uint64_t i = 0; i < run->options->threads; i++) {
                for (OperationKind kind = 0; kind < _OPERATION_MAX; kind++)
                        histogram_merge(&run->latency[kind], &workers[i].latency[kind]);
                run->own.bytes_from_disk += workers[i].own.bytes_from_disk;
                run->own.bytes_requested += workers[i].own.bytes_requested;
                errors += workers[i].errors;
        }

        return errors;
}

static void print_pool(Figures *figures, const char *singular, const char *plural, const Pool *pool,
                       const PoolCounters *c) {
        double busy = (double) c->busy_ns / 1e9;

        if (!pool_used(pool))
                return;
        figure(figures, "", plural, plural, 0, (double) c->done);
        figure(figures, plural, "per_second", "a second of them", 2,
               busy > 0 ? (double) c->done / busy * pool->threads : 0);
        figure(figures, singular, "waits", "operations that waited", 0, (double) c->waits);
}

static void print(const Run *run) {
        Figures figures = { .json = run->options->json };
        Histogram all = {};

        for (OperationKind kind = 0; kind < _OPERATION_MAX; kind++)
                histogram_merge(&all, &run->latency[kind]);
        figures_rate(&figures, all.n, run->nsec);
        figure(&figures, "", "begin", "began, seconds since 1970", 6, (double) run->calendar / 1e9);
        figures_latencies(&figures, "", &all);
        for (OperationKind kind = 0; kind < _OPERATION_MAX; kind++)
                figures_operations(&figures, operation_name(kind), &run->latency[kind]);

        figures_reads(&figures, &run->counters);
        figure_number(&figures, "get_bytes", "bytes from disk, by operations", run->own.bytes_from_disk);
        figure_number(&figures, "get_requested", "bytes requested, by operations", run->own.bytes_requested);
        figures_waits(&figures, run->options->disk, &run->counters);
        curve_print(&run->curve, &figures);
        print_pool(&figures, "scan", "scans", &run->pools[POOL_SCANS], &run->pool_counters[POOL_SCANS]);
        print_pool(&figures, "write", "writes", &run->pools[POOL_WRITES], &run->pool_counters[POOL_WRITES]);
        figures_end(&figures);
}

int kv_run(const RunOptions *options) {
        _cleanup_free_ Worker *workers = NULL;
        _cleanup_free_ Run *run = NULL;
        uint64_t errors;
        int r;

        run = calloc(1, sizeof(Run));
        workers = calloc(options->threads, sizeof(Worker));
        if (!run || !workers)
                return log_error(-ENOMEM, "out of memory");

        run->options = options;
        run->curve = (Curve) { .disk = options->disk, .parts = options->curve };
        r = counters_take(options->disk, &run->before);
        if (r < 0)
                return r;

        r = open_all(run);
        if (r < 0)
                return r;

        (void) pthread_barrier_init(&run->barrier, NULL, (unsigned) options->threads);
        r = start_and_join(run, workers);
        if (r < 0)
                exit(EXIT_FAILURE);

        errors = add_up(run, workers) + run->drain_errors;
        errors += close_all(run);
        if (run->curve.error < 0)
                return run->curve.error;
        if (errors > 0)
                return log_error(-EIO, "%s: %" PRIu64 " operations failed or gave a wrong value",
                                 options->directory, errors);

        print(run);
        return 0;
}
