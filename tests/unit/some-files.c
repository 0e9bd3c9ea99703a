/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "some-files.h"

#include <glib.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/macro.h"
#include "test-util.h"

void make_files(const char *dir) {
        static const char *const names[] = { "f/a", "f/b", "f/.c", "f/d e", "f/sub/a", "g/a" };
        g_autofree char *link = g_build_filename(dir, "f/link", NULL),
                        *fifo = g_build_filename(dir, "f/fifo", NULL),
                        *dots = g_build_filename(dir, "f/dots", NULL),
                        *away = g_build_filename(dir, "away", NULL);

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                free(test_file(dir, names[i], "x"));
        assert_int_equal(symlink("a", link), 0);
        assert_int_equal(symlink("f", away), 0);
        assert_int_equal(symlink("../g", dots), 0);
        assert_int_equal(mkfifo(fifo, 0600), 0);
}

void make_many(const char *dir, unsigned from, unsigned to) {
        for (unsigned i = from; i < to; i++) {
                char name[32];

                (void) snprintf(name, sizeof(name), "many/%u", i);
                free(test_file(dir, name, ""));
        }
}
