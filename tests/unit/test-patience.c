/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How often what swings is changed. */

#include "test-util.h"

#include "daemon/auto/patience.h"

/* How many windows it takes. */
static unsigned wait_for(Patience *p, int direction) {
        unsigned n = 1;

        while (!patience_ends(p, direction))
                assert_true(++n < 1000);
        patience_spend(p);
        return n;
}

static void test_doubles(void **state) {
        Patience p = {};

        for (unsigned i = 0; i < PATIENCE_MOST; i++)
                assert_int_equal(wait_for(&p, 1), 1U << i);
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(wait_for(&p, -1), 1U << PATIENCE_MOST);
}

/* What failed is tried again in the next window, and made nobody patient. */
static void test_not_spent(void **state) {
        Patience p = {};

        (void) wait_for(&p, 1);
        assert_false(patience_ends(&p, 1));
        for (unsigned i = 0; i < 10; i++)
                assert_true(patience_ends(&p, 1));
        assert_int_equal(wait_for(&p, 1), 1);
        assert_int_equal(wait_for(&p, 1), 4);
}

static void test_left(void **state) {
        Patience p = {};

        assert_int_equal(patience_left(&p), 1);
        (void) wait_for(&p, 1);
        (void) wait_for(&p, 1);
        assert_int_equal(patience_left(&p), 4);
        (void) patience_ends(&p, 1);
        assert_int_equal(patience_left(&p), 3);
        (void) patience_ends(&p, -1);
        assert_int_equal(patience_left(&p), 3);
        for (unsigned i = 0; i < 10; i++)
                (void) patience_ends(&p, -1);
        assert_int_equal(patience_left(&p), 0); /* it is due */
}

static void test_direction(void **state) {
        Patience p = {};

        (void) wait_for(&p, 1);
        (void) wait_for(&p, 1);
        for (unsigned i = 0; i < 1000; i++)
                assert_false(patience_ends(&p, i % 2 == 0 ? 1 : -1));
        assert_int_equal(wait_for(&p, -1), 3); /* the last one was in that direction */
        assert_int_equal(wait_for(&p, 1), 8);
}

static void test_calm(void **state) {
        Patience p = {};

        (void) wait_for(&p, 1);
        (void) wait_for(&p, 1);
        for (unsigned i = 0; i < PATIENCE_CALM - 1; i++)
                assert_false(patience_ends(&p, 0));
        assert_int_equal(wait_for(&p, 1), 4);
        for (unsigned i = 0; i < 2 * PATIENCE_CALM; i++)
                assert_false(patience_ends(&p, 0));
        assert_int_equal(wait_for(&p, 1), 2);
        for (unsigned i = 0; i < 10 * PATIENCE_CALM; i++)
                assert_false(patience_ends(&p, 0));
        assert_int_equal(wait_for(&p, 1), 1);
}

/* In a thousand windows that change their mind each few of them. */
static void test_swings(void **state) {
        for (unsigned period = 1; period < 64; period++) {
                Patience p = {};
                unsigned changes = 0;

                for (unsigned i = 0; i < 1000; i++)
                        if (patience_ends(&p, i / period % 2 == 0 ? 1 : -1)) {
                                patience_spend(&p);
                                changes++;
                        }
                assert_in_range(changes, 1, PATIENCE_MOST + 1000 / (1U << PATIENCE_MOST) + 1);
        }
}

/* Of what swings between two values some windows count, whatever the period. What began anew is cold in the
 * first ones. */
static void test_windows_count(void **state) {
        for (unsigned period = 1; period < 512; period++) {
                Patience p = {};
                unsigned cold = 0, counted = 0;
                int has = 0;

                for (unsigned i = 0; i < 10000; i++) {
                        int wants = i / period % 2;

                        if (patience_ends(&p, wants - has)) {
                                patience_spend(&p);
                                has = wants;
                                cold = 8;
                        } else if (cold > 0)
                                cold -= wants == has;
                        else
                                counted += wants == has;
                }
                assert_in_range(counted, 10000 / 5, 10000);
        }
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_doubles),
                cmocka_unit_test(test_not_spent),
                cmocka_unit_test(test_left),
                cmocka_unit_test(test_direction),
                cmocka_unit_test(test_calm),
                cmocka_unit_test(test_swings),
                cmocka_unit_test(test_windows_count),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
