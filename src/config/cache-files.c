/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <limits.h>

#include "cache-files.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

#define problemf(ret_problem, ...) (*(ret_problem) = g_strdup_printf(__VA_ARGS__), -EINVAL)

static int parse_level(const char *s, int *ret) {
        int64_t level;

        if (safe_atoi64(s, &level) < 0 || level < CACHE_LEVEL_MIN || level > CACHE_LEVEL_MAX)
                return -EINVAL;

        *ret = level;
        return 0;
}

/* ---- what makes sense */

static bool path_is_normal(const char *path) {
        g_auto(GStrv) names = g_strsplit(path, "/", -1);

        for (char **i = names + 1; *i; i++)
                if (isempty(*i) || streq(*i, ".") || streq(*i, ".."))
                        return false;

        return strlen(path) < PATH_MAX;
}

static int check_files(char **words, char **ret_problem) {
        bool named = true;
        int level;

        if (parse_level(words[0], &level) < 0)
                return problemf(ret_problem, "'%s' is no priority, which is a number from %d to %d",
                                words[0], CACHE_LEVEL_MIN, CACHE_LEVEL_MAX);

        for (char **i = words; *i; i++) {
                bool number = parse_level(*i, &level) >= 0;

                if (!number && (*i)[0] != '/')
                        return problemf(ret_problem, "'%s' is neither a priority nor an absolute path",
                                        *i);
                if (!number && !path_is_normal(*i))
                        return problemf(ret_problem, "'%s' is no plain path: it is too long, or has an "
                                        "empty name, '.' or '..' in it", *i);
                if (number && !named)
                        break;
                named = !number;
        }

        return named ? 0 : problemf(ret_problem, "a priority has no pattern behind it");
}

static int check_levels(char **words, char **ret_problem) {
        for (char **i = words; *i; i += 2) {
                int level;

                if (parse_level(i[0], &level) < 0)
                        return problemf(ret_problem, "'%s' is no level, which is a number from %d to %d",
                                        i[0], CACHE_LEVEL_MIN, CACHE_LEVEL_MAX);
                if (!i[1] || (!streq(i[1], "lru") && !streq(i[1], "mru")))
                        return problemf(ret_problem, "level %s is to be 'lru' or 'mru'%s%s%s", i[0],
                                        i[1] ? ", not '" : "", strempty(i[1]), i[1] ? "'" : "");
        }

        return 0;
}

int cache_files_check(const char *key, const char *value, char **ret_problem) {
        _cleanup_strv_free_ char **words = strv_split(value);

        if (!words[0]) /* resets */
                return 0;

        switch (policy_setting_find_key(key)) {
        case POLICY_KEY_FILES:
                return check_files(words, ret_problem);
        case POLICY_KEY_LEVELS:
                return check_levels(words, ret_problem);
        default:
                return 0;
        }
}

/* ---- what is said */

static void pattern_clear(void *p) {
        free(((FilePattern *) p)->pattern);
}

GArray *file_patterns_new(void) {
        GArray *patterns = g_array_new(FALSE, FALSE, sizeof(FilePattern));

        g_array_set_clear_func(patterns, pattern_clear);
        return patterns;
}

void file_patterns_add(GArray *patterns, int level, const char *pattern) {
        FilePattern p = { .level = level, .pattern = g_strdup(pattern) };

        g_array_append_val(patterns, p);
}

void cache_files_done(CacheFiles *f) {
        if (f->patterns)
                g_array_unref(f->patterns);
        *f = (CacheFiles) {};
}

static const PolicyWords *choose(const PolicySetting *s, const PolicySetting *otherwise, PolicyKey key) {
        return s->more[key].set || !otherwise ? s->more + key : otherwise->more + key;
}

/* The lines follow each other, and each begins with a priority. */
static void add_patterns(const PolicyWords *w, CacheFiles *f) {
        int level = CACHE_LEVEL_DEFAULT;

        for (guint i = 0; i < policy_words_count(w); i++) {
                const char *word = policy_words_get(w, i)->text;

                if (parse_level(word, &level) < 0)
                        file_patterns_add(f->patterns, level, word);
        }
}

static void set_levels(const PolicyWords *w, CacheFiles *f) {
        for (guint i = 0; i + 1 < policy_words_count(w); i += 2) {
                int level;

                if (parse_level(policy_words_get(w, i)->text, &level) >= 0)
                        f->mru[level - CACHE_LEVEL_MIN] = streq(policy_words_get(w, i + 1)->text, "mru");
        }
}

void cache_files_make(const PolicySetting *s, const PolicySetting *otherwise, CacheFiles *ret) {
        CacheFiles f = { .patterns = file_patterns_new() };

        memset(f.mru, -1, sizeof(f.mru));
        add_patterns(choose(s, otherwise, POLICY_KEY_FILES), &f);
        set_levels(choose(s, otherwise, POLICY_KEY_LEVELS), &f);
        *ret = f;
}

void cache_files_copy(const CacheFiles *f, CacheFiles *ret) {
        CacheFiles copy = { .patterns = file_patterns_new() };

        memcpy(copy.mru, f->mru, sizeof(copy.mru));
        for (guint i = 0; i < f->patterns->len; i++) {
                const FilePattern *p = &g_array_index(f->patterns, FilePattern, i);

                file_patterns_add(copy.patterns, p->level, p->pattern);
        }
        *ret = copy;
}

bool cache_files_equal(const CacheFiles *a, const CacheFiles *b) {
        if (memcmp(a->mru, b->mru, sizeof(a->mru)) != 0 || a->patterns->len != b->patterns->len)
                return false;

        for (guint i = 0; i < a->patterns->len; i++) {
                const FilePattern *x = &g_array_index(a->patterns, FilePattern, i),
                                  *y = &g_array_index(b->patterns, FilePattern, i);

                if (x->level != y->level || !streq(x->pattern, y->pattern))
                        return false;
        }

        return true;
}

bool cache_files_is_empty(const CacheFiles *f) {
        for (guint i = 0; i < CACHE_LEVELS; i++)
                if (f->mru[i] >= 0)
                        return false;

        return f->patterns->len == 0;
}
