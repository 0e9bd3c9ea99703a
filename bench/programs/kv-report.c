/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bench-util.h"
#include "figures.h"
#include "kv-report.h"

static void operations(Figures *figures, const Result *result) {
        Histogram all = {};

        for (OperationKind kind = 0; kind < _OPERATION_MAX; kind++)
                histogram_merge(&all, &result->latency[kind]);

        figures_rate(figures, all.n, result->nsec);
        figure(figures, "", "begin", "began, seconds since 1970", 6, (double) result->begin / 1e9);
        figures_latencies(figures, "", &all);

        for (OperationKind kind = 0; kind < _OPERATION_MAX; kind++) {
                const Histogram *h = &result->latency[kind];

                if (h->n == 0)
                        continue;
                figure(figures, operation_name(kind), "ops", "operations", 0, (double) h->n);
                figures_latencies(figures, operation_name(kind), h);
        }
}

static void kernel_counters(Figures *figures, const RunOptions *options, const Result *result) {
        figures_reads(figures, &result->counters);
        figure_number(figures, "get_bytes", "bytes from disk, by operations", result->own.bytes_from_disk);
        figure_number(figures, "get_requested", "bytes requested, by operations",
                      result->own.bytes_requested);
        figures_faults(figures, &result->counters);
        figures_disk(figures, options->disk, &result->counters);
}

static void beside(Figures *figures, const PoolResult *pool) {
        double busy = (double) pool->counters.busy_ns / 1e9;

        figure(figures, "", pool->plural, pool->plural, 0, (double) pool->counters.done);
        figure(figures, pool->plural, "per_second", "a second of them", 2,
               busy > 0 ? (double) pool->counters.done / busy * pool->threads : 0);
        figure(figures, pool->singular, "waits", "operations that waited", 0,
               (double) pool->counters.waits);
}

void report_print(const RunOptions *options, const Result *result) {
        Figures figures = { .json = options->json };

        operations(&figures, result);
        kernel_counters(&figures, options, result);
        for (size_t i = 0; i < ELEMENTSOF(result->pools); i++)
                if (result->pools[i].threads > 0)
                        beside(&figures, &result->pools[i]);
        figures_end(&figures);
}
