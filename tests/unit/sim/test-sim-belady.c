/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-test.h"

#include "sim/belady.h"

static SimStats run(const char *letters, uint32_t capacity) {
        Trace *t = trace_of(letters);
        SimStats s;

        assert_int_equal(belady_run(t, capacity, 0, &s), 0);
        trace_free(t);
        return s;
}

/* What comes before it counts fills the cache. */
static void test_warm_up(void **state) {
        Trace *t = trace_of("abcabcd");
        SimStats s;

        assert_int_equal(belady_run(t, 3, 3, &s), 0);
        assert_int_equal(s.requests, 4);
        assert_int_equal(s.misses, 1);
        assert_int_equal(s.evicted, 1);
        trace_free(t);
}

static void test_by_hand(void **state) {
        SimStats s;

        /* the example of A. Silberschatz, "Operating system concepts":
         * 70120304230321201701, three frames, nine faults */
        s = run("habacadecdadcbcabhab", 3);
        assert_int_equal(s.requests, 20);
        assert_int_equal(s.misses, 9);
        assert_int_equal(s.cold_misses, 6);
        assert_int_equal(s.added, 9);
        assert_int_equal(s.evicted, 6);

        /* a loop one page larger than the cache: one miss in each pass but the first, by turns */
        s = run("abcdabcdabcdabcd", 3);
        assert_int_equal(s.misses, 4 + 4);

        s = run("aaaa", 1);
        assert_int_equal(s.misses, 1);
        s = run("abab", 1);
        assert_int_equal(s.misses, 4);
        s = run("abc", 9);
        assert_int_equal(s.misses, 3);
        s = run("", 9);
        assert_int_equal(s.requests, 0);
}

static void test_removal_and_readahead(void **state) {
        SimStats s;

        /* a is removed before it is used again: it is of no use, b is kept */
        s = run("abc!aba", 2);
        assert_int_equal(s.misses, 4);
        assert_int_equal(s.cold_misses, 3);
        assert_int_equal(s.truncated, 0); /* it was not there any more */
        assert_int_equal(run("ab!ab", 2).truncated, 1);

        s = run(">aab>b", 1);
        assert_int_equal(s.readahead, 2);
        assert_int_equal(s.requests, 2);
        assert_int_equal(s.misses, 2);
}

/* The fewest misses by trying every choice: of what is cached, as a set of bits, and where in the trace. */
static unsigned fewest(const uint32_t *objects, size_t n, unsigned cached, unsigned capacity) {
        unsigned least = UINT32_MAX;

        for (; n > 0 && cached & 1U << *objects;)
                objects++, n--;
        if (n == 0)
                return 0;
        if ((unsigned) __builtin_popcount(cached) < capacity)
                return 1 + fewest(objects + 1, n - 1, cached | 1U << *objects, capacity);

        for (unsigned victim = 0; victim < 32; victim++)
                if (cached & 1U << victim) {
                        unsigned m = fewest(objects + 1, n - 1, (cached & ~(1U << victim)) | 1U << *objects,
                                            capacity);

                        least = MIN(least, m);
                }
        return 1 + least;
}

static void test_is_optimal(void **state) {
        _test_host_ h = test_host_begin(1); /* for its random numbers */

        for (unsigned round = 0; round < 300; round++) {
                uint32_t capacity = 1 + round % 4;
                SimStats s;
                Trace *t;

                assert_int_equal(trace_new(&t), 0);
                for (unsigned i = 0; i < 16; i++)
                        assert_int_equal(trace_add(t, bpf_get_prandom_u32() % 7, 0), 0);
                assert_int_equal(belady_run(t, capacity, 0, &s), 0);
                assert_int_equal(s.misses, fewest(t->objects, t->n_requests, 0, capacity));
                trace_free(t);
        }
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_by_hand),
                cmocka_unit_test(test_warm_up),
                cmocka_unit_test(test_removal_and_readahead),
                cmocka_unit_test(test_is_optimal),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
