/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CachePolicy=auto: races end to make room for others. */

#include "auto-fixture.h"

#include <inttypes.h>

#include "daemon/core/choice.h"
#include "shared/log.h"

/* ---- who waits has a turn */

/* There is room for two: each has its turn, and the one that waits is no news each minute. LRU is a little
 * better, which more windows would have to confirm. */
static void test_more_than_there_is_room_for(void **state) {
        Unit *a = add_auto_unit("a.slice", 1), *b = add_auto_unit("b.slice", 2), *c;
        unsigned n_warnings = 0;

        switch_to_mru(a);
        switch_to_mru(b);
        played.room = 2;
        log_set_hook(count_warnings, &n_warnings);
        c = add_auto_unit("c.slice", 3);
        pass_minute(b);
        pass_minute(b);
        assert_null(played.shadows[3]); /* of the others something was to be seen just now */

        for (unsigned i = 0; i < 32; i++)
                play_window(a, 300, 500, 293, 300);
        pass_minute(b);
        assert_null(played.shadows[1]);
        assert_non_null(played.shadows[2]);
        assert_non_null(played.shadows[3]);
        assert_runs(a, "mru");
        assert_contains(a->choice->verdict, "policies of other units are compared");
        warm_up(c);
        switch_to_mru(c);

        /* It waits for its next turn. */
        for (unsigned i = 0; i < 32; i++)
                play_window(c, 300, 500, 293, 300);
        pass_minute(b);
        assert_non_null(played.shadows[1]);
        assert_runs(a, "mru");
        assert_int_equal(a->choice->n_switches, 1);
        log_set_hook(NULL, NULL);
        assert_int_equal(n_warnings, 1);
}

static void note_warning(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level <= LOG_WARNING)
                g_string_append_printf(userdata, "%s\n", message);
}

static void expect_warning(GString *heard, Unit *u, const char *who) {
        static const char why[] = ": policies are compared for as many as have 64 candidates together; "
                                  "CacheCandidates= can name fewer.\n";
        g_autofree char *expected = g_strconcat(who, *who ? why : "", NULL);

        g_string_truncate(heard, 0);
        for (unsigned i = 0; i < 14; i++) /* two minutes */
                pass_window(u, 500);
        assert_string_equal(heard->str, expected);
}

/* One message for all, and another one when they become more. */
static void test_those_who_wait_are_counted(void **state) {
        g_autoptr(GString) heard = g_string_new(NULL);
        Unit *a = add_auto_unit("a.slice", 1);

        log_set_hook(note_warning, heard);
        played.room = 1;
        for (uint64_t id = 2; id < 5; id++) {
                g_autofree char *name = g_strdup_printf("%" PRIu64 ".slice", id);

                assert_string_equal(add_auto_unit(name, id)->choice->verdict,
                                    "stays with stock, policies cannot be compared: there are too many "
                                    "candidates of other units");
        }
        expect_warning(heard, a, "3 units with CachePolicy=auto wait for their turn");
        expect_warning(heard, a, "");
        add_auto_unit("5.slice", 5);
        expect_warning(heard, a, "4 units with CachePolicy=auto wait for their turn");

        /* All have begun meanwhile. */
        played.room = 5;
        expect_warning(heard, a, "");
        add_auto_unit("6.slice", 6);
        expect_warning(heard, a, "1 unit with CachePolicy=auto waits for its turn");
        log_set_hook(NULL, NULL);
}

/* What the kernel refused is refused in the next turn, too; meanwhile nothing is said of shadows. */
static void test_next_turn(void **state) {
        Unit *a = add_auto_unit("a.slice", 1), *b;

        refuse_mru(a);

        played.room = 1;
        b = add_auto_unit("b.slice", 2);
        make_room(a, b);
        assert_false(a->choice->figures[LRU].known);
        assert_null(b->choice->verdict);
        make_room(b, a);
        assert_null(a->choice->verdict);
        warm_up(a);
        for (unsigned i = 0; i < 8; i++)
                play_window(a, 500, 500, 500, 300);
        assert_runs(a, "noop");
        assert_true(a->choice->figures[MRU].out);
}

/* MRU promises much, and disappoints. */
static void disappoint(Unit *u) {
        for (unsigned i = 0; i < 10 && u->choice->chosen != MRU; i++)
                play_window(u, 500, 500, 500, 300);
        assert_runs(u, "mru");
        for (unsigned i = 0; i < 5 && u->choice->chosen == MRU; i++)
                play_window(u, 900, 500, 500, 300);
        assert_runs(u, "noop");
}

/* It is known that a policy has disappointed before, though the configuration was read again while the unit
 * waited. */
static void test_reload_while_it_waits(void **state) {
        Unit *a = add_auto_unit("a.slice", 1), *b;

        disappoint(a);
        assert_contains(a->choice->because, "out for 16 windows");
        played.room = 1;
        b = add_auto_unit("b.slice", 2);
        make_room(a, b);
        manager_notify(fixture->manager, reloaded);
        assert_false(a->choice->figures[LRU].known);

        make_room(b, a);
        warm_up(a);
        disappoint(a);
        assert_contains(a->choice->because, "out for 32 windows");
}

