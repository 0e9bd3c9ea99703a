/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* GET-SCAN: what threads of class "scan" bring in does not cost others their pages. */

#include "sim-test.h"

#include "sim/run.h"

#define N_GETS 40000U
#define N_HOT 1000U  /* pages that GETs read */
#define CAPACITY 700U
#define SCAN_BASE 1000000U

static uint64_t misses(const char *policy, const Trace *trace) {
        SimRun run = {
                .policy = sim_policy_find(policy),
                .capacity = CAPACITY,
                .batch = CACHEBPF_BATCH,
        };
        SimResult result;

        assert_non_null(run.policy);
        assert_int_equal(sim_run_all(trace, &run, 1, 1, &result), 0);
        if (!result.done)
                fail_msg("%s: %s", policy, result.message);
        return result.stats.misses;
}

/* GETs of pages that are the hotter the lower their numbers, and two scanned pages that nobody else reads
 * after each; the scans have the class. Each page is scanned twice, which makes it look used. */
static Trace *make_trace(uint8_t class, unsigned n_scanned) {
        uint64_t random = 1;
        Trace *t;

        assert_int_equal(trace_new(&t), 0);
        for (unsigned i = 0; i < N_GETS; i++) {
                random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
                assert_int_equal(trace_add(t, (random >> 40) % N_HOT * ((random >> 20) % N_HOT) / N_HOT, 0),
                                 0);
                for (unsigned j = 0; j < n_scanned * 2; j++)
                        assert_int_equal(trace_add(t, SCAN_BASE + i * n_scanned + j / 2,
                                                   class << TRACE_CLASS_SHIFT), 0);
        }
        trace_seal(t);
        return t;
}

static void test_scans_first(void **state) {
        _cleanup_(trace_freep) Trace *alone = make_trace(0, 0), *known = make_trace(1, 2),
                        *unknown = make_trace(0, 2);
        uint64_t n_scanned = N_GETS * 2, undisturbed = misses("get-scan", alone);
        uint64_t gets = misses("get-scan", known) - n_scanned,
                        as_lfu = misses("get-scan", unknown) - n_scanned;

        print_message("# misses of GETs: %lu alone, %lu beside scans, "
                      "%lu beside scans without a class, %lu with lfu\n",
                      (unsigned long) undisturbed, (unsigned long) gets, (unsigned long) as_lfu,
                      (unsigned long) (misses("lfu", unknown) - n_scanned));
        /* a third of the cache is left to the scans, by default */
        assert_true(gets < as_lfu * 3 / 4);
        assert_int_equal(as_lfu, misses("lfu", unknown) - n_scanned);
}

/* A page that a scan brought in and a GET uses is the GETs' from then on. */
static void test_change_sides(void **state) {
        _cleanup_(trace_freep) Trace *used = NULL, *scanned = NULL;
        uint64_t cold;

        for (unsigned pass = 0; pass < 2; pass++) {
                Trace *t;

                assert_int_equal(trace_new(&t), 0);
                for (unsigned i = 0; i < 200; i++) {
                        assert_int_equal(trace_add(t, i, 1 << TRACE_CLASS_SHIFT), 0);
                        assert_int_equal(trace_add(t, i, (pass == 0 ? 0 : 1) << TRACE_CLASS_SHIFT), 0);
                }
                /* twice each, so that the first ones are not better for having been used again */
                for (unsigned i = 0; i < 10000; i++)
                        assert_int_equal(trace_add(t, SCAN_BASE + i / 2, 1 << TRACE_CLASS_SHIFT), 0);
                for (unsigned i = 0; i < 200; i++)
                        assert_int_equal(trace_add(t, i, 0), 0);
                trace_seal(t);
                *(pass == 0 ? &used : &scanned) = t;
        }

        cold = 200 + 5000;
        assert_int_equal(misses("get-scan", used), cold);
        assert_true(misses("get-scan", scanned) > cold);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_scans_first),
                cmocka_unit_test(test_change_sides),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
