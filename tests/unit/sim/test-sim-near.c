/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* bpf/lib/near.bpf.h: shares of what was used near jumps, and what they make one read. */

#include "sim-test.h"

#include "lib/near.bpf.h"

/* As the definition, of pages that are used or not, by ones and all at a time. */
static void test_average(void **state) {
        for (uint32_t octave = 0; octave < NEAR_FAR; octave++) {
                struct near near = {};
                double average = 0;
                uint64_t seed = 1;

                for (unsigned i = 0; i < 100000; i++) {
                        uint32_t n = near_pages(octave), used;

                        /* long runs of the same, too */
                        used = i / 1000 % 3 == 0 ? n : i / 1000 % 3 == 1 ? sim_draw(&seed) % (n + 1) : 0;
                        near_pass(&near, octave);
                        average = average * 7 / 8 + used / (n * 8.0);
                        if (i % 2)
                                near_use(&near, octave, used);
                        for (uint32_t j = 0; i % 2 == 0 && j < used; j++)
                                near_use(&near, octave, 1);
                        assert_true(fabs(near.shares[octave] / (double) NEAR_USED - average) < 0.001);
                        assert_true(near.shares[octave] <= NEAR_USED);
                }
                for (uint32_t j = 0; j < NEAR_FAR; j++)
                        assert_true(j == octave || near.shares[j] == 0);
        }
}

static void test_octaves(void **state) {
        static const int distances[] = { 1, 2, 4, 8, 16, 32, 64 };

        for (unsigned i = 0; i < NEAR_OCTAVES; i++) {
                struct near near = {};

                for (int d = distances[i]; d < distances[i + 1]; d++) {
                        assert_int_equal(near_octave(1000, 1010, 1009 + d), i);
                        assert_int_equal(near_octave(1000, 1010, 1000 - d), NEAR_BEFORE + i);
                }
                assert_int_equal(near_pages(i), distances[i]);
                assert_int_equal(near_pages(NEAR_BEFORE + i), distances[i]);
                near.shares[i] = NEAR_PAYS;
                assert_int_equal(near_extent(&near, false), distances[i + 1] - 1);
                assert_int_equal(near_extent(&near, true), 0);
                near.shares[i]--;
                near.shares[NEAR_BEFORE + i] = NEAR_PAYS;
                assert_int_equal(near_extent(&near, false), 0);
                assert_int_equal(near_extent(&near, true), distances[i + 1] - 1);
        }
        for (uint64_t page = 1000; page < 1010; page++)
                assert_int_equal(near_octave(1000, 1010, page), NEAR_FAR);
        assert_int_equal(near_octave(1000, 1010, 1073), NEAR_FAR);
        assert_int_equal(near_octave(1000, 1010, 936), NEAR_FAR);
        assert_int_equal(near_octave(UINT64_MAX, UINT64_MAX, 3), NEAR_FAR); /* there was no jump */
}

/* What is not known pays up to the window, and no further. */
static void test_begin(void **state) {
        static const struct {
                uint32_t pages, extent;
        } cases[] = { { 0, 0 }, { 1, 1 }, { 2, 1 }, { 3, 3 }, { 14, 7 }, { 16, 15 }, { 512, 63 } };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct near near;

                near_begin(&near, cases[i].pages);
                assert_int_equal(near_extent(&near, false), cases[i].extent);
                assert_int_equal(near_extent(&near, true), cases[i].extent);
        }
}

static void test_between(void **state) {
        assert_int_equal(near_between(0, 1000), 63);
        assert_int_equal(near_between(0, 0), 0);
        assert_int_equal(near_between(0, 5), 7);   /* 1, 2 and 4 */
        assert_int_equal(near_between(3, 1000), 60);
        assert_int_equal(near_between(7, 10), 8);
        assert_int_equal(near_between(10, 10), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_average),
                cmocka_unit_test(test_octaves),
                cmocka_unit_test(test_begin),
                cmocka_unit_test(test_between),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
