/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <pthread.h>

#include "bench-util.h"
#include "counters.h"
#include "figures.h"
#include "random.h"
#include "sql.h"
#include "zipf.h"

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
        const SqlRunOptions *options;
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
        const SqlRunOptions *options = run->options;
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
                if (run->latency[kind].n > 0) {
                        figure(&figures, kind_names[kind], "ops", "operations", 0,
                               (double) run->latency[kind].n);
                        figures_latencies(&figures, kind_names[kind], &run->latency[kind]);
                }

        figures_reads(&figures, &run->counters);
        figures_faults(&figures, &run->counters);
        figures_disk(&figures, run->options->disk, &run->counters);
        figures_end(&figures);
}

int sql_run(const SqlRunOptions *options) {
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
