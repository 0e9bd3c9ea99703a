/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What becomes known of the units of systemd, which is played here: those at the start, and those that come,
 * start, stop and go. */

#include "played-systemd.h"

#include <stdio.h>

/* ---- the start */

static void test_start(void **state) {
        need_bus();
        (void) play_unit("a.slice", "active", 1, "lfu");
        (void) play_unit("b.service", "inactive", 0, "mru");
        (void) play_unit("c.scope", "active", 3, NULL);
        (void) play_unit("d.mount", "active", 4, NULL);
        play_unit("e.service", "inactive", 0, NULL)->load = "not-found";
        start();

        expect_asked("Subscribe " LIST FILES_OF("a.slice") FILES_OF("b.service") FILES_OF("c.scope")
                     CGROUP_OF("a.slice"));
        expect_unit("a.slice", "active lfu /1 1 attached");
        expect_unit("b.service", "inactive mru - 0 inactive");
        expect_unit("c.scope", "active - - 0 unconfigured"); /* nobody needs to know where it is */
        expect_unit("d.mount", NULL);
        expect_unit("e.service", NULL);
        assert_true(fixture->manager->settled);
        assert_int_equal(g_hash_table_size(watch->units), 3);
        assert_null(watch->rescan_source);
        assert_null(watch->subscribe_source);
}

/* All that is neither inactive nor failed has a control group, or is about to. */
static void test_states(void **state) {
        static const struct {
                const char *state;
                bool active;
        } table[] = {
                { "active", true },
                { "reloading", true },
                { "activating", true },
                { "deactivating", true },
                { "inactive", false },
                { "failed", false },
        };
        char name[32];

        need_bus();
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                (void) snprintf(name, sizeof(name), "%zu.service", i);
                (void) play_unit(name, table[i].state, 0, NULL);
        }
        start();

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                (void) snprintf(name, sizeof(name), "%zu.service", i);
                assert_int_equal(manager_find_unit(fixture->manager, name)->active, table[i].active);
        }
}

static void test_empty(void **state) {
        start();
        expect_asked("Subscribe " LIST);
        assert_true(fixture->manager->settled);
}

/* Nothing is concluded as long as anything is not known. */
static void test_not_settled(void **state) {
        need_bus();
        (void) play_unit("a.slice", "active", 1, "lfu");
        play_oddly("List", HELD);
        start();
        assert_false(fixture->manager->settled);

        play_release();
        play_oddly("a.slice:FragmentPath", HELD);
        run_until_quiet();
        assert_false(fixture->manager->settled);
        assert_true(manager_find_unit(fixture->manager, "a.slice")->fetching);

        play_release();
        play_oddly("a.slice:ControlGroup", HELD);
        run_until_quiet();
        assert_false(fixture->manager->settled);

        play_release();
        run_until_quiet();
        assert_true(fixture->manager->settled);
        expect_unit("a.slice", "active lfu /1 1 attached");
}

/* Drop-ins go over the file; a unit without files is one as well. */
static void test_files(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        play_dropin(p, 0, "[Service]\nX-CachePolicy=get-scan\n");
        play_dropin(p, 1, "[Service]\nX-CachePolicy=mru\n");
        p = play_unit("b.scope", "active", 2, NULL);
        play_dropin(p, 0, "[Scope]\nX-CachePolicy=mru\n");
        p = play_unit("c.slice", "inactive", 0, NULL);
        play_file(p, "[Service]\nX-CachePolicy=lfu\n"); /* in the section of another type */
        start();

        expect_unit("a.service", "active mru /1 1 attached");
        expect_unit("b.scope", "active mru /2 2 attached");
        expect_unit("c.slice", "inactive - - 0 unconfigured");
        assert_true(manager_find_unit(fixture->manager, "c.slice")->files_known);
}

