/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The race of policies on traces that are made here: what shadows miss in a sample of the pages (SHARDS),
 * and what the unit would miss with the policy that runs. Its cache is as that policy would have it if it
 * had run from the beginning; for each switch half of the cache is missed once more, which is meant to be
 * too much. */

#include "sim-test.h"

#include <glib.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>

#include "daemon/auto/race.h"
#include "sim/run.h"

#define N_PAGES 10000U
#define CACHED 2000U
#define SAMPLE_SHIFT 1 /* of two pages one is in the sample */
#define WINDOW (RACE_WINDOW_TURNS * CACHED)
#define N_WINDOWS 60U
#define N_REQUESTS (N_WINDOWS * WINDOW)
#define PHASE (N_REQUESTS / 3)

static const char *const names[] = { "noop", "lru", "s3fifo", "wtinylfu", "mru" };
#define N ELEMENTSOF(names)

/* Zipf, a loop over more than is cached, and Zipf of other pages. */
static uint32_t page_of_phases(uint32_t i, uint64_t *seed) {
        if (i < PHASE)
                return sim_draw_zipf(N_PAGES, seed);
        if (i < 2 * PHASE)
                return N_PAGES + i % (2 * CACHED);
        return 3 * N_PAGES + sim_draw_zipf(N_PAGES, seed);
}

static uint32_t page_of_uniform(uint32_t i, uint64_t *seed) {
        return sim_draw(seed) % N_PAGES;
}

/* Changes so often that no policy is the best for long. */
static uint32_t page_of_turns(uint32_t i, uint64_t *seed) {
        return i / WINDOW % 2 == 0 ? sim_draw_zipf(N_PAGES, seed) : N_PAGES + i % (2 * CACHED);
}

/* ---- what policies miss */

typedef struct Runs {
        uint64_t misses[N][N_WINDOWS], shadow_misses[N][N_WINDOWS];
        uint64_t sampled[N_WINDOWS], n_pages[N_WINDOWS];
} Runs;

static bool is_sampled(uint64_t key) {
        return key >> (64 - SAMPLE_SHIFT) == 0;
}

/* The misses of each policy by windows, which are those of the trace: at[i] is the request that number i
 * of t is in it. */
static void run(const Trace *t, const uint32_t *at, uint32_t capacity, uint64_t misses[N][N_WINDOWS]) {
        SimRun runs[N];
        SimResult results[N];
        bool *missed = mmap(NULL, N * t->n_requests, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                            0);

        assert_true(missed != MAP_FAILED);
        for (size_t p = 0; p < N; p++)
                runs[p] = (SimRun) {
                        .policy = sim_policy_find(names[p]),
                        .capacity = capacity,
                        .batch = sim_clamp_batch(CACHEBPF_BATCH, capacity),
                        .missed = missed + p * t->n_requests,
                };
        assert_int_equal(sim_run_all(t, runs, N, 0, results), 0);
        for (size_t p = 0; p < N; p++) {
                uint64_t sum = 0;

                assert_true(results[p].done);
                for (size_t i = 0; i < t->n_requests; i++) {
                        misses[p][at[i] / WINDOW] += runs[p].missed[i];
                        sum += runs[p].missed[i];
                }
                assert_int_equal(sum, results[p].stats.misses);
        }
        (void) munmap(missed, N * t->n_requests);
}

static void add(Trace *t, uint32_t page) {
        assert_int_equal(trace_add(t, page, 0), 0);
}

