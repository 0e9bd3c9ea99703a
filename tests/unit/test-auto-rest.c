/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CachePolicy=auto: races rest where there is nothing to be gained. */

#include "auto-fixture.h"

#include "daemon/auto/racer.h"
#include "daemon/core/choice.h"

/* ---- a unit that misses next to nothing */

/* Windows pass in which next to nothing is missed. Returns how many, until the race rests. */
static unsigned idle(Unit *u) {
        unsigned n = 0;

        for (; played.shadows[u->cgroup_id]; n++) {
                assert_true(n < 100);
                pass_window(u, 2);
                if (played.shadows[u->cgroup_id])
                        answer_window(u, 2, 2, 2);
        }
        return n;
}

/* A unit that misses next to nothing is not sampled, until it misses more. */
static void test_rests_without_misses(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        for (unsigned i = 0; i < 5; i++)
                play_window(u, 2, 2, 2, 2);
        play_window(u, 3, 2, 2, 2);
        assert_int_equal(idle(u), RACER_IDLE);
        assert_string_equal(u->choice->verdict,
                            "stays with mru nr_scan=64, which misses so little that none could be better");
        assert_false(u->choice->figures[LRU].known);

        /* Neither what happens to the unit nor the time begins a race. */
        manager_mark_dirty(fixture->manager, u);
        run();
        for (unsigned i = 0; i < 20; i++)
                pass_window(u, 4);
        assert_null(played.shadows[1]);
        assert_runs(u, "mru");

        pass_window(u, 5);
        assert_non_null(played.shadows[1]);
        assert_null(u->choice->verdict);
        warm_up(u);
        for (unsigned i = 0; i < 4; i++)
                play_window(u, 500, 500, 300, 500);
        assert_runs(u, "lru");
        assert_int_equal(u->choice->n_switches, 2);
}

/* It makes room, and waits for nothing. */
static void test_who_rests_makes_room(void **state) {
        Unit *a = add_auto_unit("a.slice", 1), *b;
        unsigned n_warnings = 0;

        played.room = 1;
        b = add_auto_unit("b.slice", 2);
        assert_null(played.shadows[2]);
        (void) idle(a);
        for (unsigned i = 0; i < 7; i++)
                pass_window(b, 500);
        assert_non_null(played.shadows[2]);
        assert_null(played.shadows[1]);
        log_set_hook(count_warnings, &n_warnings);
        pass_minute(b);
        assert_int_equal(n_warnings, 0);

        /* There is no room for it now; it waits like any other one. */
        pass_window(a, 500);
        assert_contains(a->choice->verdict, "too many candidates");
        make_room(b, a);
        log_set_hook(NULL, NULL);
        assert_int_equal(n_warnings, 1);
}

/* What is ejected meanwhile is banned. */
static void test_ejected_while_it_rests(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        (void) idle(u);
        fake_cgroup_eject(&fixture->kernel, 1);
        run();
        assert_runs(u, "noop");
        assert_null(played.shadows[1]);
        pass_window(u, 500);
        assert_non_null(played.shadows[1]);
        warm_up(u);
        assert_true(u->choice->figures[MRU].banned > 0);
}

/* The counters of another control group are other ones. */
static void test_starts_again_while_it_rests(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        (void) idle(u);
        start_again(u, 2);
        assert_non_null(played.shadows[2]);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                AUTO_TEST(test_rests_without_misses),
                AUTO_TEST(test_who_rests_makes_room),
                AUTO_TEST(test_ejected_while_it_rests),
                AUTO_TEST(test_starts_again_while_it_rests),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
