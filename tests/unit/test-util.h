/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What each test program of the daemon starts with: cmocka needs these four before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shared/macro.h"

/* A directory for one test, removed with everything in it by test_dir_remove(). */
char *test_dir_make(void);
void test_dir_remove(char *dir);

/* Writes DIR/NAME, making the directories in between, and returns its path, to be freed. */
char *test_file_write(const char *dir, const char *name, const char *content, size_t size);

static inline char *test_file(const char *dir, const char *name, const char *content) {
        return test_file_write(dir, name, content, strlen(content));
}
