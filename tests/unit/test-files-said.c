/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CacheFiles= and CacheLevel=: whose word counts, and what stays of what was said. */

#include "files-fixture.h"

#include <errno.h>

#include "shared/cleanup.h"
#include "some-files.h"

static uint64_t a_service;

/* A slice with a manager, for which it says nothing. */
static Unit *add_slice(void) {
        make_files(files_dir);
        a_service = make_directory("1/a.service");
        return add_unit("x.slice", "acfs", 1);
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

static bool is_taken_back(void) {
        return level_of(a_service, "f/a") == 0;
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

int main(void) {
        static const struct CMUnitTest tests[] = {
                FILES_TEST(test_last_word),
                FILES_TEST(test_level),
                FILES_TEST(test_unreadable),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
