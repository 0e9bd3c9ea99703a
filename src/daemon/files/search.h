/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "config/cache-files.h"
#include "identify.h"

typedef struct FoundFile {
        PolicyFile file;
        int level;
        char *path;
} FoundFile;

/* A directory in which what appears, goes, or gets another name may change what is found. */
typedef struct SearchedDirectory {
        char *path;
        int fd;           /* of O_PATH; its path may lead elsewhere by now */
        GPtrArray *names; /* those that matter: patterns of fnmatch(3) */
} SearchedDirectory;

typedef struct FileSearch {
        GHashTable *files;       /* PolicyFile -> FoundFile, which is the key as well */
        GHashTable *directories; /* path -> SearchedDirectory */
        bool full;               /* there is more than is looked at */
} FileSearch;

/* Finds the regular files that patterns match, within that time. Links are followed only in front of the
 * first wildcard, and not in the last place. */
void file_search(const CacheFiles *wanted, uint64_t usec, FileSearch *ret);
void file_search_done(FileSearch *s);
#define _cleanup_file_search_ _cleanup_(file_search_done)

bool searched_directory_has(const SearchedDirectory *d, const char *name);
/* A table by PolicyFile of FoundFile. */
GHashTable *found_files_new(void);
void found_file_free(void *p);
