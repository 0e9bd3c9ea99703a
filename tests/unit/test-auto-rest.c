/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CachePolicy=auto: races rest where there is nothing to be gained. */

#include "auto-fixture.h"

#include "daemon/auto/rest.h"
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
        assert_int_equal(idle(u), REST_IDLE_WINDOWS);
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

/* ---- a unit that has the best policy */

/* Windows pass in which no candidate is better. Returns how many count, until the race rests. */
static unsigned settle(Unit *u, unsigned misses) {
        unsigned n = 1;

        play_window(u, misses, misses, misses, misses);
        for (;; n++) {
                assert_true(n < 100);
                pass_window(u, misses);
                if (!played.shadows[u->cgroup_id])
                        return n;
                answer_window(u, misses, misses, misses);
        }
}

/* Returns how many windows pass until it goes on. */
static unsigned sleep_for(Unit *u, unsigned misses) {
        unsigned n = 0;

        assert_null(played.shadows[u->cgroup_id]);
        for (; !played.shadows[u->cgroup_id]; n++) {
                assert_true(n < 10000);
                pass_window(u, misses);
        }
        return n;
}

static void test_rests_when_settled(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        play_window(u, 500, 500, 500, 300);
        switch_to_lru(u);
        assert_int_equal(settle(u, 500), REST_CALM_WINDOWS);
        assert_string_equal(u->choice->verdict,
                            "stays with lru, as no other one gains more than the margin: policies are "
                            "compared again when it misses more or less than now, when a ban ends, or 256 "
                            "windows later");
        assert_false(u->choice->figures[MRU].known);

        /* What happens to the unit begins no race. */
        manager_mark_dirty(fixture->manager, u);
        run();
        manager_notify(fixture->manager, reloaded);
        pass_window(u, 500);
        assert_null(played.shadows[1]);
        assert_runs(u, "lru");

        assert_int_equal(sleep_for(u, 500), REST_FIRST - 1);
        assert_null(u->choice->verdict);
        assert_int_equal(played.n_new, 2);
}

/* Each rest is twice as long, until there was a switch. */
static void test_rests_longer(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        (void) settle(u, 500);
        assert_int_equal(sleep_for(u, 500), REST_FIRST);
        assert_int_equal(settle(u, 500), REST_CALM_WINDOWS);
        assert_contains(u->choice->verdict, "or 512 windows later");
        assert_int_equal(sleep_for(u, 500), 2 * REST_FIRST);

        warm_up(u);
        switch_to_lru(u);
        assert_int_equal(settle(u, 500), REST_CALM_WINDOWS);
        assert_int_equal(sleep_for(u, 500), REST_FIRST);
}

static void test_wakes_by_misses(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        (void) settle(u, 500);
        (void) sleep_for(u, 500);
        (void) settle(u, 500);
        for (unsigned i = 0; i < 10; i++) {
                pass_window(u, 540);
                pass_window(u, 900);
                pass_window(u, 100);
        }
        assert_null(played.shadows[1]);
        assert_int_equal(sleep_for(u, 600), 2);

        /* Less is something else, too. */
        (void) settle(u, 600);
        assert_contains(u->choice->verdict, "or 256 windows later");
        assert_int_equal(sleep_for(u, 500), 2);
}

/* As long as something is to be found out there is no rest. */
static void test_does_not_settle(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        for (unsigned i = 0; i < 60; i++)
                play_window(u, 500, 500, 489, 500);
        assert_contains(u->choice->verdict, "more windows have to confirm it");

        played.silent = 1U << MRU;
        for (unsigned i = 0; i < 60; i++)
                play_window(u, 500, 500, 500, 500);
        played.silent = 1U << STOCK;
        for (unsigned i = 0; i < 60; i++)
                play_window(u, 500, 500, 500, 500);
        assert_contains(u->choice->verdict, "its shadow has not run for long enough");
        pass_window(u, 500);
        assert_non_null(played.shadows[1]);
}

/* Of shadows that are other ones now nothing is known, as late as that may be. */
static void test_other_shadows(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);
        PlayedShadows *s = shadows_of(u);

        for (unsigned i = 4; i < REST_CALM_WINDOWS; i++)
                play_window(u, 500, 500, 500, 500);
        s->handlers->reseeded((Shadows *) s, s->userdata);
        assert_int_equal(settle(u, 500), REST_CALM_WINDOWS);

        (void) sleep_for(u, 500);
        for (unsigned i = 1; i < REST_CALM_WINDOWS; i++)
                play_window(u, 500, 500, 500, 500);
        played.capacity = 500;
        play_window(u, 500, 500, 500, 500);
        assert_int_equal(settle(u, 500), REST_CALM_WINDOWS);
}

/* Its place is free at once. */
static void test_who_settles_makes_room(void **state) {
        Unit *a = add_auto_unit("a.slice", 1), *b;
        unsigned n_warnings = 0;

        played.room = 1;
        b = add_auto_unit("b.slice", 2);
        (void) settle(a, 500);
        assert_non_null(played.shadows[2]);
        log_set_hook(count_warnings, &n_warnings);
        pass_minute(b);
        assert_int_equal(n_warnings, 0);
        log_set_hook(NULL, NULL);

        /* And so is that of the other one, when it needs one again. */
        pass_window(a, 900);
        pass_window(a, 900);
        assert_contains(a->choice->verdict, "too many candidates");
        (void) settle(b, 500);
        assert_non_null(played.shadows[1]);
        assert_contains(b->choice->verdict, "no other one gains");
}

