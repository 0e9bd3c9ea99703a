/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The rules of the race of policies, one after the other, with windows that are made up. */

#include "test-util.h"

#include <glib.h>

#include "daemon/auto/race.h"

enum { STOCK, LRU, FIFO, N };

#define CACHED 100000U
#define REQUESTS (CACHED / 2)
#define SAMPLE 5000U

static Race race;
static RaceStep last;

/* With shadows that are warm. */
static void begin(size_t present) {
        race_init(&race, N, present);
        for (size_t i = 0; i < N; i++)
                race.candidates[i].warm = RACE_WARM_TURNS;
}

static int setup(void **state) {
        begin(STOCK);
        return 0;
}

/* A window of half a turn with these misses per thousand requests: of the unit, and of each shadow. */
static RaceWindow window(unsigned real, unsigned stock, unsigned lru, unsigned fifo) {
        return (RaceWindow) {
                .present = race.present,
                .n_cached = CACHED,
                .requests = REQUESTS,
                .misses = REQUESTS / 1000 * real,
                .expected = SAMPLE,
                .sampled = SAMPLE,
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

/* The unit misses as the stock shadow does, LRU less: with a margin of 0.01 the regret is 0.095 a window,
 * of 0.15 that are needed. */
static void switch_to_lru(void) {
        assert_stays(window(500, 500, 300, 500), RACE_UNCONFIRMED);
        assert_switches(window(500, 500, 300, 500), LRU);
}

/* How many windows until it switches. */
static unsigned count_windows(unsigned real, unsigned stock, unsigned lru, unsigned fifo) {
        unsigned n = 1;

        while (play(window(real, stock, lru, fifo)) != RACE_SWITCH)
                assert_true(++n < 5000);
        return n;
}

/* The same until it leaves the first one. */
static unsigned count_leaving(RaceWindow w) {
        unsigned n = 1;

        while (play(w) != RACE_LEAVE)
                assert_true(++n < 100);
        return n;
}

static void test_window(void **state) {
        assert_int_equal(race_window_requests(100000), 25000);
        assert_int_equal(race_window_requests(10), 128);
        assert_false(race_window_over(100000, 24999, 5 * USEC_PER_SEC));
        assert_true(race_window_over(100000, 25000, 5 * USEC_PER_SEC));
        assert_false(race_window_over(1000, 400000, 2 * USEC_PER_SEC - 1));
        assert_true(race_window_over(1000, 400000, 2 * USEC_PER_SEC));
        assert_false(race_window_over(1000, 3, 60 * USEC_PER_SEC - 1));
        assert_true(race_window_over(1000, 3, 60 * USEC_PER_SEC));
}

static void test_best(void **state) {
        for (unsigned i = 0; i < 100; i++)
                assert_stays(window(500, 500, 500, 600), RACE_BEST);
        assert_int_equal(last.from, STOCK);
        assert_int_equal(last.to, STOCK);
}

/* It begins with what runs. */
static void test_begins(void **state) {
        begin(FIFO);
        assert_stays(window(500, 500, 500, 500), RACE_BEST);
        assert_int_equal(last.from, FIFO);
        assert_int_equal(count_windows(500, 500, 300, 500), 2);
        assert_int_equal(race.present, LRU);
}

static void test_confirmed(void **state) {
        switch_to_lru();
        assert_int_equal(last.from, STOCK);
        assert_true(last.from_ratio > 0.499 && last.from_ratio < 0.501);
        assert_true(last.to_ratio > 0.299 && last.to_ratio < 0.301);
}

/* The more it would miss less, the sooner. */
static void test_sum(void **state) {
        assert_int_equal(count_windows(500, 500, 450, 500), 8); /* 0.02 each */
        begin(STOCK);
        assert_int_equal(count_windows(500, 500, 100, 500), 1); /* 0.195 */
}

/* What another window takes back has to be missed again. */
static void test_taken_back(void **state) {
        assert_stays(window(500, 500, 300, 500), RACE_UNCONFIRMED);
        assert_stays(window(500, 500, 700, 500), RACE_BEST);
        assert_true(race.candidates[LRU].regret == 0);
        switch_to_lru();
}

/* Each has its own sum; who has most of what it needs wins. */
static void test_two_winners(void **state) {
        assert_stays(window(500, 500, 300, 400), RACE_UNCONFIRMED);
        assert_int_equal(last.to, LRU);
        assert_stays(window(500, 500, 500, 400), RACE_UNCONFIRMED);
        assert_stays(window(500, 500, 500, 400), RACE_UNCONFIRMED);
        assert_int_equal(last.to, FIFO);
        assert_switches(window(500, 500, 500, 400), FIFO);
}

/* Half a point of percent, or a fiftieth of the ratio. */
static void test_margin(void **state) {
        for (unsigned i = 0; i < 100; i++)
                assert_stays(window(200, 200, 196, 200), RACE_BEST);
        for (unsigned i = 0; i < 100; i++)
                assert_stays(window(900, 900, 883, 900), RACE_BEST);
        assert_stays(window(200, 200, 194, 200), RACE_UNCONFIRMED);
}

static void test_own_margin(void **state) {
        race.margin = 0.15;
        for (unsigned i = 0; i < 100; i++)
                assert_stays(window(500, 500, 351, 500), RACE_BEST);
        race.margin = 0;
        assert_stays(window(500, 500, 350, 500), RACE_UNCONFIRMED);
}

/* Each switch takes twice as much as the one before, up to a whole turn: 0.15, 0.3, 0.6, 1, of 0.095 a
 * window. */
static void test_slower(void **state) {
        static const unsigned windows[] = { 2, 4, 7, 11, 11 };

        for (size_t i = 0; i < ELEMENTSOF(windows); i++) {
                race.guarded = 0;
                assert_int_equal(i % 2 == 0 ? count_windows(500, 500, 300, 500) :
                                              count_windows(500, 500, 500, 300), windows[i]);
        }
}

/* The kernel's own policy needs half as much. */
static void test_back_to_stock(void **state) {
        begin(FIFO);
        assert_int_equal(count_windows(500, 450, 500, 500), 4);
        assert_int_equal(race.present, STOCK);
}

/* However long a window is, it is one turn. */
static void test_long_window(void **state) {
        RaceWindow w = window(500, 500, 400, 500);

        w.n_cached = REQUESTS / 100;
        assert_stays(w, RACE_UNCONFIRMED);
        assert_true(race.candidates[LRU].regret < 0.0901);
        assert_switches(w, LRU);
}

/* Of what is shown the last window is three tenths. */
static void test_average(void **state) {
        assert_stays(window(500, 500, 500, 500), RACE_BEST);
        assert_stays(window(500, 500, 450, 500), RACE_UNCONFIRMED);
        assert_true(race.candidates[LRU].ratio > 0.4849 && race.candidates[LRU].ratio < 0.4851);
}

/* What is said of a switch is of the time that speaks for it. */
static void test_figures(void **state) {
        for (unsigned i = 0; i < 10; i++)
                assert_stays(window(200, 200, 800, 800), RACE_BEST);
        assert_stays(window(700, 700, 600, 800), RACE_UNCONFIRMED);
        assert_switches(window(800, 800, 400, 800), LRU);
        assert_true(last.from_ratio > 0.749 && last.from_ratio < 0.751);
        assert_true(last.to_ratio > 0.499 && last.to_ratio < 0.501);
}

/* What is missing in the sample counts as hits. */
static void test_expected(void **state) {
        RaceWindow w = window(500, 500, 500, 500);

        w.expected = 2 * SAMPLE;
        assert_stays(w, RACE_BEST);
        assert_true(last.to_ratio > 0.249 && last.to_ratio < 0.251);
}

/* Of large folios the sample has more than the unit counts: nobody misses more than all. */
static void test_more_than_expected(void **state) {
        RaceWindow w = window(500, 900, 800, 900);

        w.expected = SAMPLE / 16;
        assert_stays(w, RACE_UNCONFIRMED);
        assert_true(last.from_ratio > 0.899 && last.from_ratio < 0.901);
        assert_true(last.to_ratio > 0.799 && last.to_ratio < 0.801);

        w.expected = 0; /* less than one */
        assert_stays(w, RACE_UNCONFIRMED);
}

static void test_no_sample(void **state) {
        RaceWindow w = window(500, 500, 400, 500);

        w.sampled = RACE_SAMPLE_MIN - 1;
        for (unsigned i = 0; i < 10; i++)
                assert_stays(w, RACE_NO_SAMPLE);
        w.sampled++;
        assert_stays(w, RACE_UNCONFIRMED);
        w.requests = w.misses = 0;
        assert_stays(w, RACE_NO_SAMPLE);
}

/* It missed 0.1 more than it would have with the policy before, of which 0.01 do not count: 0.045 a window,
 * of 0.5. */
static void test_rolls_back(void **state) {
        switch_to_lru();
        for (unsigned i = 0; i < 11; i++)
                assert_stays(window(600, 500, 300, 500), RACE_BEST);
        assert_int_equal(play(window(600, 500, 300, 500)), RACE_ROLL_BACK);
        assert_int_equal(last.from, LRU);
        assert_int_equal(last.to, STOCK);
        assert_int_equal(race.present, STOCK);
        assert_int_equal(last.banned, 16);
        assert_true(last.from_ratio > 0.599 && last.to_ratio < 0.501);
}

/* There is none before the candidate that the race begins with. Its unit missed 0.2 more than it would with
 * the best of the others, of which 0.05 do not count: 0.075 a window, of 0.5. */
static void test_guard_of_first(void **state) {
        begin(FIFO);
        for (unsigned i = 0; i < 6; i++)
                assert_stays(window(700, 600, 500, 500), RACE_BEST);
        assert_int_equal(play(window(700, 600, 500, 500)), RACE_LEAVE);
        assert_int_equal(last.from, FIFO);
        assert_int_equal(last.to, LRU);
        assert_int_equal(race.present, LRU);
        assert_true(last.from_ratio > 0.699 && last.to_ratio > 0.499 && last.to_ratio < 0.501);

        /* its shadow still promises much; but next time there is one before it */
        assert_int_equal(count_windows(500, 600, 500, 300), 4);
        assert_int_equal(race.present, FIFO);
        for (unsigned i = 0; i < 10 && last.action != RACE_ROLL_BACK; i++)
                play(window(700, 600, 500, 300));
        assert_int_equal(last.action, RACE_ROLL_BACK);
        assert_int_equal(last.to, LRU);
        assert_int_equal(last.banned, 16);
}

/* A little more is no reason, and after eight turns nothing is. The kernel's own policy needs no guard. */
static void test_guard_of_first_ends(void **state) {
        begin(FIFO);
        for (unsigned i = 0; i < 16; i++)
                assert_stays(window(550, 500, 600, 500), RACE_BEST);
        for (unsigned i = 0; i < 100; i++)
                assert_stays(window(900, 500, 600, 500), RACE_BEST);
        begin(STOCK);
        for (unsigned i = 0; i < 100; i++)
                assert_stays(window(900, 500, 600, 500), RACE_BEST);
}

/* Who is banned, or out, is none of the others, nor is one of which nothing is known. */
static void test_guard_of_first_alone(void **state) {
        begin(FIFO);
        race_ban(&race, STOCK);
        race_exclude(&race, LRU);
        for (unsigned i = 0; i < 16; i++)
                assert_stays(window(900, 100, 100, 100), RACE_BEST);
        assert_int_equal(count_leaving(window(900, 100, 100, 100)), 2);
        assert_int_equal(race.present, STOCK);

        begin(FIFO);
        for (unsigned i = 0; i < 100; i++) {
                RaceWindow w = window(900, 100, 100, 100);

                w.silent[STOCK] = w.silent[LRU] = true;
                assert_stays(w, RACE_BEST);
        }
}

/* The unit may miss more than all shadows do, as it counts uses of folios and they those of pages. With the
 * next policy that is so, too. So it is not taken back, and the first one comes again, once it has won. */
static void test_guard_of_first_in_vain(void **state) {
        begin(FIFO);
        assert_int_equal(count_leaving(window(250, 30, 40, 20)), 6);
        assert_int_equal(race.present, STOCK);
        assert_int_equal(count_windows(250, 30, 40, 20), 120); /* 0.0025 each, of 0.3 */
        assert_int_equal(race.present, FIFO);
        for (unsigned i = 0; i < 100; i++)
                assert_stays(window(250, 30, 40, 20), RACE_BEST);
        for (size_t i = 0; i < N; i++)
                assert_int_equal(race.candidates[i].n_bans, 0);
}

/* What was lost is made good by other windows, and after eight turns nobody looks any more. */
static void test_guard_ends(void **state) {
        switch_to_lru();
        for (unsigned i = 0; i < 16; i++)
                assert_stays(window(i % 2 == 0 ? 600 : 400, 500, 300, 500), RACE_BEST);
        for (unsigned i = 0; i < 100; i++)
                assert_stays(window(600, 500, 300, 500), RACE_BEST);
}

/* The unit was off its shadow before, too. */
static void test_bias(void **state) {
        assert_stays(window(700, 500, 300, 500), RACE_UNCONFIRMED);
        assert_switches(window(700, 500, 300, 500), LRU);
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(709, 500, 300, 500), RACE_BEST);
        assert_true(race.guard_regret == 0);
        assert_stays(window(720, 500, 300, 500), RACE_BEST);
        assert_true(race.guard_regret > 0);
}

static void roll_back(unsigned banned) {
        unsigned n = 0;

        count_windows(500, 500, 300, 500);
        while (play(window(1000, 500, 300, 500)) != RACE_ROLL_BACK)
                assert_true(++n < 10);
        assert_int_equal(last.banned, banned);
}

/* Not before so many windows, and twice as many each time. */
static void test_bans(void **state) {
        roll_back(16);
        for (unsigned i = 0; i < 16; i++)
                assert_stays(window(500, 500, 300, 500), RACE_BEST);
        assert_stays(window(500, 500, 300, 500), RACE_UNCONFIRMED);
        roll_back(32);
        roll_back(64);
        assert_int_equal(race.candidates[LRU].n_bans, 3);
}

/* Others may win meanwhile. */
static void test_ban_is_of_one(void **state) {
        roll_back(16);
        assert_int_equal(count_windows(500, 500, 400, 300), 4);
        assert_int_equal(race.present, FIFO);
}

static void test_ban_is_forgotten(void **state) {
        roll_back(16);
        roll_back(32);
        for (unsigned i = 0; i < 32 + RACE_BAN_FORGET; i++) {
                assert_stays(window(500, 500, 900, 500), RACE_BEST);
                assert_int_equal(race.candidates[LRU].n_bans, 2);
        }
        assert_stays(window(500, 500, 900, 500), RACE_BEST);
        roll_back(16);
}

/* Somebody has set another policy: the race goes on with that, and takes nothing back. */
static void test_present_changes(void **state) {
        RaceWindow w;

        switch_to_lru();
        for (unsigned i = 0; i < 100; i++) {
                w = window(900, 500, 500, 500);
                w.present = FIFO;
                assert_stays(w, RACE_BEST);
                assert_int_equal(last.from, FIFO);
        }
        assert_int_equal(count_windows(500, 500, 300, 500), 2);
        assert_int_equal(race.present, LRU);
}

/* Shadows that begin anew have sums and averages of their own; bans stay. */
static void test_reseed(void **state) {
        roll_back(16);
        play(window(500, 500, 500, 400));
        assert_true(race.candidates[FIFO].regret > 0);
        race_reseed(&race);
        assert_int_equal(race.candidates[LRU].banned, 16);
        assert_true(race.candidates[FIFO].regret == 0);
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(500, 1000, 1000, 1000), RACE_NO_SHADOW);
        assert_stays(window(500, 800, 900, 900), RACE_BEST);
        assert_true(last.from_ratio > 0.799);
}

