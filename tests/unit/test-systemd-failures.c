/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* systemd that refuses, answers something else, does not answer, or has more to say than the bus takes at
 * once; and a watch that ends in the middle of its questions. */

#include "played-systemd.h"

#include <stdio.h>

#include "daemon/systemd/list.h"
#include "shared/log.h"
#include "shared/string-util.h"

#define AGAIN_USEC (5 * USEC_PER_SEC)

/* The timer is armed for later than began by what the watch waits after an error. Nobody waits for that. */
static void elapse(sd_event_source *source, uint64_t began) {
        uint64_t at;

        assert_non_null(source);
        assert_int_equal(sd_event_source_get_time(source, &at), 0);
        assert_true(at >= began + AGAIN_USEC);
        assert_int_equal(sd_event_source_set_time(source, 0), 0);
        run_until_quiet();
}

static uint64_t now(void) {
        uint64_t t;

        assert_true(sd_event_now(fixture->event, CLOCK_MONOTONIC, &t) >= 0);
        return t;
}

/* ---- Subscribe */

static void test_subscribe(void **state) {
        uint64_t began;

        need_bus();
        began = now();
        (void) play_unit("a.slice", "active", 1, "lfu");
        play_oddly("Subscribe", REFUSED);
        start();
        expect_asked("Subscribe " LIST FILES_OF("a.slice") CGROUP_OF("a.slice"));
        expect_unit("a.slice", "active lfu /1 1 attached");

        /* Again and again, until it works; what was not heard meanwhile is asked for. */
        elapse(watch->subscribe_source, began);
        expect_asked("Subscribe " LIST FILES_OF("a.slice") CGROUP_OF("a.slice"));
        play_oddly("Subscribe", NULL);
        elapse(watch->subscribe_source, 0);
        expect_asked("Subscribe " LIST FILES_OF("a.slice") CGROUP_OF("a.slice"));
        run_until_quiet();
        expect_asked("");
}

/* An earlier watch on the same connection did. */
static void test_subscribed_already(void **state) {
        need_bus();
        play_oddly("Subscribe", "org.freedesktop.systemd1.AlreadySubscribed");
        start();
        assert_null(watch->subscribe_source);
        assert_true(fixture->manager->settled);
}

/* ---- lists */

static void list_fails(const char *how) {
        PlayedUnit *p;
        uint64_t began;

        need_bus();
        began = now();
        p = play_unit("a.slice", "active", 1, "lfu");
        play_oddly("List", how);
        start();
        expect_asked("Subscribe " LIST);
        assert_false(fixture->manager->settled);
        assert_false(watch->listed);

        elapse(watch->rescan_source, began);
        expect_asked(LIST);
        play_oddly("List", NULL);
        elapse(watch->rescan_source, 0);
        expect_asked(LIST FILES_OF("a.slice") CGROUP_OF("a.slice"));
        assert_true(fixture->manager->settled);
        assert_null(watch->rescan_source);

        /* What is known stays, whatever a list does not say. */
        play_oddly("List", how);
        play_reloading(false);
        run_until_quiet();
        expect_unit("a.slice", "active lfu /1 1 attached");

        /* A reload does not wait for the timer, and needs it no more. */
        play_oddly("List", NULL);
        p->active = "inactive";
        play_reloading(false);
        run_until_quiet();
        assert_null(watch->rescan_source);
        expect_unit("a.slice", "inactive lfu - 0 inactive");
}

static void test_list_refused(void **state) {
        list_fails(REFUSED);
}

static void test_list_malformed(void **state) {
        list_fails(MALFORMED);
}

/* It might be active: all are asked for. */
static void new_fails(const char *how) {
        start();
        play_oddly("New", how);
        play_new(play_unit("a.slice", "active", 1, "lfu"));
        run_until_quiet();
        expect_unit("a.slice", "inactive - - 0 unconfigured");
        forget_asked();
        elapse(watch->rescan_source, 0);
        expect_asked(LIST FILES_OF("a.slice") CGROUP_OF("a.slice"));
        expect_unit("a.slice", "active lfu /1 1 attached");
}

static void test_new_refused(void **state) {
        new_fails(REFUSED);
}

static void test_new_malformed(void **state) {
        new_fails(MALFORMED);
}

/* ---- questions about a unit */

static unsigned n_warnings;

static void count_warnings(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level <= LOG_WARNING && fields && streq_ptr(fields->unit, "a.service"))
                n_warnings++;
}

/* A question without an answer, or with none of use: what was known before stays. If the answer did not
 * come, all is asked again, later; a refusal would be the same then, and is told once. */
