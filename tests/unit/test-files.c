/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CacheFiles= and CacheLevel=: what policies are told of them, on a fake kernel. */

#include "files-fixture.h"

#include <stdio.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "some-files.h"

/* ---- what policies are told */

static uint64_t a_service;

static void test_said(void **state) {
        uint64_t other, container;
        Unit *slice, *a;

        make_files(files_dir);
        a_service = make_directory("1/a.service");
        other = make_directory("1/b.service");
        container = make_directory("1/container");
        slice = add_unit("x.slice", "acfs", 1);
        a = add_child("a.service");
        (void) add_child("b.service");
        run();
        assert_state(slice, UNIT_ATTACHED);
        assert_int_equal(fixture->kernel.n_said, 0);

        set_files(a, "2", "f/*");
        set(a, "CacheLevel", "2 mru", 4);
        assert_int_equal(level_of(a_service, "f/a"), 2);
        assert_int_equal(level_of(a_service, "f/b"), 2);
        assert_int_equal(level_of(a_service, "g/a"), 0);
        assert_int_equal(level_of(other, "f/a"), 0);
        assert_int_equal(mru_of(a_service), 1 << 3);

        /* What the slice says is for those who say nothing of it. */
        set_files(slice, "1", "f/a");
        set(slice, "CacheLevel", "0 mru", 5);
        assert_int_equal(level_of(a_service, "f/a"), 2);
        assert_int_equal(level_of(other, "f/a"), 1);
        assert_int_equal(level_of(container, "f/a"), 1);
        assert_int_equal(mru_of(a_service), 1 << 3);
        assert_int_equal(mru_of(other), 1 << 1);
        assert_int_equal(level_of(slice->cgroup_id, "f/a"), 0);

        /* Once is enough. */
        fixture->kernel.n_said = 0;
        manager_mark_dirty(fixture->manager, slice);
        manager_mark_dirty(fixture->manager, a);
        run();
        assert_int_equal(fixture->kernel.n_said, 0);
}

static void test_taken_back(void **state) {
        Unit *slice, *a;
        PolicyFile f;

        make_files(files_dir);
        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        a = add_child("a.service");
        set_files(a, "2", "f/*");
        set(a, "CacheLevel", "2 mru", 4);
        assert_int_equal(level_of(a_service, "f/a"), 2);

        /* What a program said since then stays. */
        f = file_of("f/d e");
        *fake_level(&fixture->kernel, a_service, &f) = 1;
        policy_setting_done(&a->file_setting);
        set_files(a, "3", "f/b");
        assert_int_equal(level_of(a_service, "f/a"), 0);
        assert_int_equal(level_of(a_service, "f/d e"), 1);
        assert_int_equal(level_of(a_service, "f/b"), 3);
        assert_int_equal(mru_of(a_service), 0);

        /* Other policies do not listen. */
        fixture->kernel.n_said = 0;
        configure(slice, "lfu");
        run();
        assert_null(slice->files);
        assert_int_equal(fixture->kernel.n_said, 0);
        set_files(slice, "1", "f/a");
        assert_state(slice, UNIT_FAILED);
        assert_reason(slice,
                      "policy 'lfu' has no levels for files, which CacheFiles= (/etc/x.slice:3) is about");
}

/* What has a policy of its own is no manager. */
static void test_own_policy(void **state) {
        Unit *slice, *a;

        make_files(files_dir);
        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        a = add_unit("a.service", "mru", 2);
        g_set_str(&a->cgroup, "/1/a.service");
        fixture->kernel.cgroups[2].path = a->cgroup;
        set_files(slice, "2", "f/a");
        assert_state(a, UNIT_ATTACHED);
        assert_int_equal(level_of(a_service, "f/a"), 0);
        configure(a, NULL);
        run();
        assert_int_equal(level_of(a_service, "f/a"), 2);
}