static RaceWindow silent_window(unsigned real, unsigned stock, unsigned lru, unsigned fifo, size_t silent) {
        RaceWindow w = window(real, stock, lru, fifo);

        w.silent[silent] = true;
        return w;
}

/* One that was ended and begins anew is cold: what it misses then is nobody's regret, for two turns. */
static void test_cold(void **state) {
        switch_to_lru();
        assert_stays(silent_window(300, 500, 0, 500, LRU), RACE_NO_SHADOW);
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(300, 500, 1000, 500), RACE_NO_SHADOW);
        assert_stays(window(300, 500, 300, 500), RACE_BEST);
        assert_true(race.candidates[STOCK].regret == 0);
        assert_true(race.bias < 0.001);
}

/* The guard waits while shadows are cold. */
static void test_guard_waits(void **state) {
        switch_to_lru();
        race_reseed(&race);
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(1000, 1000, 1000, 1000), RACE_NO_SHADOW);
        while (play(window(1000, 500, 300, 500)) == RACE_STAY)
                assert_true(race.guarded > 0);
        assert_int_equal(last.action, RACE_ROLL_BACK);
}

/* Who says nothing does not win by that; who said something before is known by that. */
static void test_silent(void **state) {
        for (unsigned i = 0; i < 10; i++)
                assert_stays(silent_window(500, 500, 0, 500, LRU), RACE_BEST);
        assert_false(race.candidates[LRU].begun);

        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(500, 500, 0, 500), RACE_BEST);
        assert_stays(window(500, 500, 300, 500), RACE_UNCONFIRMED);
        assert_stays(silent_window(500, 500, 0, 500, LRU), RACE_UNCONFIRMED);
        assert_true(race.candidates[LRU].ratio > 0.299);
}

