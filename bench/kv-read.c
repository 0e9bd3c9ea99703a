/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "bench-util.h"
#include "counters.h"
#include "histogram.h"
#include "kv-db.h"
#include "kv-read.h"
#include "kv-scan.h"
#include "kv-write.h"
#include "pool.h"
#include "zipf.h"

/* Names of the threads beside the reads, by which policies can know them. */
#define SCANS "kv-scan"
#define WRITES "kv-write"

/* One measured run: the database, what the threads share, and the totals. */
typedef struct Run {
        const ReadOptions *options;
        Database database;
        Scans *scans;
        Writes writes;
        Pool pools[2];          /* what runs beside the reads: scans, writes */
        size_t n_pools;

        pthread_barrier_t barrier;
        uint64_t begin, end;
        Counters before, after;
        PoolCounters pools_before[2], pools_after[2];
} Run;

typedef struct Reader {
        Run *run;
        pthread_t thread;
        Zipf zipf;
        uint64_t warmup, operations;
        Histogram latency;
        Counters io;            /* its own */
        uint64_t errors;
} Reader;

static uint64_t begin_read(Reader *reader) {
        for (size_t i = 0; i < reader->run->n_pools; i++)
                pool_before_read(&reader->run->pools[i]);
        return zipf_next(&reader->zipf);
}

static void drain_pools(Run *run) {
        for (size_t i = 0; i < run->n_pools; i++)
                pool_drain(&run->pools[i]);
}

/* One thread takes the counters, while the others wait at the second barrier.  No task is under way then:
 * what was released before is counted before.  In the same way the measured time ends when what the reads
 * released is done, so that each run has done the same work in it. */
