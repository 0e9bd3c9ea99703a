/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>

#include "bench-util.h"
#include "figures.h"

void figure(Figures *figures, const char *of, const char *name, const char *text, int digits, double value) {
        char label[64];

        (void) snprintf(label, sizeof(label), "%s%s%s", of, *of == '\0' ? "" : figures->json ? "_" : ": ",
                        figures->json ? name : text);
        if (figures->json)
                printf("%s\"%s\": %.*f", figures->n == 0 ? "{" : ", ", label, digits, value);
        else
                printf("%-30s %.*f\n", label, digits, value);
        figures->n++;
}

void figure_number(Figures *figures, const char *name, const char *text, uint64_t value) {
        figure(figures, "", name, text, 0, (double) value);
}

void figure_list(Figures *figures, const char *name, const char *text, const uint64_t *values, uint64_t n) {
        if (figures->json)
                printf("%s\"%s\": [", figures->n == 0 ? "{" : ", ", name);
        else
                printf("%-30s", text);
        for (uint64_t i = 0; i < n; i++)
                printf("%s%" PRIu64, !figures->json ? " " : i > 0 ? ", " : "", values[i]);
        printf("%s", figures->json ? "]" : "\n");
        figures->n++;
}

void figures_rate(Figures *figures, uint64_t operations, uint64_t nsec) {
        double seconds = (double) nsec / 1e9;

        figure_number(figures, "ops", "operations", operations);
        figure(figures, "", "seconds", "seconds", 6, seconds);
        figure(figures, "", "ops_per_second", "operations a second", 1, (double) operations / seconds);
}

void figures_latencies(Figures *figures, const char *of, const Histogram *h) {
        static const struct {
                const char *name, *text;
                double quantile;
        } quantiles[] = {
                { "p50_us",  "latency P50, us",   0.5   },
                { "p99_us",  "latency P99, us",   0.99  },
                { "p999_us", "latency P99.9, us", 0.999 },
        };

        figure(figures, of, "mean_us", "latency mean, us", 2, (double) h->sum / (double) h->n / 1e3);
        for (size_t i = 0; i < ELEMENTSOF(quantiles); i++)
                figure(figures, of, quantiles[i].name, quantiles[i].text, 2,
                       (double) histogram_quantile(h, quantiles[i].quantile) / 1e3);
}

void figures_operations(Figures *figures, const char *of, const Histogram *h) {
        if (h->n == 0)
                return;
        figure(figures, of, "ops", "operations", 0, (double) h->n);
        figures_latencies(figures, of, h);
}

void figures_reads(Figures *figures, const Counters *c) {
        figure_number(figures, "read_calls", "read calls", c->read_calls);
        figure_number(figures, "bytes_requested", "bytes requested", c->bytes_requested);
        figure_number(figures, "bytes_from_disk", "bytes from disk", c->bytes_from_disk);
}

void figures_waits(Figures *figures, const char *disk, const Counters *c) {
        figure_number(figures, "minor_faults", "faults, minor", c->minor_faults);
        figure_number(figures, "major_faults", "faults, major", c->major_faults);
        if (!disk)
                return;
        figure_number(figures, "disk_reads", "disk reads", c->disk_reads);
        figure_number(figures, "disk_bytes", "disk bytes", c->disk_bytes);
}

void figures_end(Figures *figures) {
        if (figures->json)
                printf("}\n");
}