/* Nothing can be compared with that. */
static void test_present_is_silent(void **state) {
        assert_stays(window(500, 500, 300, 500), RACE_UNCONFIRMED);
        assert_stays(silent_window(500, 0, 300, 500, STOCK), RACE_NO_SHADOW);
        for (unsigned i = 0; i < 4; i++)
                assert_stays(window(500, 1000, 300, 500), RACE_NO_SHADOW);
        assert_switches(window(500, 500, 300, 500), LRU);
}

/* The guard knows no loss without the shadow of the policy before. */
static void test_guard_without_shadow(void **state) {
        switch_to_lru();
        for (unsigned i = 0; i < 100; i++)
                assert_stays(silent_window(1000, 0, 300, 500, STOCK), RACE_BEST);
}

/* As after a switch that was taken back. */
static void test_ban_by_caller(void **state) {
        switch_to_lru();
        assert_int_equal(race_ban(&race, LRU), 16);
        for (unsigned i = 0; i < 16; i++) {
                RaceWindow w = window(500, 500, 300, 500);

                w.present = STOCK;
                assert_stays(w, RACE_BEST);
        }
        assert_stays(window(500, 500, 300, 500), RACE_UNCONFIRMED);
        assert_int_equal(race_ban(&race, LRU), 32);
}