/* Who may create control groups calls them what they like. */
static void test_namesake(void **state) {
        Unit *slice, *a;

        make_files(files_dir);
        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        a = add_unit("a.service", NULL, 2);
        set_files(a, "3", "f/a");
        assert_int_equal(fixture->kernel.n_said, 0);
        set_files(slice, "2", "f/a");
        assert_int_equal(level_of(a_service, "f/a"), 2);
        assert_listed(slice, true, "[a.service 2 /f/a]");
        assert_listed(a, true, "");
}

/* A unit without control groups below is its own manager. */
static void test_alone(void **state) {
        Unit *u;

        make_files(files_dir);
        (void) make_directory("1");
        u = add_unit("a.service", "acfs", 1);
        set_files(u, "-1", "f/a");
        assert_int_equal(level_of(u->cgroup_id, "f/a"), -1);
}

static bool is_b_said(void) {
        return level_of(a_service, "f/b") == 3;
}

static bool is_new_said(void) {
        return level_of(a_service, "f/new/x") == 3;
}

static bool is_b_taken_back(void) {
        return level_of(a_service, "g/b") == 0;
}

static void test_later(void **state) {
        g_autofree char *from = g_build_filename(files_dir, "f/b", NULL),
                        *to = g_build_filename(files_dir, "g/b", NULL);
        Unit *a;

        make_files(files_dir);
        assert_int_equal(rename(from, to), 0);
        a_service = make_directory("1/a.service");
        (void) add_unit("x.slice", "acfs", 1);
        a = add_child("a.service");
        set_files(a, "3", "f/b");
        set_files(a, "3", "f/new/*");

        assert_int_equal(rename(to, from), 0);
        wait_for(is_b_said);
        free(test_file(files_dir, "f/new/x", ""));
        wait_for(is_new_said);
        assert_int_equal(rename(from, to), 0);
        wait_for(is_b_taken_back);
        assert_true(is_new_said());
}

static bool is_f_a_said(void) {
        return level_of(a_service, "f/a") == 3;
}

/* Nor is the directory of the pattern all that may be replaced. */
static void test_replaced_above(void **state) {
        g_autofree char *x = g_build_filename(files_dir, "x", NULL),
                        *y = g_build_filename(files_dir, "y", NULL),
                        *z = g_build_filename(files_dir, "z", NULL),
                        *link = g_build_filename(files_dir, "link", NULL);

        make_files(files_dir);
        free(test_file(files_dir, "x/f/b", ""));
        free(test_file(files_dir, "y/f/a", ""));
        assert_int_equal(symlink("x", link), 0);
        a_service = make_directory("1/a.service");
        (void) add_unit("x.slice", "acfs", 1);
        set_files(add_child("a.service"), "3", "link/f/a");
        assert_int_equal(level_of(a_service, "y/f/a"), 0);

        /* a directory */
        assert_int_equal(rename(x, z), 0);
        assert_int_equal(rename(y, x), 0);
        while (level_of(a_service, "x/f/a") != 3)
                assert_true(sd_event_run(fixture->event, 100 * USEC_PER_MSEC) >= 0);

        /* a link */
        assert_int_equal(unlink(link), 0);
        while (level_of(a_service, "x/f/a") != 0)
                assert_true(sd_event_run(fixture->event, 100 * USEC_PER_MSEC) >= 0);
        assert_int_equal(symlink(".", link), 0);
        wait_for(is_f_a_said);
}

static bool is_late_manager_said(void) {
        return level_of(a_service, "f/a") == 2;
}

static void test_late_manager(void **state) {
        Unit *slice;

        make_files(files_dir);
        (void) make_directory("1/other");
        slice = add_unit("x.slice", "acfs", 1);
        set_files(slice, "2", "f/a");
        a_service = make_directory("1/a.service");
        wait_for(is_late_manager_said);
}

/* A user who has all these events come, all the time, does not keep the daemon from its work. */
static void test_order(void **state) {
        g_autofree char *directory = g_build_filename(files_cgroups, "1/a.service", NULL);
        Unit *slice, *a;

        make_files(files_dir);
        (void) make_directory("1/b.service");
        slice = add_unit("x.slice", "acfs", 1);
        a = add_child("a.service");
        assert_int_equal(rmdir(directory), 0);
        set_files(a, "2", "f/*");
        assert_int_equal(fixture->kernel.n_said, 0);
        (void) make_directory("1/a.service");
        fixture->kernel.n_said = 0;
        configure(slice, "lfu");
        run();
        assert_string_equal(slice->effective, "lfu");
        assert_int_equal(fixture->kernel.n_said, 0);
}

