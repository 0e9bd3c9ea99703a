/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is known of systemd's units, and what not, while and after it reads its configuration, or the daemon
 * does, and when it leaves and comes. */

#include "played-systemd.h"

/* ---- reloads */

static void test_daemon_reload(void **state) {
        PlayedUnit *p, *gone;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        gone = play_unit("b.service", "active", 2, "lfu");
        start();
        forget_asked();

        /* All are removed and added, which is not true. */
        play_reloading(true);
        play_removed(p);
        play_removed(gone);
        play_new(play_unit("c.service", "inactive", 0, "mru"));
        play_state(p, "inactive");
        run_until_quiet();
        expect_asked("");
        expect_unit("a.service", "active lfu /1 1 attached");
        expect_unit("b.service", "active lfu /2 2 attached");
        expect_unit("c.service", NULL);

        play_file(p, "[Service]\nX-CachePolicy=mru\n");
        play_forget(gone);
        p->active = "active";
        play_reloading(false);
        run_until_quiet();
        expect_asked(LIST FILES_OF("a.service") FILES_OF("c.service") CGROUP_OF("a.service"));
        expect_unit("a.service", "active mru /1 1 attached");
        expect_unit("b.service", NULL);
        expect_unit("c.service", "inactive mru - 0 inactive");
        assert_true(fixture->manager->settled);

        /* From now on they are true again. */
        play_removed(p);
        run_until_quiet();
        expect_unit("a.service", NULL);
}

/* It started or stopped, and that was not seen. */
static void test_reload_and_states(void **state) {
        PlayedUnit *p, *q;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        q = play_unit("b.service", "inactive", 0, "lfu");
        start();

        p->active = "inactive";
        q->active = "active";
        q->cgroup = 2;
        fake_cgroup_make(&fixture->kernel, 2);
        play_reloading(false);
        run_until_quiet();
        expect_unit("a.service", "inactive lfu - 0 inactive");
        expect_unit("b.service", "active lfu /2 2 attached");
}

/* An object that a reload takes away for a moment is no unit that is gone. */
static void test_reload_and_answers(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        start();

        play_oddly("a.service:ControlGroup", HELD);
        play_state(p, "active");
        run_until_quiet();
        play_forget(p);
        play_reloading(true);
        play_release();
        run_until_quiet();
        expect_unit("a.service", "active lfu /1 1 attached");

        (void) play_unit("a.service", "active", 1, "mru");
        play_reloading(false);
        run_until_quiet();
        expect_unit("a.service", "active mru /1 1 attached");
}

/* The daemon's own configuration is read again. */
static void test_own_reload(void **state) {
        need_bus();
        (void) play_unit("a.service", "active", 1, NULL);
        start();
        forget_asked();

        read_rules(RULE);
        assert_false(fixture->manager->settled);
        run_until_quiet();
        expect_asked(LIST FILES_OF("a.service") CGROUP_OF("a.service"));
        expect_unit("a.service", "active mru /1 1 attached");
        assert_true(fixture->manager->settled);
}

/* Of two lists that are asked for one counts, and files are read once. */
static void test_reload_twice(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.service", "inactive", 0, "lfu");
        start();
        forget_asked();

        /* It starts while the list is made: its files were asked for. */
        play_oddly("List", HELD);
        play_reloading(false);
        play_reloading(false);
        run_until_quiet();
        expect_asked(LIST LIST);
        play_new(play_unit("b.service", "active", 2, "mru"));
        run_until_quiet();
        expect_asked(NEW("b.service") FILES_OF("b.service") CGROUP_OF("b.service"));
        fake_cgroup_make(&fixture->kernel, p->cgroup = 1);
        play_state(p, "active");
        run_until_quiet();
        expect_asked(CGROUP_OF("a.service"));
        assert_false(fixture->manager->settled);
        play_release();
        run_until_quiet();
        expect_asked(FILES_OF("a.service") CGROUP_OF("a.service"));
        expect_unit("a.service", "active lfu /1 1 attached");
        assert_true(fixture->manager->settled);
}

/* ---- systemd itself */

static void test_systemd_leaves(void **state) {
        PlayedUnit *p, *gone;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        gone = play_unit("b.service", "active", 2, "lfu");
        start();
        forget_asked();

        play_reloading(true);
        stop_systemd();
        run_until_quiet();
        expect_asked("");
        assert_false(fixture->manager->settled);
        expect_unit("a.service", "active lfu /1 1 attached");

        /* It is another one, which is not reloading. */
        play_forget(gone);
        start_systemd();
        run_until_quiet();
        expect_asked("Subscribe " LIST FILES_OF("a.service") CGROUP_OF("a.service"));
        assert_true(fixture->manager->settled);
        expect_unit("b.service", NULL);
        play_state(p, "inactive");
        run_until_quiet();
        expect_unit("a.service", "inactive lfu - 0 inactive");
}

/* The bus went and came: what an earlier watch knew may be gone. */
static void test_watch_again(void **state) {
        PlayedUnit *gone;
        guint observers;
        Unit *u;

        need_bus();
        observers = fixture->manager->observers->len;
        (void) play_unit("a.service", "active", 1, "lfu");
        gone = play_unit("b.service", "active", 2, "lfu");
        start();
        stop_watch();
        assert_false(fixture->manager->settled);
        assert_int_equal(fixture->manager->observers->len, observers);
        expect_unit("b.service", "active lfu /2 2 attached");

        u = manager_find_unit(fixture->manager, "b.service");
        u->fetching = true;
        play_forget(gone);
        forget_asked();
        start();
        expect_asked("Subscribe " LIST FILES_OF("a.service") CGROUP_OF("a.service"));
        expect_unit("a.service", "active lfu /1 1 attached");
        expect_unit("b.service", NULL);
        assert_int_equal(fixture->kernel.n_detach, 1);
        assert_int_equal(fixture->kernel.n_attach, 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                PLAY_TEST(test_daemon_reload),
                PLAY_TEST(test_reload_and_states),
                PLAY_TEST(test_reload_and_answers),
                PLAY_TEST(test_own_reload),
                PLAY_TEST(test_reload_twice),
                PLAY_TEST(test_systemd_leaves),
                PLAY_TEST(test_watch_again),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, start_bus, stop_bus);
}