/* Half of what is asked about a unit is not used. */
static void test_halves(void **state) {
        PlayedUnit *p;
        Unit *u;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        play_dropin(p, 0, "[Service]\nX-CachePolicy=mru\n");
        play_oddly("a.service:DropInPaths", HELD);
        start();
        u = manager_find_unit(fixture->manager, "a.service");
        assert_true(u->fetching);
        assert_false(u->files_known);
        expect_unit("a.service", "active - - 0 unconfigured");

        play_release();
        play_oddly("a.service:ControlGroup", HELD);
        run_until_quiet();
        assert_true(u->fetching);
        expect_unit("a.service", "active mru - 1 unconfigured");

        play_release();
        run_until_quiet();
        assert_false(u->fetching);
        expect_unit("a.service", "active mru /1 1 attached");

        /* The other halves. */
        play_dropin(p, 0, "[Service]\n");
        play_reloading(false);
        play_oddly("a.service:FragmentPath", HELD);
        run_until_quiet();
        expect_unit("a.service", "active mru /1 1 attached");
        play_release();
        play_oddly("a.service:ControlGroupId", HELD);
        run_until_quiet();
        expect_unit("a.service", "active lfu /1 1 attached");
        assert_int_equal(fixture->kernel.n_update, 0);
        play_release();
        run_until_quiet();
        assert_int_equal(fixture->kernel.n_update, 1);
}

/* ---- who needs a control group */

/* The control group of each unit, if a rule looks at it. */
static void test_rule_by_cgroup(void **state) {
        need_bus();
        (void) play_unit("a.slice", "active", 1, NULL);
        (void) play_unit("b.slice", "active", 2, NULL);
        read_rules("[Match]\nCgroup=/2\n[Policy]\nCachePolicy=mru\n");
        start();
        expect_asked("Subscribe " LIST FILES_OF("a.slice") FILES_OF("b.slice") CGROUP_OF("a.slice")
                     CGROUP_OF("b.slice"));
        expect_unit("a.slice", "active - /1 1 unconfigured");
        expect_unit("b.slice", "active mru /2 2 attached");
}

/* Its files do not ask for a policy, others do. */
static void test_rule_by_name(void **state) {
        need_bus();
        (void) play_unit("a.service", "active", 1, NULL);
        read_rules(RULE);
        start();
        expect_unit("a.service", "active mru /1 1 attached");
}

/* An admission filter asks for a policy, and so does readahead of another kind; who says something of files
 * may be a manager. */
static void test_filter(void **state) {
        need_bus();
        play_file(play_unit("a.service", "active", 1, NULL), "[Service]\nX-CacheAdmission=yes\n");
        play_file(play_unit("b.service", "active", 2, NULL), "[Service]\nX-CacheFiles=1 /a\n");
        play_file(play_unit("c.service", "active", 3, NULL), "[Service]\nX-CacheReadahead=off\n");
        start();
        assert_int_equal(manager_find_unit(fixture->manager, "a.service")->cgroup_id, 1);
        assert_int_equal(manager_find_unit(fixture->manager, "b.service")->cgroup_id, 2);
        assert_int_equal(manager_find_unit(fixture->manager, "c.service")->cgroup_id, 3);
}

static void test_hold(void **state) {
        Hold hold = { .unit = (char *) "a.service", .cookie = 1, .setting.layer = POLICY_LAYER_HOLD };
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.service", "active", 1, NULL);
        (void) play_unit("b.service", "inactive", 0, NULL);
        start();
        expect_unit("a.service", "active - - 0 unconfigured");
        expect_asked("Subscribe " LIST FILES_OF("a.service") FILES_OF("b.service"));

        assert_int_equal(policy_setting_assign(&hold.setting, "CachePolicy", "lfu", "", 0), 0);
        manager_add_hold(fixture->manager, &hold);
        run_until_quiet();
        expect_asked(CGROUP_OF("a.service"));
        expect_unit("a.service", "active lfu /1 1 attached");

        /* It starts again, with nothing but the hold. */
        play_state(p, "inactive");
        run_until_quiet();
        expect_unit("a.service", "inactive lfu - 0 inactive");
        fake_cgroup_make(&fixture->kernel, p->cgroup = 2);
        play_state(p, "active");
        run_until_quiet();
        expect_asked(CGROUP_OF("a.service"));
        expect_unit("a.service", "active lfu /2 2 attached");

        /* What is attached is known to be there. */
        manager_remove_hold(fixture->manager, &hold);
        manager_add_hold(fixture->manager, &hold);
        run_until_quiet();
        expect_asked("");
        manager_remove_hold(fixture->manager, &hold);
        run_until_quiet();
        expect_unit("a.service", "active - /2 2 unconfigured");

        /* Those that are not active have no control group. */
        hold.unit = (char *) "b.service";
        manager_add_hold(fixture->manager, &hold);
        run_until_quiet();
        expect_asked("");
        expect_unit("b.service", "inactive lfu - 0 inactive");
        manager_remove_hold(fixture->manager, &hold);

        /* Nor have those that the watch does not know. */
        (void) add_unit("c.service", NULL, 0);
        manager_find_unit(fixture->manager, "c.service")->active = true;
        hold.unit = (char *) "c.service";
        manager_add_hold(fixture->manager, &hold);
        run_until_quiet();
        expect_asked("");
        manager_remove_hold(fixture->manager, &hold);
        policy_setting_done(&hold.setting);
}