static void test_excluded(void **state) {
        race_exclude(&race, LRU);
        for (unsigned i = 0; i < 10; i++)
                assert_stays(window(500, 500, 100, 500), RACE_BEST);
        assert_int_equal(count_windows(500, 500, 100, 300), 2);
        assert_int_equal(race.present, FIFO);
        race_readmit(&race);
        assert_int_equal(count_windows(500, 500, 100, 500), 2);
        assert_int_equal(race.present, LRU);
}

static bool settles(RaceWindow w) {
        assert_stays(w, RACE_BEST);
        return last.settled;
}

/* Who is silent or cold may be better, and a switch may be taken back for 16 windows. */
static void test_settled(void **state) {
        RaceWindow w = window(500, 500, 500, 500);

        assert_true(settles(w));
        w.silent[FIFO] = true;
        assert_false(settles(w));
        race_exclude(&race, FIFO);
        assert_true(settles(w));
        assert_true(race_readmit(&race));
        assert_false(race_readmit(&race));
        for (unsigned i = 0; i < 4; i++)
                assert_false(settles(window(500, 500, 500, 500)));
        assert_true(settles(window(500, 500, 500, 500)));

        switch_to_lru();
        for (unsigned i = 1; i < 16; i++)
                assert_false(settles(window(300, 500, 300, 500)));
        assert_true(settles(window(300, 500, 300, 500)));
}

