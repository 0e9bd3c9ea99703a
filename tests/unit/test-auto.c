/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CachePolicy=auto: windows, and what they come to. */

#include "auto-fixture.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/core/choice.h"
#include "shared/string-util.h"

/* ---- windows, and what they come to */

static void test_begins_with_stock(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        assert_runs(u, "noop");
        assert_chosen(u, "stock");
        assert_string_equal(u->effective, "noop");
        assert_string_equal(shadows_of(u)->candidates, "stock, lru, mru nr_scan=64");
        assert_int_equal(shadows_of(u)->n_pages, 1000);
        assert_int_equal(u->choice->n_switches, 0);
        assert_int_equal(fixture->kernel.n_attach, 1);
}

static void test_switches(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);
        uint64_t since = u->since;

        play_window(u, 500, 500, 500, 300);
        assert_runs(u, "noop");
        assert_contains(u->choice->verdict, "more windows have to confirm it");
        assert_true(u->choice->figures[MRU].known);
        assert_true(u->choice->figures[MRU].miss_ratio > 0.299);
        assert_true(u->choice->figures[MRU].miss_ratio < 0.301);

        play_window(u, 500, 500, 500, 300);
        assert_runs(u, "mru");
        assert_chosen(u, "mru nr_scan=64");
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(u->since, since);
        assert_int_equal(fixture->kernel.n_attach, 1);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(fixture->kernel.n_detach, 0);
        assert_int_equal(u->choice->n_switches, 1);
        assert_true(u->choice->switched_at > 0);
        assert_string_equal(u->choice->because, "from stock to mru nr_scan=64: mru nr_scan=64 would miss "
                                                "30.0 % of all requests, stock 50.0 %");
        assert_int_equal(shadows_of(u)->n_replaced, 1);

        /* It is what the unit has now, and does not come again. */
        play_window(u, 300, 500, 500, 300);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_contains(u->choice->verdict, "stays with mru nr_scan=64");
        assert_int_equal(played.n_new, 1);
}

/* The real misses are compared with those of the policy before. */
static void test_rolls_back(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        for (unsigned i = 0; i < 2; i++)
                play_window(u, 900, 500, 500, 300);
        assert_runs(u, "mru");
        play_window(u, 900, 500, 500, 300);
        assert_runs(u, "noop");
        assert_chosen(u, "stock");
        assert_contains(u->choice->because, "back from mru");
        assert_int_equal(u->choice->n_switches, 2);
        assert_true(u->choice->figures[MRU].banned > 0);
}

/* A window is over after a quarter of what is cached, and not with the first look. */
static void test_clock(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);
        Meter *m = played.meters + 1;

        m->n_cached = 1000000;
        pass_window(u, 500);
        assert_int_equal(shadows_of(u)->n_ended, 1);
        answer_window(u, 500, 500, 500);
        m->n_cached = 1000;

        /* Nothing was asked for: not before a minute. */
        m->requests -= 100000;
        m->misses -= 50000;
        pass_window(u, 500);
        assert_int_equal(shadows_of(u)->n_ended, 1);
}

/* As the counters of another policy begin at zero. */
static void test_counters_begin_again(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        for (unsigned i = 0; i < 2; i++)
                play_window(u, 500, 500, 500, 500);
        played.meters[1] = (Meter) {};
        pass_window(u, 500);
        g_set_str(&u->choice->verdict, NULL);
        answer_window(u, 500, 500, 300);
        assert_null(u->choice->verdict);
        pass_window(u, 500);
        answer_window(u, 500, 500, 300);
        assert_contains(u->choice->verdict, "more windows have to confirm it");
        assert_int_equal(shadows_of(u)->n_ended, 4);

        played.read_error = -ENOENT;
        pass_window(u, 500);
        assert_int_equal(shadows_of(u)->n_ended, 4);
}

/* An answer that comes late, after something else was set, counts for nothing. */
static void replace_object(Unit *u, const char *digest) {
        strcpy(((Policy *) policies_find(fixture->manager->policies, "noop"))->digest, digest);
        manager_mark_dirty(fixture->manager, u);
        run();
}

static void test_late_answer(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        play_window(u, 500, 500, 500, 300);
        pass_window(u, 500);
        replace_object(u, "other");
        assert_int_equal(fixture->kernel.n_update, 1);
        answer_window(u, 500, 500, 300);
        assert_runs(u, "noop");

        /* With that answer both windows begin together. */
        assert_int_equal(shadows_of(u)->n_ended, 3);
        answer_window(u, 500, 500, 300);
        assert_runs(u, "noop");
        pass_window(u, 500);
        assert_int_equal(shadows_of(u)->n_ended, 4);
        answer_window(u, 500, 500, 300);
        assert_runs(u, "mru");

        /* No second window while the first one is not answered. */
        play_window(u, 500, 500, 500, 300);
        pass_window(u, 500);
        pass_window(u, 500);
        assert_int_equal(shadows_of(u)->n_answered + 1, shadows_of(u)->n_ended);
}

/* More events are lost than the unit has requests in its sample: the rest says how much is missed. */
static void test_many_are_lost(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        played.lost = 30000;
        play_window(u, 500, 500, 500, 300);
        assert_true(u->choice->figures[MRU].miss_ratio > 0.299);
        assert_true(u->choice->figures[MRU].miss_ratio < 0.301);
        play_window(u, 500, 500, 500, 300);
        assert_runs(u, "mru");
}

