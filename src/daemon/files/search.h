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
        int wd;           /* of the watch; -1: it is not watched */
        GPtrArray *names; /* those that matter: patterns of fnmatch(3) */
} SearchedDirectory;

typedef struct FileSearch {
        GHashTable *files;       /* PolicyFile -> FoundFile, which is the key as well */
        GHashTable *directories; /* path -> SearchedDirectory */
        GArray *partial;         /* of FilePattern: those that were not searched for to the end, since */
        bool full;               /* there is more than is looked at, */
        int error;               /* or a file system did not let us; 0, or negative */
        bool unwatched;          /* there is more than is watched, */
        bool remote;             /* or others can change some of it without an event */
        bool overlay;            /* some of it is on overlayfs */
} FileSearch;

/* How long, and with how many watches, which are added to that inotify (-EBADF: to none). */
typedef struct SearchLimits {
        uint64_t usec;
        int inotify_fd;
        unsigned n_watches;
} SearchLimits;

/* Finds the regular files that patterns match. Links are followed only in front of the first wildcard, and
 * not in the last place. It waits for file systems as long as these take. */
void file_search(const CacheFiles *wanted, const SearchLimits *limits, FileSearch *ret);
void file_search_done(FileSearch *s);
/* Whether a file that was not found may be there nevertheless, as far as is known. */
bool file_search_may_lack(const FileSearch *s, const FoundFile *f);
/* As bytes, for another process. */
int file_search_write(const FileSearch *s, int fd);
int file_search_read(const void *bytes, size_t size, FileSearch *ret);
#define _cleanup_file_search_ _cleanup_(file_search_done)

bool searched_directory_has(const SearchedDirectory *d, const char *name);
/* A table by PolicyFile of FoundFile. */
GHashTable *found_files_new(void);
void found_file_free(void *p);
