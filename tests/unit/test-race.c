/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The rules of the race of policies, one after the other, with windows that are made up. */

#include "test-util.h"

#include <glib.h>

#include "daemon/auto/race.h"

enum { STOCK, LRU, FIFO, N };

#define REQUESTS 100000U
#define SAMPLE 10000U

static Race race;
static RaceStep last;

static int setup(void **state) {
        race_init(&race, N);
        return 0;
}

/* A window with these misses per thousand requests: of the unit, and of each shadow. */
static RaceWindow window(unsigned real, unsigned stock, unsigned lru, unsigned fifo) {
        return (RaceWindow) {
                .present = race.present,
                .requests = REQUESTS,
                .misses = REQUESTS / 1000 * real,
                .usec = 10 * USEC_PER_SEC,
                .expected = SAMPLE,
                .sampled = SAMPLE,
                .n_pages = 1000000,
                .shadow_misses = { SAMPLE / 1000 * stock, SAMPLE / 1000 * lru, SAMPLE / 1000 * fifo },
        };
}

static RaceAction play(RaceWindow w) {
        race_step(&race, &w, &last);
        return last.action;
}

#define assert_stays(w, why)                                    \
        do {                                                    \
                assert_int_equal(play(w), RACE_STAY);           \
                assert_int_equal(last.reason, why);             \
        } while (false)

#define assert_switches(w, to_)                                 \
        do {                                                    \
                assert_int_equal(play(w), RACE_SWITCH);         \
                assert_int_equal(last.to, to_);                 \
                assert_int_equal(race.present, to_);            \
        } while (false)

/* The unit misses as the stock shadow does, LRU less. */
static void switch_to_lru(void) {
        assert_stays(window(500, 500, 400, 500), RACE_UNCONFIRMED);
        assert_switches(window(500, 500, 400, 500), LRU);
}

static void test_window(void **state) {
        assert_false(race_window_over(1000, 3999, 5 * USEC_PER_SEC));
        assert_true(race_window_over(1000, 4000, 5 * USEC_PER_SEC));
        assert_false(race_window_over(1000, 400000, 2 * USEC_PER_SEC - 1));
        assert_true(race_window_over(1000, 400000, 2 * USEC_PER_SEC));
        assert_false(race_window_over(1000, 3, 60 * USEC_PER_SEC - 1));
        assert_true(race_window_over(1000, 3, 60 * USEC_PER_SEC));
}

static void test_best(void **state) {
        assert_stays(window(500, 500, 500, 600), RACE_BEST);
        assert_int_equal(last.from, STOCK);
        assert_int_equal(last.to, STOCK);
}

static void test_confirmed(void **state) {
        switch_to_lru();
        assert_int_equal(last.from, STOCK);
        assert_true(last.from_ratio > 0.499 && last.from_ratio < 0.501);
        assert_true(last.to_ratio > 0.399 && last.to_ratio < 0.401);
        assert_true(last.margin > 0.0099 && last.margin < 0.0101);
}

/* Another winner begins anew. */
static void test_winner_changes(void **state) {
        assert_stays(window(500, 500, 400, 450), RACE_UNCONFIRMED);
        assert_stays(window(500, 500, 400, 100), RACE_UNCONFIRMED);
        assert_int_equal(last.to, FIFO);
        assert_switches(window(500, 500, 400, 100), FIFO);
}

/* And so does a window without one. */
static void test_no_winner_between(void **state) {
        assert_stays(window(500, 500, 480, 500), RACE_UNCONFIRMED);
        assert_stays(window(500, 440, 500, 500), RACE_BEST);
        assert_stays(window(500, 500, 300, 500), RACE_UNCONFIRMED);
}

/* One point of percent, or a fiftieth of the ratio. */
static void test_margin(void **state) {
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(200, 200, 191, 200), RACE_SMALL_GAIN);
        race_init(&race, N);
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(900, 900, 883, 900), RACE_SMALL_GAIN);
        race_init(&race, N);
        assert_stays(window(900, 900, 881, 900), RACE_UNCONFIRMED);
}

/* With few pages in the sample it has to be more. */
static void test_noise(void **state) {
        RaceWindow w = window(500, 500, 400, 500);

        w.n_pages = 100; /* two times sqrt(0.25 / 100) are 0.1 */
        for (unsigned i = 0; i < 4; i++)
                assert_stays(w, RACE_SMALL_GAIN);
        w.n_pages = 120;
        assert_stays(w, RACE_UNCONFIRMED);
}

/* The last window is three tenths of the average. */
static void test_average(void **state) {
        assert_stays(window(500, 500, 500, 500), RACE_BEST);
        assert_stays(window(500, 500, 470, 500), RACE_SMALL_GAIN);
        assert_stays(window(500, 500, 450, 500), RACE_UNCONFIRMED);
        assert_true(last.to_ratio > 0.4786 && last.to_ratio < 0.4788);
}