static void question_fails(const char *property, const char *how) {
        g_autofree char *question = g_strdup_printf("a.service:%s", property);
        bool files = startswith(property, "Control") == NULL, stays = !streq(how, MALFORMED);
        bool again = stays && !streq(how, REFUSED);
        uint64_t began;
        PlayedUnit *p;

        p = play_unit("a.service", "active", 1, "lfu");
        start_watch();
        run_until_quiet();
        expect_unit("a.service", "active lfu /1 1 attached");
        forget_asked();

        began = now();
        play_oddly(question, how);
        play_file(p, "[Service]\nX-CachePolicy=mru\n");
        play_reloading(false);
        run_until_quiet();
        expect_unit("a.service", stays && files ? "active lfu /1 1 attached" : "active mru /1 1 attached");
        assert_int_equal(fixture->kernel.n_update, stays && files ? 0 : 1);
        assert_int_equal(fixture->manager->settled, !again);
        assert_int_equal(watch->n_in_flight, 0);
        if (!again) {
                assert_null(watch->rescan_source);
                play_reloading(false);
                run_until_quiet();
                assert_int_equal(n_warnings, stays ? 1 : 0);
        }

        play_oddly(question, NULL);
        forget_asked();
        if (again)
                elapse(watch->rescan_source, began);
        else
                play_reloading(false);
        run_until_quiet();
        expect_asked(LIST FILES_OF("a.service") CGROUP_OF("a.service"));
        expect_unit("a.service", "active mru /1 1 attached");
        assert_true(fixture->manager->settled);
        assert_false(find_watched("a.service")->files_failed);
        play_removed(p);
        play_forget(p);
        run_until_quiet();
        stop_watch();
        fixture->kernel.n_update = n_warnings = 0;
}

static const char *const properties[] = { "FragmentPath", "DropInPaths", "ControlGroup", "ControlGroupId" };

static void all_questions_fail(const char *how) {
        need_bus();
        log_set_hook(count_warnings, NULL);
        for (size_t i = 0; i < ELEMENTSOF(properties); i++)
                question_fails(properties[i], how);
        log_set_hook(NULL, NULL);
}

static void test_refused(void **state) {
        all_questions_fail(REFUSED);
}

static void test_no_reply(void **state) {
        all_questions_fail(SD_BUS_ERROR_NO_REPLY);
}

/* The answer is none: the rest counts. */
static void test_malformed(void **state) {
        all_questions_fail(MALFORMED);
}

/* Nothing is known yet, and half of it does not become known. */
static void test_half_refused(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        play_dropin(p, 0, "[Service]\nX-CachePolicy=mru\n");
        play_oddly("a.service:FragmentPath", SD_BUS_ERROR_LIMITS_EXCEEDED);
        start();
        expect_unit("a.service", "active - - 0 unconfigured");
        assert_false(manager_find_unit(fixture->manager, "a.service")->files_known);
        assert_false(fixture->manager->settled);
}

/* Of one unit systemd cannot tell something. The others do not wait for it, and what an earlier daemon
 * attached to it goes on running: it may be what is wanted. */
static void refused_at_start(const char *property, const char *expected) {
        g_autofree char *question = g_strdup_printf("a.service:%s", property);
        uint64_t id = 1;
        Unit *u;

        need_bus();
        (void) play_unit("a.service", "active", id, "lfu");
        fake_cgroup_attach(&fixture->kernel, id, "lfu", true);
        g_hash_table_add(fixture->manager->pinned, g_memdup2(&id, sizeof(id)));
        (void) play_unit("b.service", "active", 2, "mru");
        play_oddly(question, REFUSED);
        start();
        assert_true(fixture->manager->settled);
        expect_unit("a.service", expected);
        expect_unit("b.service", "active mru /2 2 attached");
        assert_true(fixture->kernel.cgroups[1].pinned);
        u = manager_find_unit(fixture->manager, "a.service");
        assert_non_null(strstr(u->reason, "systemd cannot tell the unit's "));

        play_oddly(question, NULL);
        play_reloading(false);
        run_until_quiet();
        expect_unit("a.service", "active lfu /1 1 attached");
        assert_true(u->adopted);
}

static void test_files_refused_at_start(void **state) {
        refused_at_start("DropInPaths", "active - - 0 failed");
}

static void test_cgroup_refused_at_start(void **state) {
        refused_at_start("ControlGroupId", "active lfu /1 0 failed");
}

/* Unloaded between the list and the question. */
static void test_unknown(void **state) {
        static const char *const errors[] = { SD_BUS_ERROR_UNKNOWN_OBJECT, SD_BUS_ERROR_UNKNOWN_INTERFACE,
                                              "org.freedesktop.systemd1.NoSuchUnit" };

        need_bus();
        for (size_t i = 0; i < ELEMENTSOF(errors); i++)
                for (size_t j = 0; j < ELEMENTSOF(properties); j++) {
                        g_autofree char *question = g_strdup_printf("a.service:%s", properties[j]);
                        PlayedUnit *p = play_unit("a.service", "active", 1, "lfu");

                        play_oddly(question, errors[i]);
                        start_watch();
                        run_until_quiet();
                        expect_unit("a.service", NULL);
                        assert_true(fixture->manager->settled);
                        assert_null(watch->rescan_source);
                        stop_watch();
                        play_oddly(question, NULL);
                        play_forget(p);
                }
}

