/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who waits for an answer of systemd: what a name means, and what is known of a unit. */

#include "played-systemd.h"

#include <stdio.h>

#include "daemon/systemd/resolve.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

static GString *told;

static int setup(void **state) {
        told = g_string_new(NULL);
        return play_setup(state);
}

static int teardown(void **state) {
        int r = play_teardown(state);

        g_string_free(told, TRUE);
        return r;
}

static void expect_told(const char *expected) {
        assert_string_equal(told->str, expected);
        g_string_truncate(told, 0);
}

/* ---- what is known of a unit */

/* Who asked looks at the unit at once, since it may be forgotten. */
static void on_answer(void *userdata) {
        const Unit *u = manager_find_unit(fixture->manager, userdata);

        g_string_append_printf(told, "%s %s %s; ", (const char *) userdata,
                               u && u->setting.policy ? u->setting.policy : "-",
                               u ? u->cgroup ?: "-" : "gone");
}

static bool query(const char *unit, bool cgroup) {
        return systemd_query(watch, unit, cgroup, on_answer, (void *) unit);
}

/* All is known, or need not be. */
static void test_known(void **state) {
        need_bus();
        (void) play_unit("a.slice", "active", 1, "lfu");
        (void) play_unit("b.slice", "inactive", 0, NULL);
        (void) play_unit("c.slice", "active", 3, NULL);
        start();
        forget_asked();

        assert_false(query("a.slice", false));
        assert_false(query("a.slice", true));
        assert_false(query("b.slice", true));
        assert_false(query("c.slice", false));
        fixture->manager->kernel.supported = false;
        assert_false(query("c.slice", true));
        fixture->manager->kernel.supported = true;
        assert_false(query("d.mount", true));
        run_until_quiet();
        expect_asked("");
        expect_told("");
        expect_unit("d.mount", NULL);
}

/* The control group of a unit without a policy is not followed. */
static void test_cgroup(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("c.slice", "active", 3, NULL);
        start();
        for (unsigned i = 0; i < 2; i++) {
                p->cgroup += i;
                forget_asked();
                assert_true(query("c.slice", true));
                assert_true(manager_find_unit(fixture->manager, "c.slice")->asked);
                expect_told("");
                run_until_quiet();
                expect_asked(CGROUP_OF("c.slice"));
                expect_told(i == 0 ? "c.slice - /3; " : "c.slice - /4; ");
                assert_false(manager_find_unit(fixture->manager, "c.slice")->asked);
                run_until_quiet();
                expect_told("");
        }
}

/* Announced, and not started. */
static void test_announced(void **state) {
        start();
        play_new(play_unit("a.slice", "inactive", 0, "lfu"));
        run_until_quiet();
        assert_true(query("a.slice", true));
        assert_true(query("a.slice", false));
        assert_int_equal(find_watched("a.slice")->queries->len, 2);
        run_until_quiet();
        expect_told("a.slice lfu -; a.slice lfu -; ");
        assert_false(query("a.slice", true));
        expect_unit("a.slice", "inactive lfu - 0 inactive");
}

/* Loaded for the question; that it is announced follows, and is nothing new. */
static void test_not_announced(void **state) {
        PlayedUnit *p;

        start();
        forget_asked();
        p = play_unit("a.slice", "inactive", 0, "lfu");
        assert_true(query("a.slice", false));
        run_until_quiet();
        expect_told("a.slice lfu -; ");
        play_new(p);
        run_until_quiet();
        expect_asked(FILES_OF("a.slice") NEW("a.slice"));
        expect_unit("a.slice", "inactive lfu - 0 inactive");
        assert_true(manager_find_unit(fixture->manager, "a.slice")->files_known);

        /* It may be active, which its announcement would not say. */
        assert_true(query("b.slice", false));
        (void) play_unit("b.slice", "active", 2, "mru");
        run_until_quiet();
        expect_told("b.slice mru -; ");
        expect_unit("b.slice", "active mru /2 2 attached");
}

