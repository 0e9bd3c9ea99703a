/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Instead of libFuzzer: gives a target the files of the directories that are named, as one input each. So
 * all targets are compiled with everything else, and what they check is checked of a few inputs. */

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz-util.h"
#include "shared/file-util.h"

#define SIZE_MAX_OF_A_SEED (16U * 1024 * 1024)

static unsigned run_file(const char *path) {
        struct stat st;
        size_t size;
        char *data;

        CHECK(stat(path, &st) == 0);
        if (!S_ISREG(st.st_mode))
                return 0;

        printf("%s\n", path);
        CHECK(read_full_file(path, SIZE_MAX_OF_A_SEED, &data, &size) == 0);
        CHECK(LLVMFuzzerTestOneInput((const uint8_t *) data, size) == 0);
        free(data);
        return 1;
}

static unsigned run_directory(const char *path) {
        DIR *d = opendir(path);
        struct dirent *de;
        unsigned n = 0;

        CHECK(d);
        while ((de = readdir(d))) {
                char *file;

                CHECK(asprintf(&file, "%s/%s", path, de->d_name) > 0);
                n += run_file(file);
                free(file);
        }
        closedir(d);
        return n;
}

int main(int argc, char *argv[]) {
        unsigned n = 0;

        (void) LLVMFuzzerTestOneInput((const uint8_t *) "", 0);
        for (int i = 1; i < argc; i++) {
                struct stat st;

                CHECK(stat(argv[i], &st) == 0);
                n += S_ISDIR(st.st_mode) ? run_directory(argv[i]) : run_file(argv[i]);
        }
        CHECK(n > 0);
        return EXIT_SUCCESS;
}