/* ---- answers that come late */

/* The unit stopped meanwhile. */
static void test_stopped_meanwhile(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        play_oddly("a.service:ControlGroup", HELD);
        play_oddly("a.service:ControlGroupId", HELD);
        start();
        play_state(p, "inactive");
        run_until_quiet();
        play_release();
        run_until_quiet();
        expect_unit("a.service", "inactive lfu - 0 inactive");
        assert_true(fixture->manager->settled);
}

/* Or was removed. */
static void test_removed_meanwhile(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.service", "inactive", 0, "lfu");
        play_oddly("a.service:FragmentPath", HELD);
        start();
        play_removed(p);
        run_until_quiet();
        assert_false(manager_find_unit(fixture->manager, "a.service")->loaded);
        assert_true(manager_find_unit(fixture->manager, "a.service")->fetching);
        play_release();
        run_until_quiet();
        expect_unit("a.service", NULL);
        assert_true(fixture->manager->settled);
}

/* It started meanwhile, and the answer may be older than that: it is asked about once more, not twice. */
static void test_started_meanwhile(void **state) {
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.service", "active", 1, "lfu");
        play_oddly("a.service:ControlGroupId", HELD);
        start();
        forget_asked();
        play_state(p, "active");
        play_state(p, "reloading");
        play_state(p, "active");
        run_until_quiet();
        expect_asked("");
        assert_int_equal(watch->queue.length, 1);
        assert_false(fixture->manager->settled);
        play_release();
        run_until_quiet();
        expect_asked(CGROUP_OF("a.service"));
        expect_unit("a.service", "active lfu /1 1 attached");
}

/* Its files are asked for already. */
static void starts_while_held(const char *question) {
        PlayedUnit *p;

        p = play_unit("a.service", "inactive", 0, "lfu");
        play_oddly(question, HELD);
        start_watch();
        run_until_quiet();
        forget_asked();
        fake_cgroup_make(&fixture->kernel, p->cgroup = 1);
        play_state(p, "active");
        run_until_quiet();
        play_release();
        run_until_quiet();
        expect_asked(CGROUP_OF("a.service"));
        expect_unit("a.service", "active lfu /1 1 attached");
        stop_watch();
        play_forget(p);
        unit_free(manager_find_unit(fixture->manager, "a.service"));
        fake_cgroup_remove(&fixture->kernel, 1);
}

static void test_files_on_their_way(void **state) {
        need_bus();
        starts_while_held("a.service:FragmentPath");
        starts_while_held("a.service:DropInPaths");
}

/* ---- many */

#define MANY 60U

/* No more questions at once than the bus allows, and those that wait get their turn; files that are wanted
 * are not wanted twice. */
static void test_in_flight(void **state) {
        PlayedUnit *units[MANY];
        char name[32];

        need_bus();
        for (unsigned i = 0; i < MANY; i++) {
                char question[48];

                (void) snprintf(name, sizeof(name), "%u.service", i);
                (void) snprintf(question, sizeof(question), "%s:FragmentPath", name);
                units[i] = play_unit(name, "inactive", 0, "lfu");
                play_oddly(question, HELD);
                (void) snprintf(question, sizeof(question), "%s:DropInPaths", name);
                play_oddly(question, HELD);
        }
        start();
        assert_int_equal(watch->n_in_flight, 48);
        assert_int_equal(held->len, 48);
        assert_int_equal(watch->queue.length, MANY - 24);
        assert_false(fixture->manager->settled);
        forget_asked();

        /* Removed before its turn: to ask would load it again. Another one starts before its turn. */
        play_removed(units[30]);
        play_state(units[31], "active");
        play_forget(units[30]);
        run_until_quiet();
        expect_unit("30.service", NULL);
        assert_int_equal(watch->queue.length, MANY - 25);
        assert_int_equal(held->len, 48);

        play_release();
        run_until_quiet();
        assert_int_equal(watch->n_in_flight, 0);
        assert_true(g_queue_is_empty(&watch->queue));
        assert_true(fixture->manager->settled);
        assert_int_equal(count_asked("31.service:FragmentPath"), 1);
        assert_int_equal(count_asked("30.service:FragmentPath"), 0);
        assert_int_equal(count_asked("FragmentPath"), MANY - 24 - 1);
        assert_int_equal(g_hash_table_size(watch->units), MANY - 1);
        for (unsigned i = 0; i < MANY; i++) {
                (void) snprintf(name, sizeof(name), "%u.service", i);
                if (i == 31) /* as one does that has none of its own */
                        expect_unit(name, "active lfu - 0 inactive");
                else
                        expect_unit(name, i == 30 ? NULL : "inactive lfu - 0 inactive");
        }
}