/* There is none. */
static void test_unknown(void **state) {
        start();
        forget_asked();
        assert_true(query("a.slice", false));
        run_until_quiet();
        assert_int_equal(count_asked("a.slice:"), 2);
        expect_told("a.slice - -; ");
        expect_unit("a.slice", NULL);
        assert_int_equal(g_hash_table_size(watch->answered), 0);
}

/* systemd unloads what it loaded for a question when that is answered, or before. The answer counts. */
static void test_removed(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.slice", "inactive", 0, "lfu");
        start();
        manager_find_unit(fixture->manager, "a.slice")->files_known = false;
        play_oddly("a.slice:DropInPaths", HELD);
        assert_true(query("a.slice", false));
        play_removed(p);
        run_until_quiet();
        expect_told("");
        assert_false(manager_find_unit(fixture->manager, "a.slice")->loaded);
        play_release();
        run_until_quiet();
        expect_told("a.slice lfu -; ");
        expect_unit("a.slice", NULL);

        /* Loaded once more meanwhile: the files are those that it was asked for. */
        assert_true(query("a.slice", false));
        run_until_quiet();
        expect_told("a.slice lfu -; ");
        play_oddly("a.slice:DropInPaths", HELD);
        manager_find_unit(fixture->manager, "a.slice")->files_known = false;
        assert_true(query("a.slice", false));
        manager_find_unit(fixture->manager, "a.slice")->files_known = true;
        play_removed(p);
        play_new(p);
        run_until_quiet();
        assert_true(manager_find_unit(fixture->manager, "a.slice")->files_known);
        play_release();
        run_until_quiet();
        expect_told("a.slice lfu -; ");
}

/* A question that waits for its turn is asked even if the unit goes. */
static void test_removed_before(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.slice", "active", 1, NULL);
        play_oddly("a.slice:FragmentPath", HELD);
        start();
        assert_true(query("a.slice", true));
        assert_true(find_watched("a.slice")->queued);
        play_removed(p);
        run_until_quiet();
        assert_true(find_watched("a.slice")->queued);
        play_release();
        run_until_quiet();
        expect_told("a.slice - /1; ");
        expect_unit("a.slice", NULL);
}

static void test_cancel(void **state) {
        char other[] = "a.slice";

        need_bus();
        (void) play_unit("a.slice", "active", 1, NULL);
        start();
        assert_true(query("a.slice", true));
        assert_true(query(other, true));
        assert_true(query("a.slice", true));
        assert_true(query(other, true));
        systemd_query_cancel(watch, other);
        assert_int_equal(find_watched("a.slice")->queries->len, 2);
        run_until_quiet();
        expect_told("a.slice - /1; a.slice - /1; ");

        assert_true(query(other, true));
        systemd_query_cancel(watch, other);
        run_until_quiet();
        expect_told("");
        assert_false(manager_find_unit(fixture->manager, "a.slice")->asked);
}

/* Refused: who asks is told what is known. */
static void test_refused(void **state) {
        need_bus();
        (void) play_unit("a.slice", "active", 1, NULL);
        start();
        play_oddly("a.slice:ControlGroup", REFUSED);
        play_oddly("a.slice:ControlGroupId", REFUSED);
        assert_true(query("a.slice", true));
        run_until_quiet();
        expect_told("a.slice - -; ");
}

/* Asked about again before the answer was looked at: it comes with that. */
static void test_again(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.slice", "active", 1, NULL);
        start();
        play_oddly("a.slice:ControlGroupId", HELD);
        assert_true(query("a.slice", true));
        run_until_quiet();
        expect_told("");
        p->cgroup = 2;
        forget_asked();
        assert_true(query("a.slice", true));
        run_until_quiet();
        expect_asked("");
        play_release();
        run_until_quiet();
        expect_asked(CGROUP_OF("a.slice"));
        expect_told("a.slice - /2; a.slice - /2; ");
}

/* The watch ends, or its connection: the answer is what is known. */
static void test_end(void **state) {
        need_bus();
        (void) play_unit("a.slice", "active", 1, NULL);
        start();
        play_oddly("a.slice:ControlGroup", HELD);
        assert_true(query("a.slice", true));
        run_until_quiet();
        stop_watch();
        expect_told("a.slice - -; ");
        assert_false(manager_find_unit(fixture->manager, "a.slice")->asked);
        play_release();
        run_until_quiet();
        expect_told("");

        start();
        sd_bus_close(server);
        assert_false(query("a.slice", true));
        assert_false(manager_find_unit(fixture->manager, "a.slice")->asked);
        assert_int_equal(find_watched("a.slice")->queries->len, 0);
}