/* What is ejected while the unit waits for its turn is banned in that. */
static void test_ejected_while_it_waits(void **state) {
        Unit *a = add_auto_unit("a.slice", 1), *b;

        switch_to_mru(a);
        for (unsigned i = 0; i < 32; i++)
                play_window(a, 300, 500, 293, 300);
        played.room = 1;
        b = add_auto_unit("b.slice", 2);
        for (unsigned i = 0; i < 7; i++)
                pass_window(b, 500);
        assert_null(played.shadows[1]);
        fake_cgroup_eject(&fixture->kernel, 1);
        run();
        assert_runs(a, "noop");
        assert_contains(a->choice->because, "back from mru nr_scan=64 to stock, as mru nr_scan=64 is out "
                                            "for 16 windows: the kernel detached policy 'mru'");
        make_room(b, a);
        warm_up(a);
        assert_true(a->choice->figures[MRU].banned > 0);
}

/* Policies that are close to each other: now one is a little better, now the other. */
static void test_close_ones_make_room(void **state) {
        Unit *a = add_auto_unit("a.slice", 1), *b;

        for (unsigned i = 0; i < 41; i++)
                play_window(a, 500, 500, 500, i % 3 == 0 ? 520 : 480);
        played.room = 1;
        b = add_auto_unit("b.slice", 2);
        for (unsigned i = 0; i < 7; i++)
                pass_window(b, 500);
        assert_null(played.shadows[1]);
        assert_non_null(played.shadows[2]);
        assert_runs(a, "noop");
}

/* In its race no windows pass. */
static void test_lost_one_makes_room(void **state) {
        Unit *a = add_auto_unit("a.slice", 1), *b;

        played.room = 1;
        b = add_auto_unit("b.slice", 2);
        fixture->kernel.attach_error = -EINVAL;
        fake_cgroup_eject(&fixture->kernel, 1);
        run();
        assert_non_null(played.shadows[1]);
        for (unsigned i = 0; i < 7; i++)
                pass_window(b, 500);
        assert_null(played.shadows[1]);
        assert_non_null(played.shadows[2]);

        played.room = 2;
        fixture->kernel.attach_error = 0;
        unit_reset_retry(a);
        manager_mark_dirty(fixture->manager, a);
        run();
        assert_runs(a, "noop");
        assert_non_null(played.shadows[1]);
}

static Unit *add_large_unit(const char *name, uint64_t cgroup_id) {
        Unit *u = add_unit(name, "auto", cgroup_id);
        g_autoptr(GString) candidates = g_string_new("stock");

        for (unsigned i = 0; i < 15; i++)
                g_string_append_printf(candidates, " mru:nr_scan=%u", 64 + i);
        set(u, "CacheCandidates", candidates->str, 8);
        assert_state(u, UNIT_ATTACHED);
        return u;
}

/* Four have 16 candidates each, and nobody waits for three. */
static void test_too_little_room(void **state) {
        Unit *a = add_auto_unit("a.slice", 1), *large;

        for (unsigned i = 0; i < 32; i++)
                play_window(a, 500, 500, 489, 500);
        for (uint64_t id = 2; id < 6; id++) {
                g_autofree char *name = g_strdup_printf("%" PRIu64 ".slice", id);

                (void) add_large_unit(name, id);
        }
        played.room = 5;
        large = add_large_unit("large.slice", 6);
        for (unsigned i = 0; i < 7; i++)
                pass_window(large, 500);
        assert_non_null(played.shadows[1]);
        assert_null(played.shadows[6]);
}

/* One that stops and starts tells the journal no more, and begins behind those who wait longer. */
static void test_starts_again_while_it_waits(void **state) {
        unsigned n_warnings = 0;
        Unit *a, *b;

        played.room = 1;
        a = add_auto_unit("a.slice", 1);
        log_set_hook(count_warnings, &n_warnings);
        b = add_auto_unit("b.slice", 2);
        for (uint64_t id = 3; id < 6; id++)
                start_again(b, id);
        start_again(a, 6);
        start_again(a, 7);
        for (unsigned i = 0; i < 14; i++)
                pass_window(a, 500);
        log_set_hook(NULL, NULL);
        assert_int_equal(n_warnings, 1);
        assert_int_equal(b->raced_until, 0);
        assert_true(a->raced_until > 0);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                AUTO_TEST(test_more_than_there_is_room_for),
                AUTO_TEST(test_those_who_wait_are_counted),
                AUTO_TEST(test_next_turn),
                AUTO_TEST(test_reload_while_it_waits),
                AUTO_TEST(test_ejected_while_it_waits),
                AUTO_TEST(test_close_ones_make_room),
                AUTO_TEST(test_lost_one_makes_room),
                AUTO_TEST(test_too_little_room),
                AUTO_TEST(test_starts_again_while_it_waits),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
