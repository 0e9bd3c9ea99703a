/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* CacheFiles= and CacheLevel= on a fake kernel, see reconcile-fixture.h: control groups are directories of
 * the test, and so is what patterns name. */

#include "reconcile-fixture.h"

/* Of the test that runs: the directories of its files, and of the control groups. */
extern char *files_dir, *files_cgroups;

int files_setup(void **state);
int files_teardown(void **state);

#define FILES_TEST(f) cmocka_unit_test_setup_teardown(f, files_setup, files_teardown)

/* The daemon looks for control groups there; again, when another one starts. */
void use_directories(void);
/* Makes a control group; "1/a.service" is below that of the unit with the id 1. Returns its id. */
uint64_t make_directory(const char *name);
/* Removes one below that of the unit with the id 1. */
void remove_directory(uint64_t id);

PolicyFile file_of(const char *name);
/* What the kernel was told of that file of the test. */
int level_of(uint64_t manager, const char *name);
#define mru_of(manager) (fake_manager(&fixture->kernel, manager)->mru)

/* Adds CacheFiles=PRIORITY DIR/NAME to a unit, and runs. */
void set_files(Unit *u, const char *priority, const char *name);
/* A unit below that with the id 1. */
Unit *add_child(const char *name);

/* "[MANAGER LEVEL FILE ...]" of each manager, to be freed; a file without a path is a "?". */
char *listed(Unit *u, bool files);
#define assert_listed(u, files, expected)                               \
        do {                                                            \
                g_autofree char *_text = listed(u, files);              \
                assert_string_equal(_text, expected);                   \
        } while (false)

/* Managers are not looked at all the time. */
void wait_for(bool (*condition)(void));
