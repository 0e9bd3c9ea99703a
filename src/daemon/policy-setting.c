/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cleanup.h"
#include "policy-setting.h"
#include "string-util.h"

static const char policy_key[] = "CachePolicy";

static const struct {
        const char *name;
        bool replaces; /* an assignment takes the place of the one before, instead of adding to it */
} keys[_POLICY_KEY_MAX] = {
        [POLICY_KEY_OPTIONS] = { "CachePolicyOptions" },
        [POLICY_KEY_SCAN_THREADS] = { "CacheScanThreads" },
        [POLICY_KEY_ADMISSION] = { "CacheAdmission", .replaces = true },
};

static int find_key(const char *key) {
        key = startswith(key, "X-") ?: key;

        for (int i = 0; i < _POLICY_KEY_MAX; i++)
                if (streq(key, keys[i].name))
                        return i;

        return -ENOENT;
}

static bool is_policy_key(const char *key) {
        return streq(startswith(key, "X-") ?: key, policy_key);
}

bool policy_setting_is_key(const char *key) {
        return is_policy_key(key) || find_key(key) >= 0;
}

bool policy_setting_is_mentioned(const char *text, size_t size) {
        if (memmem(text, size, policy_key, STRLEN("CachePolicy")))
                return true;

        for (int i = 0; i < _POLICY_KEY_MAX; i++)
                if (memmem(text, size, keys[i].name, strlen(keys[i].name)))
                        return true;

        return false;
}

/* ---- words */

static void word_clear(void *p) {
        PolicyWord *w = p;

        free(w->text);
        free(w->file);
}

static void words_done(PolicyWords *w) {
        if (w->words)
                g_array_unref(w->words);
        *w = (PolicyWords) {};
}

guint policy_words_count(const PolicyWords *w) {
        return w->words ? w->words->len : 0;
}

const PolicyWord *policy_words_get(const PolicyWords *w, guint i) {
        return &g_array_index(w->words, PolicyWord, i);
}

static int words_add(PolicyWords *w, const char *text, const char *file, unsigned line) {
        PolicyWord word = {
                .text = strdup(text),
                .file = strdup(file),
                .line = line,
        };

        if (!word.text || !word.file) {
                word_clear(&word);
                return -ENOMEM;
        }

        if (!w->words) {
                w->words = g_array_new(FALSE, FALSE, sizeof(PolicyWord));
                g_array_set_clear_func(w->words, word_clear);
        }
        g_array_append_val(w->words, word);
        return 0;
}

static int words_copy(PolicyWords *dest, const PolicyWords *src) {
        words_done(dest);
        dest->set = src->set;

        for (guint i = 0; i < policy_words_count(src); i++) {
                const PolicyWord *w = policy_words_get(src, i);
                int r;

                r = words_add(dest, w->text, w->file, w->line);
                if (r < 0)
                        return r;
        }

        return 0;
}

static bool words_equal(const PolicyWords *a, const PolicyWords *b) {
        if (a->set != b->set || policy_words_count(a) != policy_words_count(b))
                return false;

        for (guint i = 0; i < policy_words_count(a); i++) {
                const PolicyWord *x = policy_words_get(a, i), *y = policy_words_get(b, i);

                if (!streq(x->text, y->text) || !streq(x->file, y->file) || x->line != y->line)
                        return false;
        }

        return true;
}

static int words_assign(PolicyWords *w, bool replaces, const char *value, const char *file, unsigned line) {
        _cleanup_strv_free_ char **l = NULL;
        int r;

        if (replaces || isempty(value))
                words_done(w);
        w->set = true;

        l = strv_split(value);
        if (!l)
                return -ENOMEM;

        for (char **i = l; *i; i++) {
                r = words_add(w, *i, file, line);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- settings */

void policy_setting_done(PolicySetting *s) {
        free(s->policy);
        free(s->file);
        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++)
                words_done(s->more + k);
        *s = (PolicySetting) {};
}

static int assign_policy(PolicySetting *s, const char *value, const char *file, unsigned line) {
        int r;

        r = free_and_strdup(&s->policy, empty_to_null(value));
        if (r < 0)
                return r;

        r = free_and_strdup(&s->file, file);
        if (r < 0)
                return r;

        s->line = line;
        s->set = true;
        return 0;
}

int policy_setting_assign(PolicySetting *s, const char *key, const char *value, const char *file, unsigned line) {
        int k;

        if (is_policy_key(key))
                return assign_policy(s, value, file, line);

        k = find_key(key);
        return k < 0 ? k : words_assign(s->more + k, keys[k].replaces, value, file, line);
}

bool policy_setting_is_set(const PolicySetting *s) {
        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++)
                if (s->more[k].set)
                        return true;

        return s->set;
}

int policy_setting_overlay(PolicySetting *dest, const PolicySetting *stronger) {
        int r;

        if (stronger->set) {
                policy_setting_done(dest);
                r = assign_policy(dest, stronger->policy, stronger->file, stronger->line);
                if (r < 0)
                        return r;
        }

        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++) {
                if (!stronger->more[k].set)
                        continue;

                r = words_copy(dest->more + k, stronger->more + k);
                if (r < 0)
                        return r;
        }

        return 0;
}

int policy_setting_copy(PolicySetting *dest, const PolicySetting *src) {
        policy_setting_done(dest);
        return policy_setting_overlay(dest, src);
}

bool policy_setting_equal(const PolicySetting *a, const PolicySetting *b) {
        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++)
                if (!words_equal(a->more + k, b->more + k))
                        return false;

        return a->set == b->set && a->line == b->line && streq_ptr(a->policy, b->policy) &&
                streq_ptr(a->file, b->file);
}