/* ---- what a name means */

static void on_resolved(int error, const char *id, const char *problem, void *userdata) {
        g_string_append_printf(told, "%d %s %s", error, id ?: "-", problem ?: "-");
}

static void expect_resolved(const char *name, const char *expected) {
        SystemdResolve *q = NULL;

        assert_int_equal(systemd_resolve(server, name, on_resolved, NULL, &q), 0);
        expect_told("");
        run_while(told->len == 0);
        expect_told(expected);
        assert_null(systemd_resolve_free(q));
}

static void test_resolve(void **state) {
        need_bus();
        (void) play_unit("a.slice", "active", 1, NULL);
        play_unit("b.slice", "inactive", 0, NULL)->load = "not-found";

        expect_resolved("a.slice", "0 a.slice -");
        expect_asked("LoadUnit a.slice:LoadState ");
        expect_resolved("b.slice", "-3 b.slice -");
        expect_resolved("c.slice", "-53 c.slice -"); /* gone between the two: -EBADR of unknown objects */

        play_oddly("a.slice:LoadState", REFUSED);
        expect_resolved("a.slice", "-13 a.slice -");
        play_oddly("a.slice:LoadState", MALFORMED);
        expect_resolved("a.slice", "-74 a.slice -");
}

static void test_resolve_refused(void **state) {
        static const char *const silent[] = {
                SD_BUS_ERROR_NO_REPLY, SD_BUS_ERROR_TIMEOUT, SD_BUS_ERROR_DISCONNECTED,
                SD_BUS_ERROR_NAME_HAS_NO_OWNER, SD_BUS_ERROR_SERVICE_UNKNOWN,
        };

        need_bus();
        (void) play_unit("a.slice", "active", 1, NULL);
        play_oddly("LoadUnit", REFUSED);
        expect_resolved("a.slice", "-22 - systemd refuses unit 'a.slice': It is refused");
        for (size_t i = 0; i < ELEMENTSOF(silent); i++) {
                sd_bus_error e = SD_BUS_ERROR_MAKE_CONST(silent[i], "");
                g_autofree char *expected = g_strdup_printf("%d - -", -sd_bus_error_get_errno(&e));

                play_oddly("LoadUnit", silent[i]);
                expect_resolved("a.slice", expected);
        }

        play_oddly("LoadUnit", MALFORMED);
        expect_resolved("a.slice", "-6 - -");
        play_oddly("LoadUnit", "/org/freedesktop/systemd1/job/1");
        expect_resolved("a.slice", "-74 - -");
}

static void test_resolve_end(void **state) {
        SystemdResolve *q = NULL;

        need_bus();
        (void) play_unit("a.slice", "active", 1, NULL);
        assert_null(systemd_resolve_free(NULL));
        assert_int_equal(systemd_resolve(server, "a.slice", on_resolved, NULL, &q), 0);
        q = systemd_resolve_free(q);
        play_oddly("a.slice:LoadState", HELD);
        assert_int_equal(systemd_resolve(server, "a.slice", on_resolved, NULL, &q), 0);
        run_while(held->len == 0);
        q = systemd_resolve_free(q);
        play_release();
        run_until_quiet();
        expect_told("");

        sd_bus_close(server);
        assert_true(systemd_resolve(server, "a.slice", on_resolved, NULL, &q) < 0);
        assert_null(q);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_known),
                TEST(test_cgroup),
                TEST(test_announced),
                TEST(test_not_announced),
                TEST(test_unknown),
                TEST(test_removed),
                TEST(test_removed_before),
                TEST(test_cancel),
                TEST(test_refused),
                TEST(test_again),
                TEST(test_end),
                TEST(test_resolve),
                TEST(test_resolve_refused),
                TEST(test_resolve_end),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, start_bus, stop_bus);
}
