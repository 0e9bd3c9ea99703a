/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What processors count at the same time, one of them late: lhd and mglru from within. */

#include "sim-test.h"

#include "lhd.bpf.c"
/* sim-test.h has another one */
#define list_of mglru_list_of
#include "mglru.bpf.c"

/* The time was read before others used their folios, and is written afterwards. */
static void test_time_goes_back(void **state) {
        struct usage usage = { .last = 1000 };

        now = 1000;
        assert_int_equal(age_of(&usage), 0);
        now = 999;
        assert_int_equal(age_of(&usage), 0);
        now = 1000 - LATE;
        assert_int_equal(age_of(&usage), 0);
        now = 1000 + (1U << 31);
        assert_int_equal(age_of(&usage), NR_AGES - 1);
        now = 1000 + NR_AGES;
        assert_int_equal(age_of(&usage), NR_AGES - 1);
        /* as times of 32 bits come round */
        usage.last = UINT32_MAX;
        now = 2;
        assert_int_equal(age_of(&usage), 3);
}

/* Several requests have found that the oldest generation is no more. */
static void test_one_generation_ends(void **state) {
        min_seq = 5;
        max_seq = 7;
        for (unsigned i = 0; i < 4; i++)
                try_to_inc_min_seq(5);
        assert_int_equal(min_seq, 6);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_time_goes_back),
                cmocka_unit_test(test_one_generation_ends),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
