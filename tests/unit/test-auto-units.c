/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CachePolicy=auto: units come and go, and the configuration changes. */

#include "auto-fixture.h"

#include "daemon/core/choice.h"

/* ---- units come and go */

static void test_unit_stops_in_a_window(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        pass_window(u, 500);
        fixture->kernel.cgroups[1].exists = false;
        u->active = false;
        set_cgroup(u, 0);
        run();
        assert_null(played.shadows[1]);
        assert_state(u, UNIT_INACTIVE);

        u->active = true;
        set_cgroup(u, 2);
        run();
        assert_runs(u, "noop");
        assert_int_equal(u->choice->n_switches, 0);
        warm_up(u);
        switch_to_mru(u);
}

static void test_units_come_and_go(void **state) {
        Unit *a = add_auto_unit("a.slice", 1), *b = add_auto_unit("b.slice", 2);

        switch_to_lru(a);
        assert_runs(b, "noop");
        b->loaded = false;
        manager_mark_dirty(fixture->manager, b);
        run();
        assert_null(played.shadows[2]);
        play_window(a, 300, 500, 300, 500);
        assert_runs(a, "lru");
}

/* What cannot begin is tried again, and the unit has the stock policy. */
static void test_shadows_cannot_begin(void **state) {
        Unit *u;

        played.shadows_error = -EBUSY;
        u = add_auto_unit("a.slice", 1);
        assert_runs(u, "noop");
        assert_null(played.shadows[1]);
        assert_string_equal(u->choice->verdict, "stays with stock, policies cannot be compared: there are "
                                                "too many candidates of other units");

        played.shadows_error = 0;
        for (unsigned i = 0; i < 7; i++)
                pass_window(u, 500);
        assert_non_null(played.shadows[1]);
}

/* It waits for its race, and is told to have stopped when that could begin. */
static void test_unit_stops_while_it_waits(void **state) {
        Unit *u;

        played.shadows_error = -EBUSY;
        u = add_auto_unit("a.slice", 1);
        played.shadows_error = 0;
        fixture->kernel.cgroups[1].exists = false;
        for (unsigned i = 0; i < 5; i++)
                pass_window(u, 500);
        u->active = false;
        set_cgroup(u, 0);
        pass_window(u, 500);
        assert_int_equal(played.n_new, 0);
        assert_state(u, UNIT_INACTIVE);
}

/* One answer of systemd is here, and another one is not. */
static void test_unit_waits_for_systemd(void **state) {
        Unit *u;

        played.shadows_error = -EBUSY;
        u = add_auto_unit("a.slice", 1);
        played.shadows_error = 0;
        u->fetching = true;
        for (unsigned i = 0; i < 7; i++)
                pass_window(u, 500);
        assert_int_equal(played.n_new, 0);

        u->fetching = false;
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_int_equal(played.n_new, 1);
}

/* Without a race: the stock policy has to do, and the first candidate is not tried again. */
static void test_first_is_refused(void **state) {
        Unit *u;

        fixture->kernel.attach_error = -EINVAL;
        u = add_unit("a.slice", "auto", 1);
        run();
        assert_state(u, UNIT_FAILED);
        fixture->kernel.attach_error = 0;
        unit_reset_retry(u);
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_runs(u, "noop");
        assert_state(u, UNIT_ATTACHED);
        assert_contains(u->choice->because, "from s3fifo to stock: ");
}

static void test_ejected_without_race(void **state) {
        Unit *u;

        played.shadows_error = -EBUSY;
        u = add_unit("a.slice", "auto", 1);
        run();
        assert_runs(u, "s3fifo");
        fake_cgroup_eject(&fixture->kernel, 1);
        run();
        assert_runs(u, "noop");
        assert_contains(u->choice->because, "from s3fifo to stock: the kernel ");
}

/* ---- the configuration changes */

static void test_to_another_policy_and_back(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        set(u, "CacheCandidates", "", 9);
        configure(u, "lfu");
        run();
        assert_runs(u, "lfu");
        assert_null(u->choice);
        assert_null(played.shadows[1]);

        configure(u, "auto");
        run();
        assert_runs(u, "s3fifo"); /* the first by default that there is */
        assert_non_null(played.shadows[1]);
        assert_int_equal(fixture->kernel.n_attach, 1);

        configure(u, NULL);
        run();
        assert_runs(u, "");
        assert_null(played.shadows[1]);
}

/* Who was chosen stays that, if it can. */
static void test_candidates_change(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_lru(u);
        set(u, "CacheCandidates", "s3fifo", 9);
        assert_runs(u, "lru");
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_string_equal(shadows_of(u)->candidates, "stock, lru, mru nr_scan=64, s3fifo");

        set(u, "CacheCandidates", "", 10);
        set(u, "CacheCandidates", "stock mru", 11);
        assert_runs(u, "noop");
        assert_string_equal(shadows_of(u)->candidates, "stock, mru");
        assert_int_equal(u->choice->n_switches, 1);
}

/* And who was about to run need not be one any more. */
static void test_candidates_change_in_a_switch(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        unit_choose(u, MRU, "from stock to mru: figures");
        set(u, "CacheCandidates", "", 9);
        assert_runs(u, "s3fifo");
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(u->choice->n_switches, 0);
        assert_null(u->choice->because);
}

static void test_wrong_candidates(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_lru(u);
        set(u, "CacheCandidates", "nonesuch", 9);
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "unknown policy 'nonesuch' (/etc/x.slice:9)");
        assert_runs(u, "lru");
}

static void test_reload(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_lru(u);
        manager_mark_all_dirty(fixture->manager);
        run();
        assert_runs(u, "lru");
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(played.n_new, 1);

        /* The object has changed: it is replaced, which is no switch. */
        strcpy(((Policy *) policies_find(fixture->manager->policies, "lru"))->digest, "other");
        manager_mark_all_dirty(fixture->manager);
        run();
        assert_int_equal(fixture->kernel.n_update, 2);
        assert_int_equal(u->choice->n_switches, 1);
        assert_int_equal(shadows_of(u)->n_replaced, 2);
}

static void test_hold(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);
        Hold h = { .cookie = 1, .unit = (char *) "a.slice", .setting.layer = POLICY_LAYER_HOLD };

        switch_to_mru(u);
        assert_int_equal(policy_setting_assign(&h.setting, "CachePolicy", "lfu", "", 0), 0);
        manager_add_hold(fixture->manager, &h);
        run();
        assert_runs(u, "lfu");
        assert_null(played.shadows[1]);
        assert_state(u, UNIT_ATTACHED);

        manager_remove_hold(fixture->manager, &h);
        run();
        assert_runs(u, "noop");
        warm_up(u);
        switch_to_mru(u);
        policy_setting_done(&h.setting);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                AUTO_TEST(test_unit_stops_in_a_window),
                AUTO_TEST(test_units_come_and_go),
                AUTO_TEST(test_shadows_cannot_begin),
                AUTO_TEST(test_unit_stops_while_it_waits),
                AUTO_TEST(test_unit_waits_for_systemd),
                AUTO_TEST(test_first_is_refused),
                AUTO_TEST(test_ejected_without_race),
                AUTO_TEST(test_to_another_policy_and_back),
                AUTO_TEST(test_candidates_change),
                AUTO_TEST(test_candidates_change_in_a_switch),
                AUTO_TEST(test_wrong_candidates),
                AUTO_TEST(test_reload),
                AUTO_TEST(test_hold),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
