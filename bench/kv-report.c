/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "bench-util.h"
#include "kv-report.h"

typedef struct Report {
        bool json;
        unsigned n;     /* figures printed so far */
} Report;

/* Of what it is comes before the name, such as "read" of "read_ops" and "read: operations". */
static void figure(Report *report, const char *of, const char *name, const char *text, int digits,
                   double value) {
        char label[64];

        (void) snprintf(label, sizeof(label), "%s%s%s", of, *of == '\0' ? "" : report->json ? "_" : ": ",
                        report->json ? name : text);
        if (report->json)
                printf("%s\"%s\": %.*f", report->n == 0 ? "{" : ", ", label, digits, value);
        else
                printf("%-30s %.*f\n", label, digits, value);
        report->n++;
}

static void figure_number(Report *report, const char *name, const char *text, uint64_t value) {
        figure(report, "", name, text, 0, (double) value);
}

static void latencies(Report *report, const char *of, const Histogram *h) {
        static const struct {
                const char *name, *text;
                double quantile;
        } quantiles[] = {
                { "p50_us",  "latency P50, us",   0.5   },
                { "p99_us",  "latency P99, us",   0.99  },
                { "p999_us", "latency P99.9, us", 0.999 },
        };

        figure(report, of, "mean_us", "latency mean, us", 2, (double) h->sum / (double) h->n / 1e3);
        for (size_t i = 0; i < ELEMENTSOF(quantiles); i++)
                figure(report, of, quantiles[i].name, quantiles[i].text, 2,
                       (double) histogram_quantile(h, quantiles[i].quantile) / 1e3);
}

static void operations(Report *report, const Result *result) {
        double seconds = (double) result->nsec / 1e9;
        Histogram all = {};

        for (OperationKind kind = 0; kind < _OPERATION_MAX; kind++)
                histogram_merge(&all, &result->latency[kind]);

        figure_number(report, "ops", "operations", all.n);
        figure(report, "", "begin", "began, seconds since 1970", 6, (double) result->begin / 1e9);
        figure(report, "", "seconds", "seconds", 6, seconds);
        figure(report, "", "ops_per_second", "operations a second", 1, (double) all.n / seconds);
        latencies(report, "", &all);

        for (OperationKind kind = 0; kind < _OPERATION_MAX; kind++) {
                const Histogram *h = &result->latency[kind];

                if (h->n == 0)
                        continue;
                figure(report, operation_name(kind), "ops", "operations", 0, (double) h->n);
                latencies(report, operation_name(kind), h);
        }
}

static void kernel_counters(Report *report, const RunOptions *options, const Result *result) {
        const Counters *c = &result->counters;

        figure_number(report, "read_calls", "read calls", c->read_calls);
        figure_number(report, "bytes_requested", "bytes requested", c->bytes_requested);
        figure_number(report, "bytes_from_disk", "bytes from disk", c->bytes_from_disk);
        figure_number(report, "get_bytes", "bytes from disk, by operations", result->own.bytes_from_disk);
        figure_number(report, "get_requested", "bytes requested, by operations",
                      result->own.bytes_requested);
        figure_number(report, "minor_faults", "faults, minor", c->minor_faults);
        figure_number(report, "major_faults", "faults, major", c->major_faults);
        if (options->disk) {
                figure_number(report, "disk_reads", "disk reads", c->disk_reads);
                figure_number(report, "disk_bytes", "disk bytes", c->disk_bytes);
        }
}

static void beside(Report *report, const PoolResult *pool) {
        double busy = (double) pool->counters.busy_ns / 1e9;

        figure(report, "", pool->plural, pool->plural, 0, (double) pool->counters.done);
        figure(report, pool->plural, "per_second", "a second of them", 2,
               busy > 0 ? (double) pool->counters.done / busy * pool->threads : 0);
        figure(report, pool->singular, "waits", "operations that waited", 0, (double) pool->counters.waits);
}

void report_print(const RunOptions *options, const Result *result) {
        Report report = { .json = options->json };

        operations(&report, result);
        kernel_counters(&report, options, result);
        for (size_t i = 0; i < ELEMENTSOF(result->pools); i++)
                if (result->pools[i].threads > 0)
                        beside(&report, &result->pools[i]);
        if (report.json)
                printf("}\n");
}