/* Another policy runs then, which has to prove itself. */
static void test_ejected_while_it_is_settled(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        (void) settle(u, 500);
        (void) sleep_for(u, 500);
        (void) settle(u, 500);
        fake_cgroup_eject(&fixture->kernel, 1);
        run();
        assert_runs(u, "noop");
        assert_contains(u->choice->because, "as mru nr_scan=64 is out for 16 windows");
        assert_non_null(played.shadows[1]);
        warm_up(u);
        assert_true(u->choice->figures[MRU].banned > 0);
        (void) settle(u, 500);
        assert_int_equal(sleep_for(u, 500), REST_FIRST);
}

/* What was ejected just before it would have rested. */
static void test_ejected_before_it_rests(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        for (unsigned i = 0; i < REST_CALM_WINDOWS; i++)
                play_window(u, 500, 500, 500, 500);
        fake_cgroup_eject(&fixture->kernel, 1);
        run();
        pass_window(u, 500);
        assert_runs(u, "noop");
        assert_non_null(played.shadows[1]);
}

/* The kernel may take now what it refused. */
static void test_reload_while_it_is_settled(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        refuse_mru(u);
        (void) settle(u, 500);

        manager_notify(fixture->manager, reloaded);
        pass_window(u, 500);
        assert_non_null(played.shadows[1]);
        warm_up(u);
        assert_false(u->choice->figures[MRU].out);
        switch_to_mru(u);
}

static void test_starts_again_while_it_is_settled(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        (void) settle(u, 500);
        start_again(u, 2);
        assert_non_null(played.shadows[2]);
}

static void test_margin_changes_while_it_is_settled(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        (void) settle(u, 500);
        set(u, "CacheAutoMargin", "2", 9);
        assert_non_null(played.shadows[1]);
}

/* The policy that was chosen is worse than its shadow: the switch is taken back. */
static void disappoint(Unit *u) {
        for (unsigned i = 0; i < 12 && u->choice->chosen != MRU; i++)
                play_window(u, 500, 500, 500, 300);
        assert_runs(u, "mru");
        for (unsigned i = 0; i < 8 && u->choice->chosen == MRU; i++)
                play_window(u, 900, 500, 500, 300);
        assert_runs(u, "noop");
}

/* A ban passes while the race rests, and then it goes on. */
static void test_bans_pass(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);
        unsigned banned;

        for (unsigned i = 0; i < 2; i++) {
                disappoint(u);
                /* LRU is a little better, so nothing rests */
                for (unsigned n = 0; n == 0 || u->choice->figures[MRU].banned > 0; n++)
                        play_window(u, 500 + n % 2, 500, 489, 500);
        }
        disappoint(u);
        assert_contains(u->choice->because, "out for 64 windows");

        /* it is shown all the time */
        assert_int_equal(settle(u, 500), REST_CALM_WINDOWS);
        banned = u->choice->figures[MRU].banned;
        assert_in_range(banned, 1, 64 - REST_CALM_WINDOWS);
        pass_window(u, 500);
        assert_int_equal(u->choice->figures[MRU].banned, banned - 1);
        assert_in_range(sleep_for(u, 500), banned - 2, banned);
        for (unsigned i = 0; i < 20 && u->choice->chosen != MRU; i++)
                play_window(u, 500, 500, 500, 300);
        assert_runs(u, "mru");
}

/* What is out for good is shown while the race rests. */
static void test_out_is_shown(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        refuse_mru(u);
        (void) settle(u, 500);
        assert_null(played.shadows[1]);
        assert_true(u->choice->figures[MRU].out);
}

/* While a switch waits for systemd no window ends: the guard is there when it comes, and nothing rests. */
static void test_switch_waits(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        play_window(u, 500, 500, 500, 300);
        u->fetching = true;
        manager_mark_dirty(fixture->manager, u);
        play_window(u, 500, 500, 500, 300);
        assert_int_equal(u->choice->chosen, MRU);
        assert_runs(u, "noop");
        for (unsigned i = 0; i < 2 * REST_IDLE_WINDOWS; i++)
                pass_window(u, 0);
        assert_non_null(played.shadows[1]);
        u->fetching = false;
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_runs(u, "mru");
        for (unsigned i = 0; i < 15; i++)
                play_window(u, 900, 500, 500, 300);
        assert_runs(u, "noop");
}

/* A unit the size of whose cache swings makes room as any other one. */
static void test_swings(void **state) {
        Unit *a = add_auto_unit("a.slice", 1);

        played.room = 1;
        played.patient = true;
        (void) add_auto_unit("b.slice", 2);
        for (unsigned i = 0; i < 100 && !played.shadows[2]; i++) {
                played.capacity = i % 30 == 0 ? 2000 : 1000;
                pass_window(a, 500);
                if (!played.shadows[2])
                        answer_window(a, 500, 500, 500);
        }
        assert_int_equal(a->choice->n_switches, 0);
        assert_non_null(played.shadows[2]);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                AUTO_TEST(test_rests_without_misses),
                AUTO_TEST(test_who_rests_makes_room),
                AUTO_TEST(test_ejected_while_it_rests),
                AUTO_TEST(test_starts_again_while_it_rests),
                AUTO_TEST(test_rests_when_settled),
                AUTO_TEST(test_rests_longer),
                AUTO_TEST(test_wakes_by_misses),
                AUTO_TEST(test_does_not_settle),
                AUTO_TEST(test_other_shadows),
                AUTO_TEST(test_who_settles_makes_room),
                AUTO_TEST(test_ejected_while_it_is_settled),
                AUTO_TEST(test_ejected_before_it_rests),
                AUTO_TEST(test_reload_while_it_is_settled),
                AUTO_TEST(test_starts_again_while_it_is_settled),
                AUTO_TEST(test_margin_changes_while_it_is_settled),
                AUTO_TEST(test_bans_pass),
                AUTO_TEST(test_out_is_shown),
                AUTO_TEST(test_switch_waits),
                AUTO_TEST(test_swings),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
