/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fuzz-files.h"

#include <string.h>
#include <unistd.h>

static void make_directory(FuzzFiles *f) {
        *f = (FuzzFiles) { .directory = "/dev/shm/cachebpf-fuzz-XXXXXX" };
        CHECK(mkdtemp(f->directory));
}

static char *write_file(const char *directory, const char *name, const uint8_t *data, size_t size) {
        char *path;
        FILE *f;

        CHECK(asprintf(&path, "%s/%s", directory, name) > 0);
        f = fopen(path, "we");
        CHECK(f);
        CHECK(fwrite(data, 1, size, f) == size);
        CHECK(fclose(f) == 0);
        return path;
}

void fuzz_files_make_one(FuzzFiles *f, const char *name, const uint8_t *data, size_t size) {
        make_directory(f);
        f->paths[0] = write_file(f->directory, name, data, size);
}

void fuzz_files_make(FuzzFiles *f, const uint8_t *data, size_t size) {
        make_directory(f);
        for (unsigned i = 0; i < FUZZ_FILES_MAX; i++) {
                const uint8_t *end = memchr(data, 0, size);
                size_t n = end ? (size_t) (end - data) : size;
                char name[16];

                (void) snprintf(name, sizeof(name), "%u.conf", i);
                f->paths[i] = write_file(f->directory, name, data, n);
                if (!end)
                        break;
                data += n + 1;
                size -= n + 1;
        }
}

void fuzz_files_remove(FuzzFiles *f) {
        for (char **path = f->paths; *path; path++) {
                (void) unlink(*path);
                free(*path);
        }
        (void) rmdir(f->directory);
}