/* systemd says that a unit has ended before its policy goes. */
static void test_ended(void **state) {
        g_autofree char *cgroup = NULL, *from = g_build_filename(files_cgroups, "1", NULL),
                        *to = g_build_filename(files_cgroups, "gone", NULL);
        Unit *slice;

        make_files(files_dir);
        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        set_files(slice, "2", "f/a");
        assert_true(is_late_manager_said());

        cgroup = g_steal_pointer(&slice->cgroup);
        (void) fake_manager(&fixture->kernel, make_directory("1"));
        assert_listed(slice, false, "[n/a][n/a]");
        fixture->kernel.n_said = 0;
        (void) make_directory("1/b.service");
        for (unsigned i = 0; i < 50; i++)
                assert_true(sd_event_run(fixture->event, 10 * USEC_PER_MSEC) >= 0);
        assert_int_equal(fixture->kernel.n_said, 0);

        /* That there are no control groups below is not known then. */
        slice->cgroup = g_steal_pointer(&cgroup);
        assert_int_equal(rename(from, to), 0);
        manager_mark_dirty(fixture->manager, slice);
        run();
        assert_int_equal(fixture->kernel.n_said, 0);
}

static void test_again(void **state) {
        Unit *slice;

        make_files(files_dir);
        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        set_files(slice, "2", "f/a");
        set(slice, "CacheLevel", "1 mru", 4);
        assert_true(is_late_manager_said());

        /* Other options, another instance, which may know nothing of it. */
        g_array_set_size(fixture->kernel.levels, 0);
        g_array_set_size(fixture->kernel.managers, 0);
        set(slice, "CachePolicyOptions", "nr_scan=64", 5);
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_true(is_late_manager_said());
        assert_int_equal(mru_of(a_service), 1 << 2);

        /* Another daemon. */
        g_array_set_size(fixture->kernel.levels, 0);
        stop_daemon();
        start_daemon();
        use_directories();
        slice = add_unit("x.slice", "acfs", 1);
        set(slice, "CachePolicyOptions", "nr_scan=64", 5);
        assert_true(slice->adopted);
        set_files(slice, "2", "f/a");
        assert_true(is_late_manager_said());
}

static bool is_taken_back(void) {
        return level_of(a_service, "f/a") == 0;
}

/* What the policy does not take is tried again later. */
static void test_refused(void **state) {
        Unit *slice;

        make_files(files_dir);
        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        fixture->kernel.say_error = -ENOSPC;
        set_files(slice, "2", "f/a");
        assert_int_equal(level_of(a_service, "f/a"), 0);
        fixture->kernel.say_error = 0;
        wait_for(is_late_manager_said);

        fixture->kernel.say_error = -EAGAIN;
        configure(slice, "acfs");
        set(slice, "CacheFiles", "", 3);
        assert_true(is_late_manager_said());
        fixture->kernel.say_error = 0;
        wait_for(is_taken_back);
}

static bool are_all_managers(void) {
        return fixture->kernel.managers->len == MANAGERS_MAX + 6;
}

static void test_many_managers(void **state) {
        uint64_t said;
        Unit *slice;

        make_files(files_dir);
        for (unsigned i = 0; i < MANAGERS_MAX + 6; i++) {
                g_autofree char *name = g_strdup_printf("1/%u", i);

                (void) make_directory(name);
        }
        slice = add_unit("x.slice", "acfs", 1);
        set_files(slice, "2", "f/a");
        assert_int_equal(fixture->kernel.managers->len, MANAGERS_MAX);

        for (unsigned i = 0; i < 6; i++) {
                said = g_array_index(fixture->kernel.managers, PolicyManager, i).id;
                remove_directory(said);
        }
        wait_for(are_all_managers);
}