/* What is missing in the sample counts as hits. */
static void test_expected(void **state) {
        RaceWindow w = window(500, 500, 500, 500);

        w.expected = 2 * SAMPLE;
        assert_stays(w, RACE_BEST);
        assert_true(last.from_ratio > 0.249 && last.from_ratio < 0.251);
}

static void test_no_sample(void **state) {
        RaceWindow w = window(500, 500, 400, 500);

        w.sampled = RACE_SAMPLE_MIN - 1;
        for (unsigned i = 0; i < 4; i++)
                assert_stays(w, RACE_NO_SAMPLE);
        w.sampled++;
        assert_stays(w, RACE_UNCONFIRMED);
        w.requests = w.misses = 0;
        assert_stays(w, RACE_NO_SAMPLE);
}

/* 10000 misses less in 10 seconds have to take 50 ms. */
static void test_idle(void **state) {
        RaceWindow w = window(500, 500, 400, 500);

        w.miss_usec = 4;
        for (unsigned i = 0; i < 4; i++)
                assert_stays(w, RACE_IDLE);
        w.miss_usec = 6;
        assert_stays(w, RACE_UNCONFIRMED);
        assert_switches(w, LRU);
}

/* Not at once back, however good it would be. */
static void test_dwell(void **state) {
        switch_to_lru();
        race.since_switch = 0;
        assert_stays(window(100, 100, 900, 900), RACE_UNCONFIRMED);
        race.since_switch = 0;
        assert_stays(window(100, 100, 900, 900), RACE_TOO_SOON);
        assert_switches(window(100, 100, 900, 900), STOCK);
}

/* It missed more than it would have with the policy before, in two windows. */
static void test_rolls_back(void **state) {
        switch_to_lru();
        assert_stays(window(520, 500, 400, 500), RACE_BEST);
        assert_int_equal(play(window(520, 500, 400, 500)), RACE_ROLL_BACK);
        assert_int_equal(last.from, LRU);
        assert_int_equal(last.to, STOCK);
        assert_int_equal(race.present, STOCK);
        assert_int_equal(last.banned, 1);
        assert_true(last.from_ratio > 0.519 && last.to_ratio < 0.501);
}

static void test_one_bad_window(void **state) {
        switch_to_lru();
        for (unsigned i = 0; i < RACE_GUARD_WINDOWS; i++)
                assert_stays(window(i % 2 == 0 ? 600 : 400, 500, 400, 500), RACE_BEST);
        /* the guard has gone */
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(600, 500, 400, 500), RACE_BEST);
}

/* The unit was off its shadow before, too. */
static void test_bias(void **state) {
        assert_stays(window(700, 500, 400, 500), RACE_UNCONFIRMED);
        assert_switches(window(700, 500, 400, 500), LRU);
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(705, 500, 400, 500), RACE_BEST);
        assert_stays(window(715, 500, 400, 500), RACE_BEST);
        assert_int_equal(play(window(715, 500, 400, 500)), RACE_ROLL_BACK);
}

static void roll_back(unsigned banned) {
        unsigned n = 0;

        while (play(window(500, 500, 400, 500)) != RACE_SWITCH)
                assert_true(++n < 2000);
        while (play(window(600, 500, 400, 500)) != RACE_ROLL_BACK)
                assert_true(++n < 2000);
        assert_int_equal(last.banned, banned);
}

/* The next one after that, and twice as long each time. */
static void test_bans(void **state) {
        roll_back(1);
        roll_back(2);
        roll_back(4);
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(500, 500, 400, 500), RACE_BEST);
        assert_stays(window(500, 500, 400, 500), RACE_UNCONFIRMED);
        assert_int_equal(race.candidates[LRU].n_bans, 3);
}

/* Others may win meanwhile. */
static void test_ban_is_of_one(void **state) {
        roll_back(1);
        roll_back(2);
        roll_back(4);
        play(window(500, 500, 400, 300));
        play(window(500, 500, 400, 300));
        play(window(500, 500, 400, 300));
        assert_int_equal(race.present, FIFO);
}

static void test_ban_is_forgotten(void **state) {
        roll_back(1);
        roll_back(2);
        for (unsigned i = 0; i < 2 + RACE_BAN_FORGET; i++) {
                assert_stays(window(500, 500, 900, 500), RACE_BEST);
                assert_int_equal(race.candidates[LRU].n_bans, 2);
        }
        assert_stays(window(500, 500, 900, 500), RACE_BEST);
        roll_back(1);
}

/* Somebody has set another policy: the race goes on with that, and takes nothing back. */
static void test_present_changes(void **state) {
        RaceWindow w;

        switch_to_lru();
        w = window(900, 500, 400, 500);
        w.present = FIFO;
        assert_stays(w, RACE_UNCONFIRMED);
        assert_int_equal(last.from, FIFO);
        w.present = FIFO;
        assert_switches(w, LRU);
}

/* Shadows that begin anew have an average of their own; bans stay. */
static void test_reseed(void **state) {
        roll_back(1);
        roll_back(2);
        assert_stays(window(500, 500, 400, 500), RACE_BEST);
        race_reseed(&race);
        assert_int_equal(race.candidates[LRU].banned, 2);
        assert_stays(window(500, 800, 900, 900), RACE_BEST);
        assert_true(last.from_ratio > 0.799);
}

