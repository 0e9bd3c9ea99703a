/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* When what policies learn is saved and restored. */

#include "learning-fixture.h"

#include <fcntl.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/learned-file.h"

/* Nothing is there at first; then it stops, and starts again in another control group. */
static void test_stop_and_start(void **state) {
        Unit *u = start_unit(1);

        assert_true(u->link->restored);
        assert_true(fixture->kernel.cgroups[1].restored);
        assert_int_equal(written("a.slice"), 0);
        assert_int_equal(n_warnings, 0);

        learn(7);
        fake_cgroup_remove(&fixture->kernel, 1);
        set_cgroup(u, 0);
        settle();
        assert_true(written("a.slice") > 0);

        new_map();
        set_cgroup(u, 2);
        settle();
        assert_state(u, UNIT_ATTACHED);
        assert_int_equal(learned(), 7);
        assert_true(u->link->restored);
        assert_int_equal(n_warnings, 0);
}

/* The directory is made by who saves: one that cannot be made is no reason to complain before. */
static void test_no_directory(void **state) {
        g_autofree char *nowhere = g_build_filename(learning_dir, "nowhere", NULL), *path = NULL;
        Unit *u;

        fixture->manager->paths.learned = nowhere;
        u = start_unit(1);
        assert_true(u->link->restored);
        assert_int_equal(access(nowhere, F_OK), -1);
        learn(1);
        save_now();
        path = g_build_filename(nowhere, "a.slice", NULL);
        assert_int_equal(access(path, F_OK), 0);
        assert_int_equal(n_warnings, 0);
}

/* Each minute what has changed; a daemon that follows finds the policy at work, and leaves its map alone. */
static void test_minutes(void **state) {
        uint64_t first;

        (void) start_unit(1);
        learn(1);
        save_now();
        first = written("a.slice");
        assert_true(first > 0);
        save_now();
        assert_int_equal(written("a.slice"), first);
        learn(2);
        save_now();
        assert_int_not_equal(written("a.slice"), first);

        learn(3);
        restart();
        assert_true(start_unit(1)->adopted);
        assert_int_equal(learned(), 3);
        assert_int_equal(fixture->kernel.n_attach, 1);
        first = written("a.slice");
        learning_finish(learning);
        assert_false(learning_is_busy(learning));
        assert_int_not_equal(written("a.slice"), first);
}

/* A daemon that was killed before it had restored anything: what is in the map is no reason to lose the
 * file, and the next daemon restores it. */
static void test_killed_before(void **state) {
        Unit *u = start_unit(1);

        learn(5);
        save_now();
        fixture->kernel.cgroups[1].restored = false;
        learn(0);
        restart();

        u = add_unit("a.slice", "lfu", 1);
        run();
        learning_minute(learning); /* not before that */
        settle();
        assert_true(u->link->restored);
        assert_int_equal(learned(), 5);
}

/* Replaced in place, by itself or by one that learns nothing. */
static void test_update(void **state) {
        Unit *u = start_unit(1);
        uint64_t before;

        learn(9);
        set(u, "CachePolicyOptions", "nr_scan=64", 8);
        settle();
        assert_int_equal(fixture->kernel.n_update, 1);
        before = written("a.slice");
        assert_true(before > 0);
        assert_true(u->link->restored);
        assert_int_equal(learned(), 9);

        learn(10);
        configure(u, "mru");
        settle();
        assert_int_not_equal(written("a.slice"), before);
        before = written("a.slice");
        save_now();
        assert_int_equal(written("a.slice"), before);

        /* nothing asks for a policy any more */
        configure(u, "lfu");
        settle();
        learn(11);
        configure(u, NULL);
        settle();
        assert_null(u->link);
        assert_int_not_equal(written("a.slice"), before);
}

static void test_setting(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        set(u, "CacheLearning", "no", 8);
        settle();
        learn(3);
        save_now();
        assert_int_equal(written("a.slice"), 0);
        assert_false(u->link->restored);

        set(u, "CacheLearning", "yes", 9);
        settle();
        assert_int_equal(fixture->kernel.n_update, 0); /* that is no reason to begin anew */
        save_now();
        assert_true(written("a.slice") > 0);

        set(u, "CacheLearning", "sometimes", 10);
        assert_state(u, UNIT_FAILED);
        assert_reason(u, "'sometimes' (/etc/x.slice:10) is neither yes nor no");
}

