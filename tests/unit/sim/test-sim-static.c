/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-test.h"

#include "sim/belady.h"
#include "sim/static.h"

static SimStats run(const char *letters, uint32_t capacity) {
        Trace *t = trace_of(letters);
        SimStats s;

        assert_int_equal(static_run(t, capacity, 0, &s), 0);
        trace_free(t);
        return s;
}

static void test_by_hand(void **state) {
        SimStats s;

        /* a stays; b, c, d and b pass */
        s = run("abacadab", 2);
        assert_int_equal(s.requests, 8);
        assert_int_equal(s.misses, 1 + 4);
        assert_int_equal(s.cold_misses, 4);
        assert_int_equal(s.added, 5);
        assert_int_equal(s.evicted, 3);

        /* that it is used most shows only later */
        assert_int_equal(run("bcdaaaabcda", 2).misses, 3 + 1 + 3);

        /* one page: what was asked for last */
        assert_int_equal(run("aabba", 1).misses, 3);

        /* room for more than there is */
        assert_int_equal(run("abcabc", 9).misses, 3);
        assert_int_equal(run("", 9).requests, 0);
}

static void test_removal_and_readahead(void **state) {
        SimStats s;

        /* a is used more often than b, but never hits */
        s = run("a!aa!aa!abcbdbcbd", 2);
        assert_int_equal(s.misses, 3 + 1 + 4);
        assert_int_equal(s.truncated, 3);

        /* what passed is gone, too */
        s = run("aaab!bb", 2);
        assert_int_equal(s.misses, 3);
        assert_int_equal(s.evicted, 0);
        assert_int_equal(s.truncated, 1);

        s = run(">b>b>baab", 1);
        assert_int_equal(s.readahead, 3);
        assert_int_equal(s.requests, 3);
        assert_int_equal(s.misses, 2);
}

/* Never better than the optimum, and never larger than it may be. */
static void test_limits(void **state) {
        _test_host_ h = test_host_begin(1); /* for its random numbers */

        for (unsigned round = 0; round < 300; round++) {
                uint32_t capacity = 1 + round % 8;
                SimStats s, optimum;
                Trace *t;

                assert_int_equal(trace_new(&t), 0);
                for (unsigned i = 0; i < 200; i++)
                        assert_int_equal(trace_add(t, bpf_get_prandom_u32() % 12,
                                                   bpf_get_prandom_u32() % 16 ? 0 : TRACE_REMOVE), 0);
                assert_int_equal(static_run(t, capacity, 0, &s), 0);
                assert_int_equal(belady_run(t, capacity, 0, &optimum), 0);
                assert_int_equal(s.requests, optimum.requests);
                assert_int_equal(s.cold_misses, optimum.cold_misses);
                assert_true(s.misses >= optimum.misses);
                assert_true(s.added - s.evicted - s.truncated <= capacity);
                trace_free(t);
        }
}

/* Half of the requests are for one of four pages, half for one of a thousand: with room for five, the former
 * hit. */
static void test_frequencies(void **state) {
        _test_host_ h = test_host_begin(1);
        const unsigned n = 100000;
        SimStats s;
        Trace *t;

        assert_int_equal(trace_new(&t), 0);
        for (unsigned i = 0; i < n; i++) {
                uint32_t random = bpf_get_prandom_u32();
                uint32_t page = random & 1 ? random / 2 % 4 : 4 + random / 2 % 1000;

                assert_int_equal(trace_add(t, page, 0), 0);
        }
        assert_int_equal(static_run(t, 5, 0, &s), 0);
        assert_true(s.misses > n * 0.49 && s.misses < n * 0.51);
        assert_int_equal(static_run(t, 5, n / 2, &s), 0);
        assert_int_equal(s.requests, n / 2);
        assert_true(s.misses > n * 0.24 && s.misses < n * 0.26);
        trace_free(t);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_by_hand),
                cmocka_unit_test(test_removal_and_readahead),
                cmocka_unit_test(test_limits),
                cmocka_unit_test(test_frequencies),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
