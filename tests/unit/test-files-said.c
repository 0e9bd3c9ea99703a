/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CacheFiles= and CacheLevel=: whose word counts, and what stays of what was said. */

#include "files-fixture.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "some-files.h"

static uint64_t a_service;

/* A slice with a manager, for which it says nothing. */
static Unit *add_slice(void) {
        make_files(files_dir);
        a_service = make_directory("1/a.service");
        return add_unit("x.slice", "acfs", 1);
}

static bool is_taken_back(void) {
        return level_of(a_service, "f/a") == 0;
}

static void program_says(const char *name, int level) {
        PolicyFile file = file_of(name);

        *fake_level(&fixture->kernel, a_service, &file) = level;
}

/* That of who says 0, too. */
static void test_last_word(void **state) {
        Unit *slice = add_slice();

        program_says("f/a", 3);
        program_says("f/b", 2);
        set_files(slice, "0", "f/a");
        assert_int_equal(level_of(a_service, "f/a"), 0);
        assert_int_equal(level_of(a_service, "f/b"), 2);

        /* Once; and again to another policy. */
        program_says("f/a", 1);
        set_files(slice, "0", "g/a");
        assert_int_equal(level_of(a_service, "f/a"), 1);
        set(slice, "CachePolicyOptions", "nr_scan=64", 5);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_int_equal(level_of(a_service, "f/a"), 0);
}

/* LRU is what there is without a setting: with it goes nothing that a program said. */
static void test_level(void **state) {
        Unit *slice = add_slice();

        set(slice, "CacheLevel", "1 lru 2 mru", 4);
        mru_of(a_service) |= 1 << 2;
        set(slice, "CacheLevel", "", 5);
        assert_int_equal(mru_of(a_service), 1 << 2);
}

/* What a program said is not known then: what the unit said is not forgotten. */
static void test_unreadable(void **state) {
        Unit *slice = add_slice();

        set_files(slice, "2", "f/a");
        fixture->kernel.read_levels_error = -ENFILE;
        set(slice, "CacheFiles", "", 4);
        assert_int_equal(level_of(a_service, "f/a"), 2);
        fixture->kernel.read_levels_error = 0;
        wait_for(is_taken_back);
}

/* ---- who is a manager */

/* Who starts anew, or a daemon that does, has files read that may say something else than the slice. */
static void test_unknown_yet(void **state) {
        Unit *slice = add_slice(), *a = add_child("a.service");
        g_autofree char *cgroup = g_steal_pointer(&a->cgroup);

        a->files_known = false;
        a->fetching = true;
        program_says("f/a", 1);
        set_files(slice, "3", "f/a");
        assert_int_equal(level_of(a_service, "f/a"), 1);

        a->cgroup = g_steal_pointer(&cgroup);
        a->files_known = true;
        a->fetching = false;
        set(a, "CacheFiles", "", 3);
        assert_int_equal(level_of(a_service, "f/a"), 1);
}

/* A policy of its own makes it none. */
static void test_own_policy(void **state) {
        Unit *slice = add_slice(), *a = add_unit("a.service", NULL, 2);

        g_set_str(&a->cgroup, "/1/a.service");
        fixture->kernel.cgroups[2].path = a->cgroup;
        set_files(slice, "2", "f/a");
        assert_int_equal(level_of(a_service, "f/a"), 2);
        configure(a, "mru");
        run();
        assert_state(a, UNIT_ATTACHED);
        assert_int_equal(level_of(a_service, "f/a"), 0);
        configure(a, NULL);
        run();
        assert_int_equal(level_of(a_service, "f/a"), 2);
}

/* So do control groups below. */
static void test_alone_no_more(void **state) {
        Unit *u;

        make_files(files_dir);
        (void) make_directory("1");
        u = add_unit("a.service", "acfs", 1);
        set_files(u, "-1", "f/a");
        a_service = u->cgroup_id;
        assert_int_equal(level_of(a_service, "f/a"), -1);
        (void) make_directory("1/below");
        wait_for(is_taken_back);
}

/* ---- searches that are not complete */

static unsigned count_said(int level) {
        unsigned n = 0;

        for (guint i = 0; i < fixture->kernel.levels->len; i++)
                n += g_array_index(fixture->kernel.levels, PolicyFileLevel, i).level == level;
        return n;
}

/* What is not found because there is too much may be there. */
static void test_cut_short(void **state) {
        Unit *slice = add_slice();

        make_many(files_dir, 0, 1000);
        set_files(slice, "2", "many/*");
        assert_int_equal(count_said(2), 1000);
        set_files(slice, "3", "f/a"); /* for what follows some are left */
        assert_int_equal(count_said(2), 1000);
        assert_int_equal(level_of(a_service, "f/a"), 3);
}

/* But what is found has the room. */
static void test_room(void **state) {
        Unit *slice = add_slice();

        make_many(files_dir, 0, MANAGER_FILES_MAX + 100);
        set_files(slice, "2", "many/*");
        assert_int_equal(count_said(2), MANAGER_FILES_MAX);

        for (unsigned i = 0; i < MANAGER_FILES_MAX + 100; i++) {
                g_autofree char *path = g_strdup_printf("%s/many/%u", files_dir, i);

                assert_int_equal(unlink(path), 0);
        }
        make_many(files_dir, 10000, 10000 + MANAGER_FILES_MAX - 100);
        free(test_file(files_dir, "many/last", ""));
        set(slice, "CacheLevel", "2 mru", 4);
        assert_int_equal(level_of(a_service, "many/last"), 2);
        make_many(files_dir, 20000, 20200);
        set(slice, "CacheLevel", "2 lru", 5);
        assert_int_equal(count_said(2), MANAGER_FILES_MAX);
}

/* Nor does it stay if no pattern means it any more. */
static void test_other_pattern(void **state) {
        Unit *a;

        (void) add_slice();
        a = add_child("a.service");
        set_files(a, "2", "f/a");
        assert_int_equal(level_of(a_service, "f/a"), 2);

        make_many(files_dir, 0, MANAGER_FILES_MAX + 100);
        policy_setting_done(&a->file_setting);
        set_files(a, "3", "many/*");
        assert_true(count_said(3) >= 900);
        assert_int_equal(level_of(a_service, "f/a"), 0);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                FILES_TEST(test_last_word),
                FILES_TEST(test_level),
                FILES_TEST(test_unreadable),
                FILES_TEST(test_unknown_yet),
                FILES_TEST(test_own_policy),
                FILES_TEST(test_alone_no_more),
                FILES_TEST(test_cut_short),
                FILES_TEST(test_room),
                FILES_TEST(test_other_pattern),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