/* ---- a unit's life */

static void test_life(void **state) {
        PlayedUnit *p;
        Unit *u;

        start();
        expect_asked("Subscribe " LIST);

        /* Announced, and not asked about before it starts: that would have systemd load it once more. */
        p = play_unit("a.service", "inactive", 0, "lfu");
        play_new(p);
        run_until_quiet();
        expect_asked(NEW("a.service"));
        expect_unit("a.service", "inactive - - 0 unconfigured");
        assert_null(watch->rescan_source);

        fake_cgroup_make(&fixture->kernel, p->cgroup = 1);
        play_state(p, "activating");
        run_until_quiet();
        expect_asked(FILES_OF("a.service") CGROUP_OF("a.service"));
        expect_unit("a.service", "active lfu /1 1 attached");

        /* Its files are known; the control group may be another one. */
        play_state(p, "active");
        run_until_quiet();
        expect_asked(CGROUP_OF("a.service"));
        expect_unit("a.service", "active lfu /1 1 attached");
        assert_int_equal(fixture->kernel.n_attach, 1);

        u = manager_find_unit(fixture->manager, "a.service");
        assert_false(u->stopping);
        play_state(p, "deactivating");
        run_until_quiet();
        assert_true(u->stopping);
        assert_true(u->told_stopping);
        expect_asked(CGROUP_OF("a.service"));
        expect_unit("a.service", "active lfu /1 1 attached");

        play_state(p, "failed");
        run_until_quiet();
        assert_false(u->stopping);
        expect_asked("");
        expect_unit("a.service", "inactive lfu - 0 inactive");

        u->n_attempts = 3;
        u->retry_at = UINT64_MAX;
        fake_cgroup_make(&fixture->kernel, p->cgroup = 2);
        play_state(p, "active");
        run_until_quiet();
        expect_unit("a.service", "active lfu /2 2 attached"); /* a new life, new luck */
        assert_int_equal(u->n_attempts, 0);

        /* In the same life it is none. */
        u->n_attempts = 3;
        play_state(p, "reloading");
        run_until_quiet();
        assert_int_equal(u->n_attempts, 3);

        play_state(p, "inactive");
        play_removed(p);
        run_until_quiet();
        expect_unit("a.service", NULL);
        assert_int_equal(g_hash_table_size(watch->units), 0);
        assert_int_equal(g_hash_table_size(watch->units_by_path), 0);

        /* Nothing is known of it any more: a change of it is none. */
        forget_asked();
        play_state(p, "active");
        run_until_quiet();
        expect_asked("");
        expect_unit("a.service", NULL);
}

/* Units that are not ours, and signals that are none. */
static void test_strangers(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        start();
        forget_asked();

        play_signal(SYSTEMD_PATH, SYSTEMD_MANAGER_INTERFACE, "UnitNew", "so", "x.mount",
                    SYSTEMD_PATH "/unit/x_2emount");
        play_signal(SYSTEMD_PATH, SYSTEMD_MANAGER_INTERFACE, "UnitNew", "s", "x.service");
        play_signal(SYSTEMD_PATH, SYSTEMD_MANAGER_INTERFACE, "UnitRemoved", "s", p->name);
        play_signal(SYSTEMD_PATH, SYSTEMD_MANAGER_INTERFACE, "UnitRemoved", "so", "x.service",
                    SYSTEMD_PATH "/unit/x_2eservice");
        play_signal(SYSTEMD_PATH, SYSTEMD_MANAGER_INTERFACE, "Reloading", "s", "now");
        play_signal(p->path, "org.freedesktop.DBus.Properties", "PropertiesChanged", "sas",
                    SYSTEMD_UNIT_INTERFACE, 1, "ActiveState");
        play_signal(p->path, "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as",
                    SYSTEMD_UNIT_INTERFACE, 1, "ActiveState", "b", false, 0);
        play_signal(p->path, "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as",
                    SYSTEMD_UNIT_INTERFACE, 2, "SubState", "s", "dead", "Id", "s", "inactive", 0);
        play_signal(p->path, "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as",
                    SYSTEMD_SERVICE ".Service", 1, "ActiveState", "s", "inactive", 0);
        play_signal(SYSTEMD_PATH "/unit/x_2eservice", "org.freedesktop.DBus.Properties",
                    "PropertiesChanged", "sa{sv}as", SYSTEMD_UNIT_INTERFACE, 1, "ActiveState", "s", "active",
                    0);
        run_until_quiet();
        expect_asked("");
        expect_unit("a.service", "active lfu /1 1 attached");
        expect_unit("x.mount", NULL);
        expect_unit("x.service", NULL);
        assert_int_equal(g_hash_table_size(watch->units), 1);
        assert_true(fixture->manager->settled);
}

