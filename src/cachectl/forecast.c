/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "forecast.h"
#include "shared/log.h"
#include "shared/macro.h"

char *forecast_policies(void) {
        /* Programs tell the first what they do, threads' names the second; and the third has thresholds in
         * pages, which mean something else in a sample. */
        static const char *const left_out[] = { "acfs", "get-scan", "mglru", NULL };
        GString *names = g_string_new(NULL);

        for (const SimPolicy *p = sim_policies(); p; p = p->next)
                if (!g_strv_contains(left_out, p->name))
                        g_string_append_printf(names, "%s%s", names->len > 0 ? "," : "", p->name);
        return g_string_free(names, FALSE);
}

static void set_sizes(Simulation *s, const Sample *sample, const uint32_t *pages, size_t n) {
        s->sizes = g_new0(SimulationSize, n);
        for (size_t i = 0; i < n; i++)
                s->sizes[s->n_sizes++] = (SimulationSize) {
                        .label = g_strdup_printf("%.1fM", (double) pages[i] * TRACE_PAGE_SIZE / 1048576),
                        .pages = sample_capacity(sample, pages[i]),
                };
}

int forecast_run(const Sample *sample, const char *policies, const uint32_t *pages, size_t n,
                 Simulation *ret) {
        Simulation s = { .trace = sample->trace, .batch = MAX(CACHEBPF_BATCH / sample->rate, 1U) };
        int r;

        assert(policies);
        assert(pages);
        assert(ret);

        r = simulation_setup_policies(&s, policies);
        if (r >= 0) {
                set_sizes(&s, sample, pages, n);
                simulation_setup_runs(&s);
                for (size_t i = 0; i < s.n_rows * s.n_sizes; i++) {
                        bool full;

                        s.runs[i].warm_up = sample_warm_up(sample, s.runs[i].capacity, &full);
                        s.runs[i].scale = sample->rate;
                }
                r = simulation_execute(&s);
        }
        if (r > 0)
                r = -EIO;
        if (r < 0) {
                forecast_done(&s);
                return r;
        }

        *ret = s;
        return 0;
}

void forecast_done(Simulation *s) {
        s->trace = NULL;
        simulation_done(s);
}

size_t forecast_row(const Simulation *s, const char *policy) {
        for (size_t i = 0; i < s->n_rows; i++)
                if (streq(simulation_row_name(s, i), policy))
                        return i;
        return SIZE_MAX;
}

static double of_requests(const Sample *sample, const SimStats *stats, uint64_t n) {
        return stats->requests > 0 ? sample_ratio(sample, (double) n / stats->requests) : 0;
}

double forecast_ratio(const Sample *sample, const Simulation *s, size_t row, size_t size) {
        const SimStats *stats = &simulation_result(s, row, size)->stats;

        return of_requests(sample, stats, stats->misses);
}

double forecast_cold_ratio(const Sample *sample, const Simulation *s, size_t row, size_t size) {
        const SimStats *stats = &simulation_result(s, row, size)->stats;

        return of_requests(sample, stats, stats->cold_misses);
}

const char *forecast_name(const Simulation *s, size_t row) {
        if (row == s->n_rows - 1)
                return "optimum";
        return streq(simulation_row_name(s, row), FORECAST_STOCK) ? "stock" : simulation_row_name(s, row);
}

double forecast_noise(const Sample *sample, double ratio) {
        if (sample->rate == 1)
                return 0;
        return 2 * sqrt(ratio * (1 - ratio) / MAX(sample->trace->n_objects, 1U));
}
