/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CacheFiles= of many managers: all have their turns. */

#include "files-fixture.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/files/internal.h"
#include "daemon/files/watch.h"
#include "shared/cleanup.h"
#include "some-files.h"

/* More than can be searched for in the time after which the first one may be searched for again. */
#define MANAGERS 24U

static uint64_t managers[MANAGERS];

static bool are_all_said(void) {
        for (unsigned i = 0; i < MANAGERS; i++)
                if (level_of(managers[i], "f/new") != 2)
                        return false;

        return true;
}

/* In whose directories something happens all the time keeps nobody out. */
static void test_busy(void **state) {
        g_autofree char *x = g_build_filename(files_dir, "f/x", NULL),
                        *y = g_build_filename(files_dir, "f/y", NULL);
        int64_t end;

        make_files(files_dir);
        free(test_file(files_dir, "f/x", ""));
        for (unsigned i = 0; i < MANAGERS; i++) {
                g_autofree char *name = g_strdup_printf("1/%u", i);

                managers[i] = make_directory(name);
        }
        set_files(add_unit("x.slice", "acfs", 1), "2", "f/*");

        free(test_file(files_dir, "f/new", ""));
        end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
        for (unsigned i = 0; !are_all_said(); i++) {
                assert_true(g_get_monotonic_time() < end);
                assert_int_equal(i % 2 == 0 ? rename(x, y) : rename(y, x), 0);
                assert_true(sd_event_run(fixture->event, 10 * USEC_PER_MSEC) >= 0);
        }
}

/* What fails takes no more of the time than what does not. */
static void test_failing(void **state) {
        uint64_t id, begin = (uint64_t) g_get_monotonic_time();
        Unit *slice;
        FileManager *m;

        make_files(files_dir);
        id = make_directory("1/a.service");
        slice = add_unit("x.slice", "acfs", 1);
        set_files(slice, "2", "f/a");
        m = g_hash_table_lookup(slice->files->managers, &id);
        assert_non_null(m);

        file_manager_not_found(m, -ETIMEDOUT, begin - 5 * USEC_PER_SEC);
        assert_true(m->not_before >= begin + 50 * USEC_PER_SEC);
        assert_true(m->retry_at >= m->not_before && m->retry_at < UINT64_MAX);
}

static bool have_all_ended(void) {
        return fixture->files->finders->len == 0;
}

/* Who has control groups come and go cannot have any number of processes hang. */
static void test_many_hang(void **state) {
        int r = 0;
        Unit *slice;

        make_files(files_dir);
        (void) make_directory("1");
        slice = add_unit("x.slice", "acfs", 1);
        set_files(slice, "2", "f/a");
        for (unsigned i = 0; i < 100 && r >= 0; i++) {
                uint64_t id = make_directory("1/child");

                assert_int_equal(unit_files_sync(slice->files, /* again= */ false), 0);
                r = file_finder_start(g_hash_table_lookup(slice->files->managers, &id));
                fixture->files->finder = NULL; /* as one that hangs is given up */
                file_watches_end(fixture->files->watches);
                remove_directory(id);
                assert_int_equal(unit_files_sync(slice->files, /* again= */ false), 0);
        }
        assert_int_equal(r, -EBUSY);
        assert_int_equal(fixture->files->finders->len, 64);

        wait_for(have_all_ended);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                FILES_TEST(test_busy),
                FILES_TEST(test_failing),
                FILES_TEST(test_many_hang),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