/* The name is what counts, should the object be another one. */
static void test_path(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        start();

        free(p->path);
        p->path = strdup(SYSTEMD_PATH "/unit/b_2eservice");
        play_new(p);
        run_until_quiet();
        assert_int_equal(g_hash_table_size(watch->units), 1);
        assert_int_equal(g_hash_table_size(watch->units_by_path), 1);
        play_state(p, "inactive");
        run_until_quiet();
        expect_unit("a.service", "inactive lfu - 0 inactive");
}

/* More units than that are not a system. */
static void test_many(void **state) {
        PlayedUnit *p;
        char name[32];

        start();
        for (unsigned i = 1; i < UNITS_MAX; i++) {
                (void) snprintf(name, sizeof(name), "%u.scope", i);
                (void) unit_new(fixture->manager, name);
        }
        play_new(play_unit("a.service", "inactive", 0, NULL));
        p = play_unit("b.service", "inactive", 0, NULL);
        play_new(p);
        run_until_quiet();
        expect_unit("a.service", "inactive - - 0 unconfigured");
        expect_unit("b.service", NULL);

        play_signal(SYSTEMD_PATH, SYSTEMD_MANAGER_INTERFACE, "UnitNew", "so", "1.scope",
                    SYSTEMD_PATH "/unit/_1_2escope");
        run_until_quiet();
        assert_non_null(find_watched("1.scope"));
}

/* ---- new units */

/* One that starts right after it was loaded may be active when it is announced. */
static void test_new_and_active(void **state) {
        PlayedUnit *p;

        start();
        forget_asked();

        p = play_unit("a.scope", "active", 1, "lfu");
        play_new(p);
        play_new(play_unit("b.scope", "active", 2, "mru"));
        play_new(play_unit("c.scope", "inactive", 0, "mru"));
        run_until_quiet();
        expect_asked(NEW("a.scope b.scope c.scope") FILES_OF("a.scope") FILES_OF("b.scope")
                     CGROUP_OF("a.scope") CGROUP_OF("b.scope"));
        expect_unit("a.scope", "active lfu /1 1 attached");
        expect_unit("b.scope", "active mru /2 2 attached");
        expect_unit("c.scope", "inactive - - 0 unconfigured");

        /* One that is known already is no new one. */
        play_new(p);
        run_until_quiet();
        expect_asked("");
        assert_true(manager_find_unit(fixture->manager, "a.scope")->files_known);
}

/* Those that are announced while others are asked about get their turn after them. */
static void test_new_meanwhile(void **state) {
        start();
        forget_asked();

        play_oddly("New", HELD);
        play_new(play_unit("a.scope", "active", 1, "lfu"));
        run_until_quiet();
        play_new(play_unit("b.scope", "active", 2, "mru"));
        run_until_quiet();
        expect_asked(NEW("a.scope"));
        play_release();
        run_until_quiet();
        expect_asked(FILES_OF("a.scope") CGROUP_OF("a.scope") NEW("b.scope") FILES_OF("b.scope")
                     CGROUP_OF("b.scope"));
        expect_unit("a.scope", "active lfu /1 1 attached");
        expect_unit("b.scope", "active mru /2 2 attached");
        assert_int_equal(watch->new_names->len, 0);
}

/* Its files may be others when it is loaded again. */
static void test_loaded_again(void **state) {
        PlayedUnit *p;
        Unit *u;

        need_bus();
        p = play_unit("a.service", "inactive", 0, "lfu");
        start();
        u = manager_find_unit(fixture->manager, "a.service");
        assert_true(u->files_known);
        forget_asked();

        play_file(p, "[Service]\nX-CachePolicy=mru\n");
        p->cgroup = 1;
        fake_cgroup_make(&fixture->kernel, 1);
        play_removed(p);
        play_new(p);
        play_state(p, "active");
        run_until_quiet();
        expect_unit("a.service", "active mru /1 1 attached");
}