static void begin_measurement(Run *run) {
        if (pthread_barrier_wait(&run->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
                drain_pools(run);
                for (size_t i = 0; i < run->n_pools; i++)
                        run->pools_before[i] = pool_counters(&run->pools[i]);
                counters_take(run->options->disk, &run->before);
                run->begin = now_nsec();
        }
        (void) pthread_barrier_wait(&run->barrier);
}

static void end_measurement(Run *run) {
        if (pthread_barrier_wait(&run->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
                drain_pools(run);
                run->end = now_nsec();
                for (size_t i = 0; i < run->n_pools; i++)
                        run->pools_after[i] = pool_counters(&run->pools[i]);
                counters_take(run->options->disk, &run->after);
        }
}

static void *reader_main(void *argument) {
        Reader *reader = argument;
        Run *run = reader->run;
        Counters before = {}, after = {};

        for (uint64_t i = 0; i < reader->warmup; i++)
                reader->errors += !database_get(&run->database, begin_read(reader));

        begin_measurement(run);
        (void) counters_take_thread(&before);

        for (uint64_t i = 0; i < reader->operations; i++) {
                uint64_t record = begin_read(reader), start = now_nsec();

                reader->errors += !database_get(&run->database, record);
                histogram_add(&reader->latency, now_nsec() - start);
        }

        (void) counters_take_thread(&after);
        reader->io = counters_difference(&after, &before);
        end_measurement(run);
        return NULL;
}

static int start_scans(Run *run) {
        const ReadOptions *options = run->options;
        Pool *pool = &run->pools[run->n_pools];
        int r;

        r = scans_new(options, &run->scans);
        if (r < 0)
                return r;

        *pool = (Pool) {
                .name = SCANS,
                .work = scans_work,
                .context = run->scans,
                .threads = (unsigned) options->scan_threads,
                .depth = (unsigned) options->scan_threads,
                .every = options->scan_every,
        };
        run->n_pools++;
        return pool_start(pool);
}

static int start_writes(Run *run) {
        const ReadOptions *options = run->options;
        Pool *pool = &run->pools[run->n_pools];

        writes_init(&run->writes, options, &run->database);
        *pool = (Pool) {
                .name = WRITES,
                .work = writes_work,
                .context = &run->writes,
                .threads = (unsigned) options->write_threads,
                .depth = WRITES_AHEAD,
                .every = options->write_every,
        };
        run->n_pools++;
        return pool_start(pool);
}

static int open_all(Run *run) {
        const ReadOptions *options = run->options;
        bool writable = options->write_threads > 0;
        int r = 0;

        /* before there is another handle with descriptors of the same tables */
        if (options->scan_threads > 0)
                r = start_scans(run);
        if (r < 0)
                return r;

        r = database_open(options->directory,
                          writable ? writes_options(options)
                                   : kv_options_new(options->block_cache, options->open_files,
                                                    options->index_in_cache),
                          writable, &run->database);
        if (r >= 0 && writable)
                r = start_writes(run);
        return r;
}

static uint64_t close_all(Run *run) {
        uint64_t errors = 0;

        for (size_t i = 0; i < run->n_pools; i++) {
                pool_stop(&run->pools[i]);
                errors += pool_counters(&run->pools[i]).errors;
        }
        if (run->scans)
                scans_free(run->scans);
        if (run->options->write_threads > 0)
                writes_done(&run->writes);
        database_close(&run->database);
        return errors;
}

static int start_and_join(Run *run, Reader *readers) {
        uint64_t n = run->options->threads, records = run->database.records;

        for (uint64_t i = 0; i < n; i++) {
                Reader *reader = &readers[i];
                int r;

                zipf_init(&reader->zipf, records, run->options->universe ?: records,
                          run->options->theta, run->options->seed * 1000003 + i);
                reader->run = run;
                reader->warmup = run->options->warmup / n;
                reader->operations = run->options->operations / n + (i < run->options->operations % n);

                /* Threads already started wait at the barrier for ever; the caller leaves the process. */
                r = pthread_create(&reader->thread, NULL, reader_main, reader);
                if (r != 0)
                        return log_error(-r, "cannot start a thread: %s", strerror(r));
        }

        for (uint64_t i = 0; i < n; i++)
                (void) pthread_join(readers[i].thread, NULL);

        return 0;
}

static double microseconds(const Histogram *h, double quantile) {
        return (double) histogram_quantile(h, quantile) / 1e3;
}

typedef struct Figure {
        const char *name;       /* in JSON */
        const char *text;
        double value;
        int digits;             /* after the point */
} Figure;

static void print_figures(const Figure *figures, size_t n, bool json) {
        for (size_t i = 0; i < n; i++)
                if (json)
                        printf("%s\"%s\": %.*f", i == 0 ? "{" : ", ", figures[i].name, figures[i].digits,
                               figures[i].value);
                else
                        printf("%-28s %.*f\n", figures[i].text, figures[i].digits, figures[i].value);
        if (json)
                printf("}\n");
}

/* The figures of the pool, if the run has it. */
static size_t pool_figures(const Run *run, const char *name, const Figure template[static 3], Figure *ret) {
        for (size_t i = 0; i < run->n_pools; i++) {
                const PoolCounters *before = &run->pools_before[i], *after = &run->pools_after[i];
                double done = (double) (after->done - before->done);
                double busy = (double) (after->busy_ns - before->busy_ns) / 1e9;

                if (strcmp(run->pools[i].name, name) != 0)
                        continue;

                memcpy(ret, template, 3 * sizeof(Figure));
                ret[0].value = done;
                ret[1].value = busy > 0 ? done / busy * run->pools[i].threads : 0;
                ret[2].value = (double) (after->waits - before->waits);
                return 3;
        }

        return 0;
}

static void print_result(const Run *run, const Histogram *h, const Counters *readers) {
        static const Figure scans[] = {
                { "scans",             "scans"                         },
                { "scans_per_second",  "scans a second of scanning", 0, 2 },
                { "scan_waits",        "reads that waited for scans"   },
        }, writes[] = {
                { "writes",            "writes"                        },
                { "writes_per_second", "writes a second of writing", 0, 1 },
                { "write_waits",       "reads that waited for writes"  },
        };
        double seconds = (double) (run->end - run->begin) / 1e9;
        Counters d = counters_difference(&run->after, &run->before);
        Figure figures[20] = {
                { "ops",               "reads",             (double) h->n                         },
                { "seconds",           "seconds",           seconds,                            6 },
                { "ops_per_second",    "reads a second",    (double) h->n / seconds,            1 },
                { "mean_us",           "latency mean, us",  (double) h->sum / (double) h->n / 1e3, 2 },
                { "p50_us",            "latency P50, us",   microseconds(h, 0.5),               2 },
                { "p99_us",            "latency P99, us",   microseconds(h, 0.99),              2 },
                { "p999_us",           "latency P99.9, us", microseconds(h, 0.999),             2 },
                { "read_calls",        "read calls",        (double) d.read_calls                 },
                { "bytes_requested",   "bytes requested",   (double) d.bytes_requested            },
                { "bytes_from_disk",   "bytes from disk",   (double) d.bytes_from_disk            },
                { "get_bytes",         "bytes from disk, by reads", (double) readers->bytes_from_disk },
                { "get_requested",     "bytes requested, by reads", (double) readers->bytes_requested },
        };
        size_t n = 12;

        if (run->options->disk) {
                figures[n++] = (Figure) { "disk_reads", "disk reads", (double) d.disk_reads };
                figures[n++] = (Figure) { "disk_bytes", "disk bytes", (double) d.disk_bytes };
        }
        n += pool_figures(run, SCANS, scans, figures + n);
        n += pool_figures(run, WRITES, writes, figures + n);
        print_figures(figures, n, run->options->json);
}

int kv_read(const ReadOptions *options) {
        Run run = { .options = options };
        _cleanup_free_ Reader *readers = NULL;
        _cleanup_free_ Histogram *total = NULL;
        Counters io = {};
        uint64_t errors = 0;
        int r;

        r = counters_take(options->disk, &run.before);
        if (r < 0)
                return r;

        r = open_all(&run);
        if (r < 0)
                return r;

        readers = calloc(options->threads, sizeof(Reader));
        total = calloc(1, sizeof(Histogram));
        if (!readers || !total)
                return log_error(-ENOMEM, "out of memory");

        (void) pthread_barrier_init(&run.barrier, NULL, (unsigned) options->threads);
        r = start_and_join(&run, readers);
        if (r < 0)
                exit(EXIT_FAILURE);

        for (uint64_t i = 0; i < options->threads; i++) {
                histogram_merge(total, &readers[i].latency);
                errors += readers[i].errors;
                io.bytes_from_disk += readers[i].io.bytes_from_disk;
                io.bytes_requested += readers[i].io.bytes_requested;
        }
        errors += close_all(&run);

        if (errors > 0)
                return log_error(-EIO, "%s: %" PRIu64 " operations failed or gave a wrong value",
                                 options->directory, errors);

        print_result(&run, total, &io);
        return 0;
}