static void write_file(const char *content) {
        free(test_file(learning_dir, "a.slice", content));
}

/* One message, and then as if there were nothing. */
static void test_damaged(void **state) {
        Unit *u;

        write_file("this is not what was saved, but longer than what is in front of it, which has more "
                   "than a hundred bytes");
        u = start_unit(1);
        assert_int_equal(n_warnings, 1);
        assert_non_null(strstr(warning->str, "a.slice' is damaged"));
        assert_true(u->link->restored);
        learn(4);
        save_now();
        assert_int_equal(n_warnings, 1);

        /* a map of another shape */
        fake_cgroup_remove(&fixture->kernel, 1);
        set_cgroup(u, 0);
        settle();
        new_map();
        played->value_size = 4;
        set_cgroup(u, 2);
        settle();
        assert_int_equal(n_warnings, 2);
        assert_non_null(strstr(warning->str, "is of another policy"));
        assert_int_equal(learned(), 0);
}

/* It cannot be saved: said once, until it can. */
static void test_errors(void **state) {
        uint64_t before;

        (void) start_unit(1);
        learn(1);
        save_now();
        before = written("a.slice");

        played->error = -EIO;
        learn(2);
        save_now();
        save_now();
        assert_int_equal(n_warnings, 1);
        assert_non_null(strstr(warning->str, "Cannot save what its cache policy has learned"));
        assert_int_equal(written("a.slice"), before);

        played->error = 0;
        save_now();
        assert_int_not_equal(written("a.slice"), before);
        played->error = -EIO;
        save_now();
        assert_int_equal(n_warnings, 2);
}

/* That its policy has what was learned before cannot be noted: it is not restored twice. */
static void test_not_marked(void **state) {
        Unit *u;

        fixture->kernel.mark_error = -ENOSPC;
        u = start_unit(1);
        assert_true(u->link->restored);
        learn(3);
        save_now();
        assert_true(written("a.slice") > 0);
        assert_int_equal(learned(), 3);
}

/* What could not be restored for want of something is in the file still, and is tried again. */
static void test_restored_later(void **state) {
        uint64_t before;
        Unit *u = start_unit(1);

        learn(6);
        fake_cgroup_remove(&fixture->kernel, 1);
        set_cgroup(u, 0);
        settle();
        before = written("a.slice");
        assert_true(before > 0);

        new_map();
        played->write_error = -ENOMEM;
        set_cgroup(u, 2);
        settle();
        assert_false(u->link->restored);
        assert_int_equal(n_warnings, 1);
        assert_non_null(strstr(warning->str, "trying again"));
        learn(1);
        save_now();
        assert_int_equal(written("a.slice"), before);
        assert_int_equal(n_warnings, 1);

        played->write_error = 0;
        save_now();
        assert_true(u->link->restored);
        assert_int_equal(learned(), 6);
}

/* ---- killed while it saves */

static void test_kills(void **state) {
        unsigned n_kills = 200;

        (void) start_unit(1);
        learn(1);
        save_now();

        for (unsigned i = 0; i < n_kills; i++) {
                _cleanup_learned_ Learned l = {};
                _cleanup_close_ int fd = open(learning_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                uint64_t first, last;

                learn(i + 2);
                learning_minute(learning);
                assert_int_equal(usleep(i * 53 % 4000), 0);
                /* the child goes with the daemon */
                restart();
                (void) start_unit(1);

                assert_true(fd >= 0);
                assert_int_equal(learned_load(fd, "a.slice", "lfu@0", &l), 0);
                memcpy(&first, l.entries + 4, 8);
                memcpy(&last, l.entries + (N_ENTRIES - 1) * 12 + 4, 8);
                assert_int_equal(first, last);
        }
        assert_int_equal(n_warnings, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                LEARNING_TEST(test_stop_and_start),
                LEARNING_TEST(test_no_directory),
                LEARNING_TEST(test_minutes),
                LEARNING_TEST(test_killed_before),
                LEARNING_TEST(test_update),
                LEARNING_TEST(test_setting),
                LEARNING_TEST(test_damaged),
                LEARNING_TEST(test_errors),
                LEARNING_TEST(test_not_marked),
                LEARNING_TEST(test_restored_later),
                LEARNING_TEST(test_kills),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