/* ---- ends */

static void expect_nothing_asked(const char *name) {
        const Unit *u = manager_find_unit(fixture->manager, name);

        assert_false(u && u->fetching);
}

/* In the middle of everything; whatever comes then is nobody's. */
static void test_end(void **state) {
        static const char *const questions[] = {
                "List", "a.slice:FragmentPath", "a.slice:DropInPaths", "a.slice:ControlGroupId",
                "a.slice:ControlGroup", "New",
        };
        PlayedUnit *p;

        need_bus();
        p = play_unit("a.slice", "active", 1, "lfu");
        for (size_t i = 0; i < ELEMENTSOF(questions); i++) {
                PlayedUnit *q;

                play_oddly(questions[i], HELD);
                start_watch();
                run_until_quiet();
                q = play_unit("b.slice", "inactive", 0, NULL);
                play_new(q);
                play_state(p, "active");
                run_until_quiet();
                assert_int_equal(held->len, 1);
                stop_watch();
                assert_false(fixture->manager->settled);
                expect_nothing_asked("a.slice");
                expect_nothing_asked("b.slice");

                forget_asked();
                play_release();
                play_new(q);
                play_removed(p);
                play_state(p, "inactive");
                play_reloading(false);
                stop_systemd();
                start_systemd();
                run_until_quiet();
                expect_asked("");
                assert_false(fixture->manager->settled);
                p->active = "active";
                play_forget(q);
        }
        start();
        expect_unit("a.slice", "active lfu /1 1 attached");
        expect_unit("b.slice", NULL);
}

/* And while it waits for its time. */
static void test_end_and_timers(void **state) {
        need_bus();
        play_oddly("Subscribe", REFUSED);
        play_oddly("List", REFUSED);
        start();
        assert_int_equal(sd_event_source_set_time(watch->subscribe_source, 0), 0);
        assert_int_equal(sd_event_source_set_time(watch->rescan_source, 0), 0);
        systemd_list_note_new(watch, "a.service");
        assert_int_equal(sd_event_source_set_time(watch->new_source, 0), 0);
        sd_event_source_set_enabled(watch->settled_source, SD_EVENT_ONESHOT);
        forget_asked();
        stop_watch();
        run_until_quiet();
        expect_asked("");
}

/* The connection breaks: what was asked is answered by errors, and nothing more can be asked. */
static void test_bus_breaks(void **state) {
        Hold hold = { .unit = (char *) "b.service", .cookie = 1, .setting.layer = POLICY_LAYER_HOLD };

        need_bus();
        (void) play_unit("a.service", "active", 1, "lfu");
        (void) play_unit("b.service", "active", 2, NULL);
        start();
        play_oddly("a.service:FragmentPath", HELD);
        play_reloading(false);
        run_until_quiet();
        assert_true(manager_find_unit(fixture->manager, "a.service")->fetching);

        sd_bus_close(server);
        run();
        manager_reload(fixture->manager);
        assert_non_null(watch->rescan_source);
        assert_int_equal(policy_setting_assign(&hold.setting, "CachePolicy", "lfu", "", 0), 0);
        manager_add_hold(fixture->manager, &hold);
        assert_true(watch->incomplete);
        assert_false(manager_find_unit(fixture->manager, "b.service")->fetching);
        manager_remove_hold(fixture->manager, &hold);

        assert_int_equal(sd_event_source_set_time(watch->rescan_source, 0), 0);
        run();
        assert_non_null(watch->rescan_source);
        assert_false(fixture->manager->settled);
        policy_setting_done(&hold.setting);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                PLAY_TEST(test_subscribe),
                PLAY_TEST(test_subscribed_already),
                PLAY_TEST(test_list_refused),
                PLAY_TEST(test_list_malformed),
                PLAY_TEST(test_new_refused),
                PLAY_TEST(test_new_malformed),
                PLAY_TEST(test_refused),
                PLAY_TEST(test_no_reply),
                PLAY_TEST(test_malformed),
                PLAY_TEST(test_half_refused),
                PLAY_TEST(test_files_refused_at_start),
                PLAY_TEST(test_cgroup_refused_at_start),
                PLAY_TEST(test_unknown),
                PLAY_TEST(test_stopped_meanwhile),
                PLAY_TEST(test_removed_meanwhile),
                PLAY_TEST(test_started_meanwhile),
                PLAY_TEST(test_files_on_their_way),
                PLAY_TEST(test_in_flight),
                PLAY_TEST(test_end),
                PLAY_TEST(test_end_and_timers),
                PLAY_TEST(test_bus_breaks),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, start_bus, stop_bus);
}