/* ---- starts */

static bool is_seen_to_start(const char *unit) {
        return manager_find_unit(fixture->manager, unit)->started_at > 0;
}

/* Of what runs when the daemon comes nobody knows how long it does. */
static void test_started(void **state) {
        PlayedUnit *a, *b, *c;

        need_bus();
        a = play_unit("a.service", "active", 1, "lfu");
        b = play_unit("b.service", "inactive", 0, NULL);
        start();
        assert_false(is_seen_to_start("a.service"));

        play_state(b, "activating");
        play_new(play_unit("d.scope", "active", 2, NULL));
        run_until_quiet();
        assert_true(is_seen_to_start("b.service"));
        assert_true(is_seen_to_start("d.scope"));

        /* it goes on */
        play_state(a, "reloading");
        run_until_quiet();
        assert_false(is_seen_to_start("a.service"));
        play_state(a, "inactive");
        play_state(a, "active");
        run_until_quiet();
        assert_true(is_seen_to_start("a.service"));

        /* by no signal, while systemd reads its configuration; the second list has it */
        c = play_unit("c.service", "inactive", 0, NULL);
        play_new(c);
        run_until_quiet();
        c->active = "active";
        play_reloading(true);
        play_reloading(false);
        run_until_quiet();
        assert_true(is_seen_to_start("c.service"));
}

/* The first list that arrives is the first one, however often it was asked for. */
static void test_started_before(void **state) {
        need_bus();
        (void) play_unit("a.service", "active", 1, "lfu");
        play_oddly("List", HELD);
        start();
        play_reloading(true);
        play_reloading(false);
        run_until_quiet();
        play_release();
        run_until_quiet();
        expect_unit("a.service", "active lfu /1 1 attached");
        assert_false(is_seen_to_start("a.service"));
}

/* Who starts again at once is never inactive, as far as signals tell. */
static void test_restarted(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        start();
        p->cgroup = 2;
        fake_cgroup_make(&fixture->kernel, 2);
        play_state(p, "activating");
        run_until_quiet();
        expect_unit("a.service", "active lfu /2 2 attached");
        assert_true(is_seen_to_start("a.service"));
}

/* Those that systemd made at run time. */
static void test_transient(void **state) {
        need_bus();
        play_unit("a.service", "inactive", 0, NULL)->fragment = strdup("/run/systemd/transient/a.service");
        play_unit("b.service", "inactive", 0, NULL)->fragment = strdup("/run/systemd/system/b.service");
        start();
        assert_true(manager_find_unit(fixture->manager, "a.service")->transient);
        assert_false(manager_find_unit(fixture->manager, "b.service")->transient);
}

/* Who wants to know what a unit reads needs its control group, with a policy or without. */
static void test_replay(void **state) {
        need_bus();
        play_file(play_unit("a.service", "active", 1, NULL), "[Service]\nX-CacheReplay=yes\n");
        play_file(play_unit("b.service", "active", 2, NULL), "[Service]\nX-CacheReplay=no\n");
        play_file(play_unit("c.service", "active", 3, NULL), "[Service]\nX-CacheReplay=ture\n");
        start();
        expect_unit("a.service", "active - /1 1 unconfigured");
        expect_unit("b.service", "active - - 0 unconfigured");
        expect_unit("c.service", "active - /3 3 unconfigured"); /* a mistake is to be said */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                PLAY_TEST(test_started),
                PLAY_TEST(test_started_before),
                PLAY_TEST(test_restarted),
                PLAY_TEST(test_transient),
                PLAY_TEST(test_replay),
                PLAY_TEST(test_start),
                PLAY_TEST(test_states),
                PLAY_TEST(test_empty),
                PLAY_TEST(test_not_settled),
                PLAY_TEST(test_files),
                PLAY_TEST(test_halves),
                PLAY_TEST(test_rule_by_cgroup),
                PLAY_TEST(test_rule_by_name),
                PLAY_TEST(test_filter),
                PLAY_TEST(test_hold),
                PLAY_TEST(test_life),
                PLAY_TEST(test_strangers),
                PLAY_TEST(test_path),
                PLAY_TEST(test_many),
                PLAY_TEST(test_new_and_active),
                PLAY_TEST(test_new_meanwhile),
                PLAY_TEST(test_loaded_again),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, start_bus, stop_bus);
}