/* What the caller says, as far as the noise permits. */
static void test_own_margin(void **state) {
        race.gain_min = 0.15;
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(500, 500, 360, 500), RACE_SMALL_GAIN);
        race.gain_min = 0;
        assert_stays(window(500, 500, 360, 500), RACE_UNCONFIRMED);
        assert_switches(window(500, 500, 360, 500), LRU);
}

static RaceWindow silent_window(unsigned real, unsigned stock, unsigned lru, unsigned fifo, size_t silent) {
        RaceWindow w = window(real, stock, lru, fifo);

        w.silent[silent] = true;
        return w;
}

/* Who says nothing does not win by that; who said something before is known by that. */
static void test_silent(void **state) {
        for (unsigned i = 0; i < 4; i++)
                assert_stays(silent_window(500, 500, 0, 500, LRU), RACE_BEST);
        assert_false(race.candidates[LRU].begun);

        assert_stays(window(500, 500, 400, 500), RACE_UNCONFIRMED);
        assert_switches(silent_window(500, 500, 0, 500, LRU), LRU);
        assert_true(race.candidates[LRU].ratio > 0.399);
}

/* Nothing can be compared with that. */
static void test_present_is_silent(void **state) {
        assert_stays(window(500, 500, 400, 500), RACE_UNCONFIRMED);
        assert_stays(silent_window(500, 0, 400, 500, STOCK), RACE_NO_SHADOW);
        assert_switches(window(500, 500, 400, 500), LRU);
}

/* The guard knows no loss without the shadow of the policy before. */
static void test_guard_without_shadow(void **state) {
        switch_to_lru();
        for (unsigned i = 0; i < RACE_GUARD_WINDOWS; i++)
                assert_stays(silent_window(600, 0, 400, 500, STOCK), RACE_BEST);
}

/* As after a switch that was taken back. */
static void test_ban_by_caller(void **state) {
        RaceWindow w;

        switch_to_lru();
        assert_int_equal(race_ban(&race, LRU), 1);
        w = window(500, 500, 400, 500);
        w.present = STOCK;
        assert_stays(w, RACE_BEST);
        w = window(500, 500, 400, 500);
        assert_stays(w, RACE_UNCONFIRMED);
        assert_int_equal(race_ban(&race, LRU), 2);
}

static void test_excluded(void **state) {
        race_exclude(&race, LRU);
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(500, 500, 100, 500), RACE_BEST);
        assert_stays(window(500, 500, 100, 400), RACE_UNCONFIRMED);
        assert_switches(window(500, 500, 100, 400), FIFO);
        race_readmit(&race);
        assert_stays(window(400, 500, 100, 400), RACE_UNCONFIRMED);
        assert_switches(window(400, 500, 100, 400), LRU);
}

static void test_words(void **state) {
        static const char *const names[] = { "stock", "lru", "fifo" };
        g_autofree char *stays = NULL, *small = NULL, *switches = NULL, *back = NULL;

        play(window(500, 500, 500, 500));
        stays = race_step_to_string(&last, names);
        assert_string_equal(stays, "stays with stock: no other policy would miss less");

        race_init(&race, N);
        play(window(500, 500, 495, 500));
        small = race_step_to_string(&last, names);
        assert_string_equal(small, "stays with stock, which would miss 50.0 % of all requests, lru 49.5 %: "
                                   "that is too little to gain");

        race_init(&race, N);
        switch_to_lru();
        switches = race_step_to_string(&last, names);
        assert_string_equal(switches,
                            "from stock to lru: lru would miss 40.0 % of all requests, stock 50.0 %");

        play(window(600, 500, 400, 500));
        play(window(600, 500, 400, 500));
        back = race_step_to_string(&last, names);
        assert_string_equal(back, "back from lru to stock: it missed 60.0 % of all requests, stock would "
                                  "miss 50.0 %; lru is out for 1 window");
}

#define race_test(f) cmocka_unit_test_setup(f, setup)

int main(void) {
        static const struct CMUnitTest tests[] = {
                race_test(test_window),
                race_test(test_best),
                race_test(test_confirmed),
                race_test(test_winner_changes),
                race_test(test_no_winner_between),
                race_test(test_margin),
                race_test(test_noise),
                race_test(test_average),
                race_test(test_expected),
                race_test(test_no_sample),
                race_test(test_idle),
                race_test(test_dwell),
                race_test(test_rolls_back),
                race_test(test_one_bad_window),
                race_test(test_bias),
                race_test(test_bans),
                race_test(test_ban_is_of_one),
                race_test(test_ban_is_forgotten),
                race_test(test_present_changes),
                race_test(test_reseed),
                race_test(test_own_margin),
                race_test(test_silent),
                race_test(test_present_is_silent),
                race_test(test_guard_without_shadow),
                race_test(test_ban_by_caller),
                race_test(test_excluded),
                race_test(test_words),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