static Runs *make_runs(uint32_t (*page_of)(uint32_t i, uint64_t *seed)) {
        _cleanup_(trace_freep) Trace *all = NULL, *sample = NULL;
        g_autofree uint32_t *at_all = g_new(uint32_t, N_REQUESTS), *at_sample = g_new(uint32_t, N_REQUESTS);
        g_autofree uint32_t *last = NULL;
        Runs *r = g_new0(Runs, 1);
        uint64_t seed = 7;

        assert_int_equal(trace_new(&all), 0);
        assert_int_equal(trace_new(&sample), 0);
        for (uint32_t i = 0; i < N_REQUESTS; i++) {
                add(all, page_of(i, &seed));
                at_all[i] = i;
        }
        trace_seal(all);
        last = g_new0(uint32_t, all->n_objects);
        for (uint32_t i = 0; i < N_REQUESTS; i++) {
                uint32_t object = all->objects[i], w = i / WINDOW;

                if (!is_sampled(all->keys[object]))
                        continue;
                at_sample[sample->n_requests] = i;
                add(sample, object);
                r->sampled[w]++;
                r->n_pages[w] += last[object] != w + 1;
                last[object] = w + 1;
        }
        trace_seal(sample);
        run(all, at_all, CACHED, r->misses);
        run(sample, at_sample, CACHED >> SAMPLE_SHIFT, r->shadow_misses);
        return r;
}

/* ---- the race */

typedef struct Result {
        uint64_t misses, stock_misses;
        unsigned n_switches;
        size_t present[N_WINDOWS]; /* who ran in it */
} Result;

static Result race(const Runs *r) {
        Result result = {};
        uint64_t charge = 0;
        Race state;

        race_init(&state, N);
        for (size_t w = 0; w < N_WINDOWS; w++) {
                RaceWindow window = {
                        .present = state.present,
                        .requests = WINDOW,
                        .misses = MIN(r->misses[state.present][w] + charge, WINDOW),
                        .usec = 10 * USEC_PER_SEC,
                        .expected = WINDOW >> SAMPLE_SHIFT,
                        .sampled = r->sampled[w],
                        .n_pages = r->n_pages[w],
                };
                g_autofree char *words = NULL;
                RaceStep step;

                for (size_t p = 0; p < N; p++)
                        window.shadow_misses[p] = r->shadow_misses[p][w];
                result.present[w] = state.present;
                result.misses += window.misses;
                result.stock_misses += r->misses[RACE_STOCK][w];
                race_step(&state, &window, &step);
                charge = 0;
                if (step.action == RACE_STAY)
                        continue;
                words = race_step_to_string(&step, names);
                print_message("# %zu: %s\n", w, words);
                charge = CACHED / 2;
                result.n_switches++;
        }
        print_message("# %" PRIu64 " misses, stock %" PRIu64 "\n", result.misses, result.stock_misses);
        return result;
}

/* What may be lost: two of a hundred misses, and the charge of each switch. */
static void assert_hardly_worse(const Result *result) {
        assert_true(result->misses <= result->stock_misses * 102 / 100 + result->n_switches * CACHED / 2);
}

static void test_phases(void **state) {
        g_autofree Runs *r = make_runs(page_of_phases);
        Result result = race(r);
        uint64_t in_loop = 0, all = N_WINDOWS / 3 * WINDOW;

        assert_hardly_worse(&result);
        assert_true(result.misses < result.stock_misses * 90 / 100);
        assert_in_range(result.n_switches, 1, 4);

        /* the loop: half of it can stay cached, where stock misses all */
        for (size_t w = N_WINDOWS / 3; w < 2 * N_WINDOWS / 3; w++)
                in_loop += r->misses[result.present[w]][w];
        assert_true(in_loop < all * 70 / 100);
}

static void test_uniform(void **state) {
        g_autofree Runs *r = make_runs(page_of_uniform);
        Result result = race(r);

        assert_int_equal(result.n_switches, 0);
        assert_int_equal(result.misses, result.stock_misses);
}

static void test_turns(void **state) {
        g_autofree Runs *r = make_runs(page_of_turns);
        Result result = race(r);

        assert_hardly_worse(&result);
        assert_in_range(result.n_switches, 0, 3);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_phases),
                cmocka_unit_test(test_uniform),
                cmocka_unit_test(test_turns),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
