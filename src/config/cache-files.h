/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "setting.h"

/* What CacheFiles= and CacheLevel= say: which pages of a manager go first, for policies that listen to
 * programs. Files have levels; the lowest level goes first, and within a level the page that was used last
 * (MRU) or the one that was not used for the longest time (LRU). */

#define CACHE_LEVEL_MIN (-1)
#define CACHE_LEVEL_DEFAULT 0
#define CACHE_LEVEL_MAX 3
#define CACHE_LEVELS 5U

typedef struct FilePattern {
        int level;
        char *pattern; /* absolute, as in glob(7) */
} FilePattern;

typedef struct CacheFiles {
        GArray *patterns;         /* of FilePattern; a file has the level of the last one that matches */
        int8_t mru[CACHE_LEVELS]; /* from the lowest level; negative: nothing is said of it */
} CacheFiles;

/* An array of FilePattern. */
GArray *file_patterns_new(void);
void file_patterns_add(GArray *patterns, int level, const char *pattern);

void cache_files_done(CacheFiles *f);
#define _cleanup_cache_files_ _cleanup_(cache_files_done)

/* What a setting says. Each key that it does not set is the other setting's, if that is not NULL. */
void cache_files_make(const PolicySetting *s, const PolicySetting *otherwise, CacheFiles *ret);
void cache_files_copy(const CacheFiles *f, CacheFiles *ret);
bool cache_files_equal(const CacheFiles *a, const CacheFiles *b);
/* Nothing is said. */
bool cache_files_is_empty(const CacheFiles *f);

/* Whether a value of one of these keys makes sense; others may have any here. -EINVAL: *ret_problem is a
 * sentence. */
int cache_files_check(const char *key, const char *value, char **ret_problem);
