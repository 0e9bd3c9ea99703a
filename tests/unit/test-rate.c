/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How large the sample is, and how many different pages are in it. */

#include "test-util.h"

#include "daemon/auto/rate.h"
#include "shared/shadow-message.h"

static void test_rate(void **state) {
        assert_int_equal(rate_of(1), 1);
        assert_int_equal(rate_of(2 * RATE_PAGES - 1), 1);
        assert_int_equal(rate_of(2 * RATE_PAGES), 2);
        assert_int_equal(rate_of(16384), 16);
        for (uint64_t n = RATE_PAGES; n < UINT64_C(1) << 40; n += n / 3) {
                uint32_t one_in = rate_of(n);

                assert_int_equal(one_in & (one_in - 1), 0);
                assert_in_range(rate_capacity(one_in, n), RATE_PAGES, 2 * RATE_PAGES - 1);
        }
        assert_int_equal(rate_of(UINT64_MAX), UINT32_C(1) << 31);
        assert_int_equal(rate_capacity(rate_of(UINT64_MAX), UINT64_MAX), SHADOW_CAPACITY_MAX);
        assert_int_equal(rate_capacity(64, 63), 1);
}

static void test_adapt(void **state) {
        const uint64_t n = 16384, seconds = 10, usec = seconds * USEC_PER_SEC;

        assert_int_equal(rate_adapt(16, n, seconds * RATE_EVENTS_MAX, 0, usec), 16);
        assert_int_equal(rate_adapt(16, n, seconds * (RATE_EVENTS_MAX + 1), 0, usec), 32);
        /* what happened in less than a second was not much */
        assert_int_equal(rate_adapt(16, n, RATE_EVENTS_MAX, 0, 1), 16);
        assert_int_equal(rate_adapt(16, n, RATE_EVENTS_MAX + 1, 0, 0), 32);

        /* not below so many pages */
        assert_int_equal(rate_adapt(32, n, UINT64_MAX, 0, usec), 64);
        assert_int_equal(rate_adapt(64, n, UINT64_MAX, 0, usec), 64);
        assert_int_equal(rate_adapt(1, RATE_PAGES_MIN, UINT64_MAX, 0, usec), 1);
        assert_int_equal(rate_adapt(UINT32_C(1) << 31, UINT64_MAX, UINT64_MAX, 0, usec), UINT32_C(1) << 31);

        /* one event in eight was lost */
        assert_int_equal(rate_adapt(16, n, 8000, 1000, usec), 16);
        assert_int_equal(rate_adapt(16, n, 8000, 1001, usec), 32);
        assert_int_equal(rate_adapt(64, n, 8000, 8000, usec), 64);

        /* back to where it came from */
        assert_int_equal(rate_adapt(64, n, seconds * RATE_EVENTS_FEW, 0, usec), 64);
        assert_int_equal(rate_adapt(64, n, seconds * RATE_EVENTS_FEW - 1, 0, usec), 32);
        assert_int_equal(rate_adapt(64, n, 8000, 1, usec), 64);
        assert_int_equal(rate_adapt(16, n, 0, 0, usec), 16);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rate),
                cmocka_unit_test(test_adapt),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