static void test_words(void **state) {
        static const char *const names[] = { "stock", "lru", "fifo" };
        g_autofree char *stays = NULL, *more = NULL, *switches = NULL, *back = NULL, *leaves = NULL;

        play(window(500, 500, 500, 500));
        stays = race_step_to_string(&last, names);
        assert_string_equal(stays, "stays with stock: no other policy gains more than the margin");

        begin(STOCK);
        play(window(500, 500, 300, 500));
        more = race_step_to_string(&last, names);
        assert_string_equal(more, "stays with stock, which would miss 50.0 % of all requests, lru 30.0 %: "
                                  "more windows have to confirm it");

        play(window(500, 500, 300, 500));
        switches = race_step_to_string(&last, names);
        assert_string_equal(switches,
                            "from stock to lru: lru would miss 30.0 % of all requests, stock 50.0 %");

        while (play(window(600, 500, 300, 500)) == RACE_STAY)
                ;
        back = race_step_to_string(&last, names);
        assert_string_equal(back, "back from lru to stock: it missed 60.0 % of all requests, stock would "
                                  "miss 50.0 %; lru is out for 16 windows");

        begin(FIFO);
        (void) count_leaving(window(600, 300, 500, 300));
        leaves = race_step_to_string(&last, names);
        assert_string_equal(leaves,
                            "from fifo to stock: it missed 60.0 % of all requests, stock would miss 30.0 %");
}

