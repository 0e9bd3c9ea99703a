/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* When a race rests, and for how long. */

#include "test-util.h"

#include <glib.h>

#include "daemon/auto/rest.h"

#define MARGIN 0.005
#define REQUESTS 10000U

static const RaceStep settled = { .reason = RACE_BEST, .settled = true },
                      unconfirmed = { .reason = RACE_UNCONFIRMED },
                      a_switch = { .action = RACE_SWITCH };

static Rest rest;

static int setup(void **state) {
        rest = (Rest) {};
        return 0;
}

/* In which the unit misses so many of 1000 requests. */
static RaceWindow window(unsigned misses) {
        return (RaceWindow) { .requests = REQUESTS, .misses = REQUESTS / 1000 * misses };
}

static RestReason take(unsigned misses, const RaceStep *step) {
        RaceWindow w = window(misses);

        rest_count(&rest, &w, MARGIN);
        rest_take_step(&rest, &w, step);
        return rest.reason;
}

/* How many windows it takes, which miss so much by turns. */
static unsigned settle(unsigned one, unsigned other) {
        unsigned n = 1;

        while (take(n % 2 == 0 ? one : other, &settled) == REST_NOT)
                assert_true(++n < 100);
        assert_int_equal(rest.reason, REST_SETTLED);
        return n;
}

static bool ends(unsigned misses) {
        RaceWindow w = window(misses);

        return rest_ends(&rest, &w, MARGIN);
}

/* After how many such windows. */
static unsigned sleep_for(unsigned misses) {
        unsigned n = 1;

        while (!ends(misses))
                assert_true(++n < 10000);
        assert_int_equal(rest.reason, REST_NOT);
        return n;
}

/* ---- whether it rests */

static void test_idle(void **state) {
        for (unsigned i = 1; i < REST_IDLE_WINDOWS; i++)
                assert_int_equal(take(2, &unconfirmed), REST_NOT);
        assert_int_equal(take(3, &unconfirmed), REST_NOT); /* from the beginning */
        for (unsigned i = 1; i < REST_IDLE_WINDOWS; i++)
                assert_int_equal(take(2, &unconfirmed), REST_NOT);
        assert_int_equal(take(2, &unconfirmed), REST_IDLE);
        rest_switched(&rest);
        assert_int_equal(rest.reason, REST_IDLE);

        for (unsigned i = 0; i < 10000; i++)
                assert_false(ends(4));
        assert_true(ends(5));
        assert_int_equal(take(2, &unconfirmed), REST_NOT);
}

/* Nothing was asked for. */
static void test_idle_without_requests(void **state) {
        static const RaceWindow none;

        for (unsigned i = 0; i < REST_IDLE_WINDOWS; i++)
                rest_count(&rest, &none, MARGIN);
        assert_int_equal(rest.reason, REST_IDLE);
        assert_false(rest_ends(&rest, &none, MARGIN));
}

/* Next to nothing was asked for, whatever became of that. */
static void test_idle_with_some_requests(void **state) {
        static const RaceWindow one = { .requests = 1, .misses = 1 };

        for (unsigned i = 0; i < REST_IDLE_WINDOWS; i++)
                rest_count(&rest, &one, MARGIN);
        assert_int_equal(rest.reason, REST_IDLE);
        assert_false(rest_ends(&rest, &one, MARGIN));
}

static void test_settles(void **state) {
        assert_int_equal(settle(500, 500), 32);
}

/* Windows that say nothing are half of them at most, and the last one is none. */
static void test_silent_windows(void **state) {
        static const RaceStep silent = { .reason = RACE_NO_SHADOW };

        for (unsigned i = 0; i < 16; i++)
                assert_int_equal(take(500, &silent), REST_NOT);
        assert_int_equal(settle(500, 500), 16);

        setup(NULL);
        for (unsigned i = 0; i < 17; i++)
                assert_int_equal(take(500, &silent), REST_NOT);
        assert_int_equal(settle(500, 500), 16);

        setup(NULL);
        for (unsigned i = 1; i < 32; i++)
                assert_int_equal(take(500, &settled), REST_NOT);
        for (unsigned i = 0; i < 100; i++)
                assert_int_equal(take(500, &unconfirmed), REST_NOT);
        assert_int_equal(settle(500, 500), 1);
}

static void test_begins_to_settle_again(void **state) {
        for (unsigned i = 1; i < 32; i++)
                assert_int_equal(take(500, &settled), REST_NOT);
        assert_int_equal(take(500, &a_switch), REST_NOT);
        for (unsigned i = 1; i < 32; i++)
                assert_int_equal(take(500, &settled), REST_NOT);
        rest_unsettle(&rest);
        assert_int_equal(settle(500, 500), 32);
        rest_unsettle(&rest);
        assert_int_equal(rest.reason, REST_NOT);
        assert_int_equal(settle(500, 500), 32);
}

