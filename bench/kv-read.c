/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "bench-util.h"
#include "counters.h"
#include "histogram.h"
#include "kv.h"
#include "zipf.h"

/* One measured run: the database, what the threads share, and the totals. */
typedef struct Run {
        const ReadOptions *options;
        rocksdb_t *db;
        rocksdb_readoptions_t *read;
        uint64_t records;
        uint64_t value_size;

        pthread_barrier_t barrier;
        uint64_t begin, end;
        Counters before, after;
} Run;

typedef struct Reader {
        Run *run;
        pthread_t thread;
        Zipf zipf;
        uint64_t warmup, operations;
        char *expected;
        Histogram latency;
        uint64_t errors;
} Reader;

/* Looks one record up and compares the value with what the loader must have written. */
static bool read_record(Reader *reader, uint64_t record) {
        Run *run = reader->run;
        rocksdb_pinnableslice_t *slice;
        _cleanup_free_ char *error = NULL;
        char key[KV_KEY_SIZE + 1];
        const char *value;
        size_t size;
        bool good;

        kv_key(key, record);
        slice = rocksdb_get_pinned(run->db, run->read, key, KV_KEY_SIZE, &error);
        if (!slice)
                return false;

        value = rocksdb_pinnableslice_value(slice, &size);
        kv_value(reader->expected, KV_VALUE_MIN, record);
        good = value && size == run->value_size && memcmp(value, reader->expected, KV_VALUE_MIN) == 0;

        rocksdb_pinnableslice_destroy(slice);
        return good;
}

static void *reader_main(void *argument) {
        Reader *reader = argument;
        Run *run = reader->run;

        for (uint64_t i = 0; i < reader->warmup; i++)
                reader->errors += !read_record(reader, zipf_next(&reader->zipf));

        /* One thread takes the counters, while the others wait at the second barrier. */
        if (pthread_barrier_wait(&run->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
                counters_take(run->options->disk, &run->before);
                run->begin = now_nsec();
        }
        (void) pthread_barrier_wait(&run->barrier);

        for (uint64_t i = 0; i < reader->operations; i++) {
                uint64_t record = zipf_next(&reader->zipf), start = now_nsec();

                reader->errors += !read_record(reader, record);
                histogram_add(&reader->latency, now_nsec() - start);
        }

        if (pthread_barrier_wait(&run->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
                run->end = now_nsec();
                counters_take(run->options->disk, &run->after);
        }

        return NULL;
}

static int open_database(Run *run) {
        const ReadOptions *options = run->options;
        rocksdb_options_t *db_options = kv_options_new(options->block_cache, options->open_files);
        _cleanup_free_ char *error = NULL, *meta = NULL, *copy = NULL;
        size_t size = 0;

        if (!db_options)
                return -EINVAL;

        run->db = rocksdb_open_for_read_only(db_options, options->directory, 0, &error);
        rocksdb_options_destroy(db_options);
        if (error)
                return log_error(-EIO, "%s: cannot open the database: %s", options->directory, error);

        run->read = rocksdb_readoptions_create();
        meta = rocksdb_get(run->db, run->read, KV_META_KEY, strlen(KV_META_KEY), &size, &error);
        copy = meta ? strndup(meta, size) : NULL;
        if (!copy ||
            sscanf(copy, "records=%" SCNu64 " value-size=%" SCNu64, &run->records, &run->value_size) != 2)
                return log_error(-EINVAL, "%s: not a database made by \"kv load\"", options->directory);
        if (run->records < 2 || run->value_size < KV_VALUE_MIN)
                return log_error(-EINVAL, "%s: strange database: %s", options->directory, copy);

        return 0;
}

static int start_and_join(Run *run, Reader *readers) {
        uint64_t n = run->options->threads;

        for (uint64_t i = 0; i < n; i++) {
                Reader *reader = &readers[i];
                int r;

                zipf_init(&reader->zipf, run->records, run->options->universe ?: run->records,
                          run->options->theta, run->options->seed * 1000003 + i);
                reader->run = run;
                reader->warmup = run->options->warmup / n;
                reader->operations = run->options->operations / n + (i < run->options->operations % n);
                reader->expected = malloc(KV_VALUE_MIN);
                if (!reader->expected)
                        return log_error(-ENOMEM, "out of memory");

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

static void print_text(const Run *run, const Histogram *h, double seconds, const Counters *d) {
        printf("reads                %" PRIu64 "\n"
               "seconds              %.6f\n"
               "reads a second       %.1f\n"
               "latency mean, us     %.2f\n"
               "latency P50, us      %.2f\n"
               "latency P99, us      %.2f\n"
               "latency P99.9, us    %.2f\n"
               "read calls           %" PRIu64 "\n"
               "bytes requested      %" PRIu64 "\n"
               "bytes from disk      %" PRIu64 "\n",
               h->n, seconds, (double) h->n / seconds, (double) h->sum / (double) h->n / 1e3,
               microseconds(h, 0.5), microseconds(h, 0.99), microseconds(h, 0.999),
               d->read_calls, d->bytes_requested, d->bytes_from_disk);
        if (run->options->disk)
                printf("disk reads           %" PRIu64 "\n"
                       "disk bytes           %" PRIu64 "\n",
                       d->disk_reads, d->disk_bytes);
}

static void print_json(const Run *run, const Histogram *h, double seconds, const Counters *d) {
        printf("{\"ops\": %" PRIu64 ", \"seconds\": %.6f, \"ops_per_second\": %.1f, "
               "\"mean_us\": %.2f, \"p50_us\": %.2f, \"p99_us\": %.2f, \"p999_us\": %.2f, "
               "\"read_calls\": %" PRIu64 ", \"bytes_requested\": %" PRIu64
               ", \"bytes_from_disk\": %" PRIu64,
               h->n, seconds, (double) h->n / seconds, (double) h->sum / (double) h->n / 1e3,
               microseconds(h, 0.5), microseconds(h, 0.99), microseconds(h, 0.999),
               d->read_calls, d->bytes_requested, d->bytes_from_disk);
        if (run->options->disk)
                printf(", \"disk_reads\": %" PRIu64 ", \"disk_bytes\": %" PRIu64,
                       d->disk_reads, d->disk_bytes);
        printf("}\n");
}

static void print_result(const Run *run, const Histogram *h) {
        double seconds = (double) (run->end - run->begin) / 1e9;
        Counters d = counters_difference(&run->after, &run->before);

        (run->options->json ? print_json : print_text)(run, h, seconds, &d);
}

int kv_read(const ReadOptions *options) {
        Run run = { .options = options };
        _cleanup_free_ Reader *readers = NULL;
        _cleanup_free_ Histogram *total = NULL;
        uint64_t errors = 0;
        int r;

        r = counters_take(options->disk, &run.before);
        if (r < 0)
                return r;

        r = open_database(&run);
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
                free(readers[i].expected);
        }

        rocksdb_readoptions_destroy(run.read);
        rocksdb_close(run.db);

        if (errors > 0)
                return log_error(-EIO, "%s: %" PRIu64 " reads failed or gave a wrong value",
                                 options->directory, errors);

        print_result(&run, total);
        return 0;
}
