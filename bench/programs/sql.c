/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* sql: look-ups and range scans in an SQLite database whose cache is the page cache.  "sql load" makes the
 * database, "sql run" measures. */

#include <inttypes.h>
#include <pthread.h>

#include "bench-util.h"
#include "figures.h"
#include "kv.h"
#include "options.h"
#include "random.h"
#include "sql-db.h"
#include "zipf.h"

typedef struct RunOptions {
        const char *path;
        const char *disk;       /* block device whose counters are taken too, or NULL */
        uint64_t operations;    /* measured */
        uint64_t warmup;        /* before them, not measured */
        uint64_t scan_percent;  /* of the operations; the others are look-ups */
        uint64_t scan_length;   /* rows */
        uint64_t cache_pages;
        uint64_t seed;
        double theta;
        bool json;
} RunOptions;

typedef enum Kind {
        KIND_LOOK_UP,
        KIND_SCAN,
        _KIND_MAX,
} Kind;

static const char *const kind_names[_KIND_MAX] = {
        [KIND_LOOK_UP] = "lookup",
        [KIND_SCAN] = "scan",
};

typedef struct Run {
        const RunOptions *options;
        Sql *sql;
        Zipf zipf;
        Random kinds;
        Histogram latency[_KIND_MAX];
        Counters counters;
        uint64_t nsec;
        uint64_t errors;
} Run;

static Kind operate(Run *run) {
        Kind kind = random_below(&run->kinds, 100) < run->options->scan_percent ? KIND_SCAN : KIND_LOOK_UP;
        uint64_t record = zipf_next(&run->zipf);

        run->errors += kind == KIND_SCAN ? !sql_scan(run->sql, record, run->options->scan_length)
                                         : !sql_look_up(run->sql, record);
        return kind;
}

static int measure(Run *run) {
        const RunOptions *options = run->options;
        uint64_t records = sql_records(run->sql), begin, now;
        Counters before, after;
        int r;

        zipf_init(&run->zipf, records, records, options->theta, options->seed);
        random_seed(&run->kinds, ~options->seed);
        for (uint64_t i = 0; i < options->warmup; i++)
                (void) operate(run);

        r = counters_take(options->disk, &before);
        if (r < 0)
                return r;

        /* who records what is asked for finds by it where the measured part begins */
        (void) pthread_setname_np(pthread_self(), "sql-measured");
        now = begin = now_nsec();
        for (uint64_t i = 0; i < options->operations; i++) {
                uint64_t start = now;
                Kind kind = operate(run);

                now = now_nsec();
                histogram_add(&run->latency[kind], now - start);
        }
        run->nsec = now - begin;

        r = counters_take(options->disk, &after);
        if (r < 0)
                return r;

        run->counters = counters_difference(&after, &before);
        return 0;
}

static void print(const Run *run) {
        Figures figures = { .json = run->options->json };
        Histogram all = {};

        for (Kind kind = 0; kind < _KIND_MAX; kind++)
                histogram_merge(&all, &run->latency[kind]);
        figures_rate(&figures, all.n, run->nsec);
        figures_latencies(&figures, "", &all);
        for (Kind kind = 0; kind < _KIND_MAX; kind++)
                figures_operations(&figures, kind_names[kind], &run->latency[kind]);
        figures_reads(&figures, &run->counters);
        figures_waits(&figures, run->options->disk, &run->counters);
        figures_end(&figures);
}

static int measure_and_print(const RunOptions *options) {
        _cleanup_free_ Run *run = calloc(1, sizeof(Run));
        int r;

        if (!run)
                return log_error(-ENOMEM, "out of memory");

        run->options = options;
        r = sql_open(options->path, options->cache_pages, &run->sql);
        if (r < 0)
                return r;

        r = measure(run);
        sql_close(run->sql);
        if (r < 0)
                return r;
        if (run->errors > 0)
                return log_error(-EIO, "%s: %" PRIu64 " operations failed or gave a wrong value",
                                 options->path, run->errors);

        print(run);
        return 0;
}

static void help(void) {
        printf("%1$s load FILE --records=N [--value-size=BYTES]\n"
               "%1$s run FILE --ops=N [OPTIONS…]\n\n"
               "Reads of an SQLite database by one thread: look-ups by primary key, and scans of a\n"
               "secondary index with the rows that it names, which lie anywhere in the table.\n\n"
               "  --records=N          records of the database\n"
               "  --value-size=BYTES   size of a value (980: four records in a page)\n"
               "  --ops=N              measured operations\n"
               "  --warmup=N           operations before them (0)\n"
               "  --scans=PERCENT      part of the operations that are scans (10)\n"
               "  --scan-length=N      rows of a scan (10)\n"
               "  --zipf=THETA         skew of look-ups, and of where scans begin (0.99)\n"
               "  --seed=N             seed of the sequence of operations (1)\n"
               "  --cache=PAGES        SQLite's own cache (0)\n"
               "  --disk=NAME          also take the counters of /sys/class/block/NAME/stat\n"
               "  --json               one JSON object instead of text\n"
               "  --help               this text\n",
               program_invocation_short_name);
}

static int sql_main(int argc, char *argv[]) {
        uint64_t records = 0, value_size = 980;
        RunOptions run = { .scan_percent = 10, .scan_length = 10, .seed = 1, .theta = 0.99 };
        const Option options[] = {
                { "records",     2,            UINT64_C(1000000000), &records          },
                { "value-size",  KV_VALUE_MIN, KV_VALUE_MAX,         &value_size       },
                { "ops",         1,            UINT64_C(1) << 40,    &run.operations   },
                { "warmup",      0,            UINT64_C(1) << 40,    &run.warmup       },
                { "scans",       0,            100,                  &run.scan_percent },
                { "scan-length", 1,            UINT64_C(1000000000), &run.scan_length  },
                { "seed",        0,            UINT64_MAX,           &run.seed         },
                { "cache",       0,            UINT64_C(1) << 30,    &run.cache_pages  },
                { "zipf",        .parse = option_theta, .target = &run.theta },
                { "disk",        .text = &run.disk },
                { "json",        .flag = &run.json },
        };
        int r;

        r = options_parse(argc, argv, options, ELEMENTSOF(options), help);
        if (r != 0)
                return r < 0 ? r : 0;

        r = options_verb(argc, argv, (const Verb[]) {
                                { "load", "records", records        },
                                { "run",  "ops",     run.operations },
                        }, "file", &run.path);
        if (r < 0)
                return r;

        return r == 0 ? sql_load(run.path, records, value_size) : measure_and_print(&run);
}

int main(int argc, char *argv[]) {
        return sql_main(argc, argv) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
