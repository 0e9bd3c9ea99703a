/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* For targets that are given files: the input, written into a directory of its own. */

#include "fuzz-util.h"

#define FUZZ_FILES_MAX 4U

typedef struct FuzzFiles {
        char directory[32];
        char *paths[FUZZ_FILES_MAX + 1]; /* NULL-terminated */
} FuzzFiles;

/* One file. */
void fuzz_files_make_one(FuzzFiles *f, const char *name, const uint8_t *data, size_t size);
/* A file "0.conf" up to the first NUL byte, "1.conf" up to the next one, and so on. */
void fuzz_files_make(FuzzFiles *f, const uint8_t *data, size_t size);
void fuzz_files_remove(FuzzFiles *f);
