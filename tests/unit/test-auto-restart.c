/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CachePolicy=auto: the daemon starts again, or cannot choose. */

#include "auto-fixture.h"

#include "daemon/core/choice.h"

/* ---- the daemon starts again */

static Unit *find_again(void) {
        Unit *u;

        fixture->kernel.n_update = fixture->kernel.n_attach = 0;
        auto_restart();
        u = add_auto_unit("a.slice", 1);
        return u;
}

static void test_adopted(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        u = find_again();
        assert_chosen(u, "mru nr_scan=64");
        assert_true(u->adopted);
        assert_runs(u, "mru");
        assert_int_equal(fixture->kernel.n_update, 0);

        /* It goes on from there. */
        play_window(u, 500, 300, 300, 500);
        play_window(u, 500, 300, 300, 500);
        play_window(u, 500, 300, 300, 500);
        assert_runs(u, "noop");
}

/* Its shadow misses as little as that of the stock policy, but the unit does not. */
static void test_adopted_disappoints(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        u = find_again();
        assert_runs(u, "mru");
        for (unsigned i = 0; i < 10 && u->choice->chosen == MRU; i++)
                play_window(u, 800, 500, 700, 500);
        assert_runs(u, "noop");
        assert_string_equal(u->choice->because, "from mru nr_scan=64 to stock: it missed 80.0 % of all "
                                                "requests, stock would miss 50.0 %");
}

/* Killed in a switch: the update is brought to its end. */
static void test_adopted_in_a_switch(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        fixture->kernel.cgroups[1].updating = true;
        u = find_again();
        assert_chosen(u, "mru nr_scan=64");
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_runs(u, "mru");
        assert_int_equal(u->choice->n_switches, 0);
}

/* What is no candidate any more makes room for the stock policy. */
static void test_adopted_is_no_candidate(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        assert_runs(u, "lfu");
        u = find_again();
        assert_chosen(u, "stock");
        assert_runs(u, "noop");
        assert_int_equal(fixture->kernel.n_attach, 0);
        assert_int_equal(fixture->kernel.n_update, 1);
}

/* ---- what is missing */

static void check_unsupported(int error, const char *reason) {
        Unit *u;

        played.host_error = error;
        auto_restart();
        u = add_unit("a.slice", "auto", 1);
        run();
        assert_state(u, UNIT_UNSUPPORTED);
        assert_reason(u, reason);
        assert_reason(u, "; the stock policy runs");
        assert_runs(u, "");
}

static void test_unsupported(void **state) {
        check_unsupported(-EOPNOTSUPP,
                          "the kernel cannot sample what units read, which CachePolicy=auto needs");
        check_unsupported(-EPERM, "CachePolicy=auto cannot sample what units read: Operation not permitted");
}

/* And what was attached before makes room for it. */
static void test_unsupported_after_another(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        played.host_error = -EOPNOTSUPP;
        auto_restart();
        u = add_unit("a.slice", "auto", 1);
        run();
        assert_state(u, UNIT_UNSUPPORTED);
        assert_runs(u, "");

        configure(u, "lfu");
        run();
        assert_state(u, UNIT_ATTACHED);
        assert_runs(u, "lfu");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                AUTO_TEST(test_adopted),
                AUTO_TEST(test_adopted_disappoints),
                AUTO_TEST(test_adopted_in_a_switch),
                AUTO_TEST(test_adopted_is_no_candidate),
                AUTO_TEST(test_unsupported),
                AUTO_TEST(test_unsupported_after_another),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
