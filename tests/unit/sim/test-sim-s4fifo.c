/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* s3fifo with other settings, which make it S4-FIFO or Clock2Q+, against the figures of another simulator:
 * libCacheSim 0.3.5 (Python package libcachesim). Clock2QPlus there has a window, S3FIFO the other settings.
 * They put new pages into the main queue until the first eviction, where s3fifo follows its paper. Without
 * a window Clock2QPlus is up to 0.8 points off S3FIFO, and so it is off s3fifo with one.
 *
 *      test-sim-s4fifo TRACE
 *
 * prints the trace of that number, a page a line, for that simulator. */

#include "sim-test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/run.h"

#define N_PAGES 20000U
#define N_REQUESTS 200000U
#define MAX_SETTINGS 3
#define N_SIZES 3

static const uint32_t sizes[N_SIZES] = { 200, 2000, 6000 };

/* Each page independent of those before. */
static void make_zipf(uint32_t *pages) {
        uint64_t seed = 1;

        for (uint32_t i = 0; i < N_REQUESTS; i++)
                pages[i] = sim_draw_zipf(N_PAGES, &seed);
}

/* As metadata is used: a page twice more at once, a little later. */
static void make_bursts(uint32_t *pages) {
        uint64_t seed = 2;

        for (uint32_t i = 0; i < N_REQUESTS; i++)
                pages[i] = i % 3 == 0 || i < 12 ? sim_draw_zipf(N_PAGES, &seed) :
                                                         pages[i - 1 - 3 * (sim_draw(&seed) % 3)];
}

static void (*const traces[])(uint32_t *pages) = { make_zipf, make_bursts };

/* Figures of each trace, for each size. */
static const struct {
        const char *name;
        struct {
                const char *name;
                int64_t value;
        } settings[MAX_SETTINGS];
        double tolerance; /* points of percent that the policy may be off */
        double ratios[ELEMENTSOF(traces)][N_SIZES];
} figures[] = {
        { "S3-FIFO", {}, 0.5,
          { { 0.4920, 0.2705, 0.1687 }, { 0.1833, 0.1008, 0.0668 } } },
        { "Clock2Q+", { { "skip_percent", 50 }, { "uses_for_main", 1 } }, 0.9,
          { { 0.5005, 0.2778, 0.1728 }, { 0.1682, 0.0975, 0.0669 } } },
        { "a shorter window", { { "skip_percent", 25 } }, 0.9,
          { { 0.5001, 0.2774, 0.1725 }, { 0.1682, 0.0974, 0.0668 } } },
        { "one use, more ghosts", { { "ghost_percent", 600 }, { "uses_for_main", 1 } }, 0.5,
          { { 0.5186, 0.2893, 0.1684 }, { 0.1885, 0.1014, 0.0668 } } },
        { "a larger small queue", { { "small_percent", 40 }, { "ghost_percent", 300 } }, 0.5,
          { { 0.5396, 0.3066, 0.1776 }, { 0.1939, 0.1066, 0.0685 } } },
};

static Trace *make_trace(size_t i) {
        static uint32_t pages[N_REQUESTS];
        Trace *t;

        traces[i](pages);
        assert_int_equal(trace_new(&t), 0);
        for (uint32_t k = 0; k < N_REQUESTS; k++)
                assert_int_equal(trace_add(t, pages[k], 0), 0);
        trace_seal(t);
        return t;
}

static void print_trace(size_t i) {
        static uint32_t pages[N_REQUESTS];

        traces[i](pages);
        for (uint32_t k = 0; k < N_REQUESTS; k++)
                printf("%u\n", pages[k]);
}

static void test_figures(void **state) {
        const SimPolicy *policy = sim_policy_find("s3fifo");
        size_t f = (size_t) *state, n_settings = 0, n_off = 0;
        SimSetting settings[MAX_SETTINGS];

        for (; n_settings < MAX_SETTINGS && figures[f].settings[n_settings].name; n_settings++) {
                settings[n_settings] = (SimSetting) {
                        .tunable = sim_tunable_find(policy, figures[f].settings[n_settings].name),
                        .value = figures[f].settings[n_settings].value,
                };
                assert_non_null(settings[n_settings].tunable);
        }

        for (size_t i = 0; i < ELEMENTSOF(traces); i++) {
                _cleanup_(trace_freep) Trace *trace = make_trace(i);
                SimRun runs[N_SIZES];
                SimResult results[N_SIZES];

                for (size_t k = 0; k < N_SIZES; k++)
                        runs[k] = (SimRun) {
                                .policy = policy,
                                .capacity = sizes[k],
                                .batch = 1,
                                .settings = settings,
                                .n_settings = n_settings,
                        };
                assert_int_equal(sim_run_all(trace, runs, N_SIZES, 0, results), 0);
                for (size_t k = 0; k < N_SIZES; k++) {
                        double ratio = (double) results[k].stats.misses / results[k].stats.requests;

                        assert_true(results[k].done);
                        if (fabs(ratio - figures[f].ratios[i][k]) * 100 <= figures[f].tolerance)
                                continue;
                        print_message("# trace %zu, %u pages: %.4f instead of %.4f\n", i, sizes[k], ratio,
                                      figures[f].ratios[i][k]);
                        n_off++;
                }
        }
        assert_int_equal(n_off, 0);
}

int main(int argc, char *argv[]) {
        struct CMUnitTest tests[ELEMENTSOF(figures)];

        if (argc > 1) {
                size_t i = atoi(argv[1]);

                assert(i < ELEMENTSOF(traces));
                print_trace(i);
                return 0;
        }
        for (size_t i = 0; i < ELEMENTSOF(figures); i++)
                tests[i] = (struct CMUnitTest) {
                        .name = figures[i].name,
                        .test_func = test_figures,
                        .initial_state = (void *) i,
                };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