/* ---- what is shown */

static void test_revoked(void **state) {
        Unit *slice;
        unsigned n;

        a_service = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        run();
        fake_manager(&fixture->kernel, a_service)->n_decisions = 300;
        files_sample(fixture->files);
        assert_null(slice->revoked);

        n = fixture->n_changed;
        fake_manager(&fixture->kernel, a_service)->revoked = true;
        files_sample(fixture->files);
        assert_string_equal(slice->revoked->pdata[0], "a.service");
        assert_int_equal(fixture->n_changed, n + 1);

        /* It has a say again and again, and is wrong again and again. */
        for (unsigned i = 0; i < 40; i++) {
                fake_manager(&fixture->kernel, a_service)->revoked = i % 14 == 13;
                files_sample(fixture->files);
        }
        assert_non_null(slice->revoked);
        assert_int_equal(fixture->n_changed, n + 1);

        fake_manager(&fixture->kernel, a_service)->revoked = false;
        for (unsigned i = 0; i < 15; i++)
                files_sample(fixture->files);
        assert_null(slice->revoked);
        assert_int_equal(fixture->n_changed, n + 2);

        /* Who is gone is not revoked. */
        fake_manager(&fixture->kernel, a_service)->revoked = true;
        files_sample(fixture->files);
        assert_non_null(slice->revoked);
        g_array_set_size(fixture->kernel.managers, 0);
        files_sample(fixture->files);
        assert_null(slice->revoked);
}

static void test_list(void **state) {
        Unit *slice, *a;
        uint64_t b;
        PolicyFile f;

        make_files(files_dir);
        a_service = make_directory("1/a.service");
        b = make_directory("1/b.service");
        slice = add_unit("x.slice", "acfs", 1);
        a = add_child("a.service");
        run();
        assert_listed(slice, true, "");
        set_files(a, "2", "f/a");
        set_files(a, "0", "f/b");
        f = file_of("g/a");
        *fake_level(&fixture->kernel, a_service, &f) = -1;
        (void) fake_manager(&fixture->kernel, b);
        assert_listed(slice, true, "[a.service -1 ? 0 /f/b 2 /f/a][b.service]");
        assert_listed(a, true, "[a.service -1 ? 0 /f/b 2 /f/a]");

        /* A program said something else. */
        f = file_of("f/b");
        *fake_level(&fixture->kernel, a_service, &f) = 3;
        assert_listed(a, true, "[a.service -1 ? 2 /f/a 3 /f/b]");
        assert_listed(a, false, "[a.service]");

        (void) fake_manager(&fixture->kernel, 1234567);
        assert_listed(slice, false, "[n/a][a.service][b.service]");
}

/* Names are any bytes; what is shown of them is UTF-8. */
static void test_names(void **state) {
        Unit *slice;
        uint64_t odd;

        free(test_file(files_dir, "f/\xff" "a", "x"));
        odd = make_directory("1/\xe4.service");
        slice = add_unit("x.slice", "acfs", 1);
        set_files(slice, "2", "f/*");
        fake_manager(&fixture->kernel, odd)->revoked = true;
        assert_listed(slice, true, "[\xef\xbf\xbd.service 2 /f/\xef\xbf\xbd" "a]");
        files_sample(fixture->files);
        assert_string_equal(slice->revoked->pdata[0], "\xef\xbf\xbd.service");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                FILES_TEST(test_said),
                FILES_TEST(test_taken_back),
                FILES_TEST(test_own_policy),
                FILES_TEST(test_namesake),
                FILES_TEST(test_alone),
                FILES_TEST(test_later),
                FILES_TEST(test_replaced_above),
                FILES_TEST(test_late_manager),
                FILES_TEST(test_order),
                FILES_TEST(test_ended),
                FILES_TEST(test_again),
                FILES_TEST(test_refused),
                FILES_TEST(test_many_managers),
                FILES_TEST(test_revoked),
                FILES_TEST(test_list),
                FILES_TEST(test_names),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
