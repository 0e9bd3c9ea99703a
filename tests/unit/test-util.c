/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <ftw.h>
#include <glib.h>
#include <stdio.h>
#include <unistd.h>

#include "test-util.h"

char *test_dir_make(void) {
        char *dir = strdup("/tmp/cachebpf-test-XXXXXX");

        assert_non_null(dir);
        assert_non_null(mkdtemp(dir));
        return dir;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
        return remove(path);
}

void test_dir_remove(char *dir) {
        assert_int_equal(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
        free(dir);
}

char *test_file_write(const char *dir, const char *name, const char *content, size_t size) {
        char *path, *parent;
        FILE *f;

        assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
        parent = g_path_get_dirname(path);
        assert_int_equal(g_mkdir_with_parents(parent, 0755), 0);
        g_free(parent);

        f = fopen(path, "we");
        assert_non_null(f);
        assert_int_equal(fwrite(content, 1, size, f), size);
        assert_int_equal(fclose(f), 0);
        return path;
}