/* Other candidates have other shadows. */
static void test_margin_changes(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        play_window(u, 500, 500, 500, 300);
        set(u, "CacheAutoMargin", "2", 9);
        assert_int_equal(played.n_new, 2);
        assert_null(u->choice->verdict);
        assert_false(u->choice->figures[MRU].known);
}

static void test_reseeded(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);
        PlayedShadows *s = shadows_of(u);

        play_window(u, 500, 500, 500, 300);
        pass_window(u, 500);
        s->n_answered++; /* it never is */
        s->handlers->reseeded((Shadows *) s, s->userdata);
        assert_false(u->choice->figures[MRU].known);
        assert_string_equal(u->choice->verdict, "stays with stock: its shadows began anew, as the size of "
                                                "the cache or of the sample changed");
        play_window(u, 500, 500, 500, 300);
        assert_string_equal(u->choice->verdict, "stays with stock: its shadow has not run for long enough");
        warm_up(u);
        play_window(u, 500, 500, 500, 300);
        assert_runs(u, "noop");
        play_window(u, 500, 500, 500, 300);
        assert_runs(u, "mru");
}

/* As long as the shadows are as large as the cache was, the unit's misses are not compared with theirs. */
static void test_shrinks(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        switch_to_mru(u);
        played.patient = true;
        played.capacity = 500;
        for (unsigned i = 0; i < 32; i++)
                play_window(u, 900, 500, 100, 300);
        assert_runs(u, "mru");
        assert_string_equal(u->choice->verdict, "stays with mru nr_scan=64: the size of the cache is "
                                                "another one; if that lasts for 3 windows, its shadows "
                                                "begin anew");

        played.resize_error = -ENOMEM;
        play_window(u, 900, 500, 100, 300);
        assert_string_equal(u->choice->verdict, "stays with mru nr_scan=64: the kernel does not sample what "
                                                "the unit reads: Cannot allocate memory");
        played.resize_error = -ENOENT; /* systemd will tell */
        g_set_str(&u->choice->verdict, NULL);
        play_window(u, 900, 500, 100, 300);
        assert_null(u->choice->verdict);
        played.resize_error = 0;

        played.capacity = 1000;
        for (unsigned i = 0; i < 3; i++)
                play_window(u, 900, 500, 500, 300);
        assert_runs(u, "noop");
}

static void test_margin(void **state) {
        Unit *u = add_auto_unit("a.slice", 1);

        set(u, "CacheAutoMargin", "25", 9);
        warm_up(u);
        for (unsigned i = 0; i < 3; i++)
                play_window(u, 500, 500, 500, 300);
        assert_runs(u, "noop");
        assert_contains(u->choice->verdict, "no other policy gains more than the margin");
}

/* ---- what the kernel counts */

static void test_meter(void **state) {
        char *dir = test_dir_make();
        g_autofree char *slice = g_strconcat(dir, "/a.slice", NULL);
        Manager m = { .paths.kernel.cgroup = dir };
        Unit u = { .manager = &m, .cgroup = (char *) "/a.slice" };
        uint64_t page = sysconf(_SC_PAGESIZE);
        g_autofree char *limit = g_strdup_printf("%" PRIu64 "\n", 10 * page);
        struct stat st;
        Meter meter;

        assert_int_equal(meter_read(&u, &meter), -ENOENT);
        free(test_file(dir, "a.slice/memory.cachebpf.stat",
                       "managed_pages 7\nhits 40\nmisses 2\nrefaults 1\nworse x\n"));
        assert_int_equal(stat(slice, &st), 0);
        u.cgroup_id = st.st_ino;
        assert_int_equal(meter_read(&u, &meter), 0);
        assert_int_equal(meter.requests, 42);
        assert_int_equal(meter.misses, 2);
        assert_int_equal(meter.n_cached, 7);

        /* What it has, if nothing is known of what it may have. */
        assert_int_equal(meter_read_capacity(&u, &meter), 7);
        free(test_file(dir, "a.slice/memory.max", limit));
        free(test_file(dir, "a.slice/memory.current", "0\n"));
        assert_int_equal(meter_read_capacity(&u, &meter), 17);

        /* A limit beyond the machine. */
        free(test_file(dir, "a.slice/memory.max", "1125899906842624\n"));
        assert_in_range(meter_read_capacity(&u, &meter), 7, sysconf(_SC_PHYS_PAGES));

        /* The unit has stopped, and its id is still to come. */
        u.cgroup = NULL;
        assert_int_equal(meter_read(&u, &meter), -ENOENT);
        assert_int_equal(meter_read_capacity(&u, &meter), 7);
        test_dir_remove(dir);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                AUTO_TEST(test_begins_with_stock),
                AUTO_TEST(test_switches),
                AUTO_TEST(test_rolls_back),
                AUTO_TEST(test_clock),
                AUTO_TEST(test_counters_begin_again),
                AUTO_TEST(test_late_answer),
                AUTO_TEST(test_many_are_lost),
                AUTO_TEST(test_margin_changes),
                AUTO_TEST(test_reseeded),
                AUTO_TEST(test_shrinks),
                AUTO_TEST(test_margin),
                cmocka_unit_test(test_meter),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