#define race_test(f) cmocka_unit_test_setup(f, setup)

int main(void) {
        static const struct CMUnitTest tests[] = {
                race_test(test_window),
                race_test(test_best),
                race_test(test_begins),
                race_test(test_confirmed),
                race_test(test_sum),
                race_test(test_taken_back),
                race_test(test_two_winners),
                race_test(test_margin),
                race_test(test_own_margin),
                race_test(test_slower),
                race_test(test_back_to_stock),
                race_test(test_long_window),
                race_test(test_average),
                race_test(test_figures),
                race_test(test_expected),
                race_test(test_more_than_expected),
                race_test(test_no_sample),
                race_test(test_rolls_back),
                race_test(test_guard_of_first),
                race_test(test_guard_of_first_ends),
                race_test(test_guard_of_first_alone),
                race_test(test_guard_of_first_in_vain),
                race_test(test_guard_ends),
                race_test(test_bias),
                race_test(test_bans),
                race_test(test_ban_is_of_one),
                race_test(test_ban_is_forgotten),
                race_test(test_present_changes),
                race_test(test_reseed),
                race_test(test_cold),
                race_test(test_guard_waits),
                race_test(test_silent),
                race_test(test_present_is_silent),
                race_test(test_guard_without_shadow),
                race_test(test_ban_by_caller),
                race_test(test_excluded),
                race_test(test_settled),
                race_test(test_words),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
