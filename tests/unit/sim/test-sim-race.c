/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CachePolicy=auto on traces that are made here. */

#include "sim-test.h"

#include <glib.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "bench/programs/race-run.h"

#define N_PAGES 10000U
#define CACHED 2000U
#define TURNS 240U
#define N_REQUESTS (TURNS * CACHED)
#define PHASE (N_REQUESTS / 3)

enum { NOOP, WTINYLFU, S3FIFO, LRU, MRU, N };
static const char *const names[N] = { "noop", "wtinylfu", "s3fifo", "lru", "mru" };

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
        return i / (4 * CACHED) % 2 == 0 ? sim_draw_zipf(N_PAGES, seed) : N_PAGES + i % (2 * CACHED);
}

static bool *missed; /* by auto, for each request */

static RaceResult race(uint32_t (*page_of)(uint32_t i, uint64_t *seed), size_t first) {
        RaceEntrant entrants[N] = {};
        RaceResult r = {};
        _cleanup_(trace_freep) Trace *t = NULL;
        uint64_t seed = 7;

        assert_int_equal(trace_new(&t), 0);
        for (uint32_t i = 0; i < N_REQUESTS; i++)
                assert_int_equal(trace_add(t, page_of(i, &seed), 0), 0);
        trace_seal(t);
        for (size_t i = 0; i < N; i++)
                entrants[i] = (RaceEntrant) { .name = names[i], .policy = sim_policy_find(names[i]) };

        race_run(&(RaceCourse) {
                         .trace = t,
                         .capacity = CACHED,
                         .one_in = 2,
                         .entrants = entrants,
                         .n_entrants = N,
                         .first = first,
                 }, missed, /* print= */ true, &r);
        assert_int_equal(r.requests, N_REQUESTS);
        print_message("# %" PRIu64 " misses, stock %" PRIu64 "\n", r.misses, r.alone[NOOP]);
        return r;
}

static uint64_t count_missed(uint32_t from, uint32_t to) {
        uint64_t n = 0;

        for (uint32_t i = from; i < to; i++)
                n += missed[i];
        return n;
}

static int setup(void **state) {
        missed = mmap(NULL, N_REQUESTS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return missed == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state) {
        return munmap(missed, N_REQUESTS);
}

/* Whatever it begins with, it misses at most two of a hundred more than the best of them. */
static void test_phases(void **state) {
        for (size_t first = 0; first < N; first++) {
                RaceResult r = race(page_of_phases, first);

                for (size_t i = 0; i < N; i++)
                        assert_true(r.misses <= r.alone[i] * 102 / 100);
                assert_in_range(r.n_switches, 1, 5);
                assert_int_equal(count_missed(0, N_REQUESTS), r.misses);
                /* the loop: half of it can stay cached, where stock misses all */
                assert_true(count_missed(PHASE, 2 * PHASE) < PHASE * 65 / 100);
        }
}

/* Nothing is better than what runs. */
static void test_uniform(void **state) {
        RaceResult r = race(page_of_uniform, NOOP);

        assert_int_equal(r.n_switches, 0);
        assert_int_equal(r.misses, r.alone[NOOP]);
}

/* Two of a hundred misses more than the better ones, and what it takes to switch, which it does seldom. */
static void test_turns(void **state) {
        RaceResult r = race(page_of_turns, NOOP);

        assert_true(r.misses <= r.alone[NOOP] * 102 / 100 + r.n_switches * CACHED / 2);
        assert_in_range(r.n_switches, 0, TURNS / 20);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_phases),
                cmocka_unit_test(test_uniform),
                cmocka_unit_test(test_turns),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