/* ---- whether it goes on */

/* A tenth of what was missed is something else. */
static void test_wakes(void **state) {
        settle(500, 500);
        for (unsigned i = 0; i < 100; i++)
                assert_false(ends(i % 2 == 0 ? 549 : 451));
        assert_false(ends(551));
        assert_true(ends(551));
        settle(500, 500);
        assert_false(ends(449));
        assert_true(ends(449));
}

/* So are two margins, if little was missed. */
static void test_wakes_by_margins(void **state) {
        settle(20, 20);
        for (unsigned i = 0; i < 100; i++)
                assert_false(ends(29));
        assert_false(ends(31));
        assert_true(ends(31));
        settle(20, 20);
        assert_false(ends(9));
        assert_true(ends(9));
}

/* Two in a row, in the same direction. */
static void test_odd_windows(void **state) {
        settle(500, 500);
        for (unsigned i = 0; i < 60; i++) {
                assert_false(ends(900));
                assert_false(ends(500));
                assert_false(ends(900));
                assert_false(ends(100));
        }
        assert_true(ends(100));
}

/* What was the same all the time is no news. */
static void test_noise(void **state) {
        settle(400, 600);
        for (unsigned i = 0; i < 200; i++)
                assert_false(ends(i % 10 < 5 ? 400 : 600));
        assert_false(ends(800));
        assert_false(ends(860));
        assert_true(ends(860));
}

/* Nor is a window in which the unit asked for next to nothing. */
static void test_few_requests(void **state) {
        static const RaceWindow few = { .requests = 63, .misses = 63 };

        settle(500, 500);
        assert_false(rest_ends(&rest, &few, MARGIN));
        assert_false(rest_ends(&rest, &few, MARGIN));
        assert_false(ends(600));
        assert_false(rest_ends(&rest, &few, MARGIN));
        assert_true(ends(600));
}

/* What was missed before, as after a switch, is not what it is compared with. */
static void test_average(void **state) {
        for (unsigned i = 0; i < 5; i++)
                take(900, &settled);
        take(900, &a_switch);
        for (unsigned i = 0; i < 16; i++)
                take(900, &unconfirmed);
        settle(490, 510);
        assert_false(ends(590));
        assert_true(ends(590));
}

/* ---- for how long */

static void test_lengths(void **state) {
        static const unsigned lengths[] = { 256, 512, 1024, 2048, 4096, 4096, 4096 };

        for (size_t i = 0; i < ELEMENTSOF(lengths); i++) {
                assert_int_equal(settle(500, 500), 32);
                assert_int_equal(sleep_for(500), lengths[i]);
        }
}

static void test_short_again(void **state) {
        for (unsigned i = 0; i < 3; i++) {
                settle(500, 500);
                sleep_for(500);
        }
        take(500, &a_switch);
        settle(500, 500);
        assert_int_equal(sleep_for(500), 256);

        settle(500, 500);
        assert_int_equal(sleep_for(600), 2);
        settle(600, 600);
        assert_int_equal(sleep_for(600), 256);

        for (unsigned i = 0; i < REST_IDLE_WINDOWS; i++)
                take(0, &settled);
        assert_true(ends(500));
        settle(500, 500);
        assert_int_equal(sleep_for(500), 256);
}

/* ---- words */

static void assert_says(const char *words) {
        g_autofree char *s = rest_to_string(&rest);

        assert_string_equal(s, words);
}

static void test_words(void **state) {
        assert_says("policies of other units are compared");
        take(500, &unconfirmed);
        settle(500, 500);
        sleep_for(500);
        take(500, &unconfirmed);
        settle(500, 500);
        assert_says("as no other one gains more than the margin: policies are compared again when it misses "
                    "more or less than now, when a ban ends, or 512 windows later");
        sleep_for(500);
        for (unsigned i = 0; i < REST_IDLE_WINDOWS; i++)
                take(0, &settled);
        assert_says("which misses so little that none could be better");
}

#define rest_test(f) cmocka_unit_test_setup(f, setup)

int main(void) {
        static const struct CMUnitTest tests[] = {
                rest_test(test_idle),
                rest_test(test_idle_without_requests),
                rest_test(test_idle_with_some_requests),
                rest_test(test_settles),
                rest_test(test_silent_windows),
                rest_test(test_begins_to_settle_again),
                rest_test(test_wakes),
                rest_test(test_wakes_by_margins),
                rest_test(test_odd_windows),
                rest_test(test_noise),
                rest_test(test_few_requests),
                rest_test(test_average),
                rest_test(test_lengths),
                rest_test(test_short_again),
                rest_test(test_words),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
