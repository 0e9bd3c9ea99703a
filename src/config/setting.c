/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "setting.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

static const char policy_key[] = "CachePolicy";

static const struct {
        const char *name;
        bool replaces; /* an assignment takes the place of the one before, instead of adding to it */
} keys[_POLICY_KEY_MAX] = {
        [POLICY_KEY_OPTIONS] = { "CachePolicyOptions" },
        [POLICY_KEY_SCAN_THREADS] = { "CacheScanThreads" },
        [POLICY_KEY_ADMISSION] = { "CacheAdmission", .replaces = true },
        [POLICY_KEY_READAHEAD] = { "CacheReadahead", .replaces = true },
        [POLICY_KEY_FILES] = { "CacheFiles" },
        [POLICY_KEY_LEVELS] = { "CacheLevel" },
        [POLICY_KEY_LEARNING] = { "CacheLearning", .replaces = true },
        [POLICY_KEY_REPLAY] = { "CacheReplay", .replaces = true },
        [POLICY_KEY_CANDIDATES] = { "CacheCandidates" },
        [POLICY_KEY_AUTO_MARGIN] = { "CacheAutoMargin", .replaces = true },
};

static const char *const layer_table[_POLICY_LAYER_MAX] = {
        [POLICY_LAYER_RULE] = "rule",
        [POLICY_LAYER_UNIT] = "unit",
        [POLICY_LAYER_PERSISTENT] = "persistent",
        [POLICY_LAYER_RUNTIME] = "runtime",
        [POLICY_LAYER_HOLD] = "hold",
};

const char *policy_layer_to_string(PolicyLayer layer) {
        return layer_table[layer];
}

const char *policy_setting_key_name(guint i) {
        return i == 0 ? policy_key : i <= _POLICY_KEY_MAX ? keys[i - 1].name : NULL;
}

int policy_setting_find_key(const char *key) {
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
        return is_policy_key(key) || policy_setting_find_key(key) >= 0;
}

/* A key, or a line that begins with one. */
static bool begins_as_ours(const char *s) {
        s = startswith(startswith(s, "X-") ?: s, "Cache");
        return s && !startswith(s, "Directory");
}

bool policy_setting_is_misspelt(const char *key) {
        return begins_as_ours(key) && !policy_setting_is_key(key);
}

static bool has_line_as_ours(const char *text, size_t size) {
        const char *line = text, *end = text + size, *newline;

        do {
                if (begins_as_ours(line + strspn(line, " \t")))
                        return true;
                newline = memchr(line, '\n', end - line);
                line = newline ? newline + 1 : end;
        } while (newline);

        return false;
}

bool policy_setting_is_mentioned(const char *text, size_t size) {
        if (memmem(text, size, policy_key, STRLEN("CachePolicy")))
                return true;

        for (int i = 0; i < _POLICY_KEY_MAX; i++)
                if (memmem(text, size, keys[i].name, strlen(keys[i].name)))
                        return true;

        return has_line_as_ours(text, size);
}

/* ---- words */

static void word_clear(void *p) {
        PolicyWord *w = p;

        free(w->text);
        free(w->file);
}

void policy_words_clear(PolicyWords *w) {
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

char **policy_words_get_texts(const PolicyWords *w) {
        char **texts = g_new0(char *, policy_words_count(w) + 1);

        for (guint i = 0; i < policy_words_count(w); i++)
                texts[i] = policy_words_get(w, i)->text;
        return texts;
}

static void words_add(PolicyWords *w, const char *text, const char *file, unsigned line) {
        PolicyWord word = {
                .text = g_strdup(text),
                .file = g_strdup(file),
                .line = line,
        };

        if (!w->words) {
                w->words = g_array_new(FALSE, FALSE, sizeof(PolicyWord));
                g_array_set_clear_func(w->words, word_clear);
        }
        g_array_append_val(w->words, word);
}

static void words_copy(PolicyWords *dest, const PolicyWords *src) {
        policy_words_clear(dest);
        dest->set = src->set;

        for (guint i = 0; i < policy_words_count(src); i++) {
                const PolicyWord *w = policy_words_get(src, i);

                words_add(dest, w->text, w->file, w->line);
        }
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

static void words_assign(PolicyWords *w, bool replaces, const char *value, const char *file, unsigned line) {
        _cleanup_strv_free_ char **l = ASSERT_PTR(strv_split(value));

        if (replaces || isempty(value))
                policy_words_clear(w);
        w->set = true;

        for (char **i = l; *i; i++)
                words_add(w, *i, file, line);
}

/* ---- lines */

static void line_free(void *p) {
        PolicyLine *l = p;

        free(l->value);
        free(l->file);
        free(l);
}

static void lines_add(PolicySetting *s, const PolicyLine *line) {
        PolicyLine *l = g_memdup2(line, sizeof(PolicyLine));

        l->value = g_strdup(line->value);
        l->file = g_strdup(line->file);

        if (!s->lines)
                s->lines = g_ptr_array_new_with_free_func(line_free);
        g_ptr_array_add(s->lines, l);
}

guint policy_setting_count_lines(const PolicySetting *s) {
        return s->lines ? s->lines->len : 0;
}

const PolicyLine *policy_setting_get_line(const PolicySetting *s, guint i) {
        return s->lines->pdata[i];
}

PolicyLayer policy_setting_get_layer(const PolicySetting *s, const char *key) {
        PolicyLayer layer = POLICY_LAYER_RULE;

        for (guint i = 0; i < policy_setting_count_lines(s); i++)
                if (streq(policy_setting_get_line(s, i)->key, key))
                        layer = policy_setting_get_line(s, i)->layer;

        return layer;
}

char **policy_setting_get_assignments(const PolicySetting *s) {
        char **l = g_new0(char *, policy_setting_count_lines(s) + 1);

        for (guint i = 0; i < policy_setting_count_lines(s); i++)
                l[i] = g_strdup_printf("%s=%s", policy_setting_get_line(s, i)->key,
                                       policy_setting_get_line(s, i)->value);
        return l;
}

/* No assignment to the key follows. */
static bool is_last_of_key(const PolicySetting *s, const PolicyLine *line) {
        for (guint i = policy_setting_count_lines(s); i > 0; i--) {
                const PolicyLine *l = policy_setting_get_line(s, i - 1);

                if (l->key == line->key)
                        return l == line;
        }

        return false;
}

bool policy_setting_line_counts(const PolicySetting *s, const PolicyLine *line) {
        int k = policy_setting_find_key(line->key);
        const PolicyWords *w;

        if (k < 0)
                return s->set && streq_ptr(s->file, line->file) && s->line == line->line;

        w = s->more + k;
        for (guint i = 0; i < policy_words_count(w); i++)
                if (policy_words_get(w, i)->line == line->line &&
                    streq(policy_words_get(w, i)->file, line->file))
                        return true;

        /* An empty value leaves no words, and so does what was there before it. */
        return w->set && policy_words_count(w) == 0 && is_last_of_key(s, line);
}

/* ---- settings */

void policy_setting_clear_policy(PolicySetting *s) {
        s->policy = mfree(s->policy);
        s->file = mfree(s->file);
        s->line = 0;
        s->set = false;
}

/* All but the lines. */
static void clear_values(PolicySetting *s) {
        policy_setting_clear_policy(s);
        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++)
                policy_words_clear(s->more + k);
}

void policy_setting_done(PolicySetting *s) {
        clear_values(s);
        if (s->lines)
                g_ptr_array_unref(s->lines);
        *s = (PolicySetting) {};
}

static void assign_policy(PolicySetting *s, const char *value, const char *file, unsigned line) {
        g_set_str(&s->policy, empty_to_null(value));
        g_set_str(&s->file, file);
        s->line = line;
        s->set = true;
}

void policy_setting_imply(PolicySetting *s, const char *policy, const PolicyWord *from) {
        assign_policy(s, policy, from->file, from->line);
}

int policy_setting_assign(PolicySetting *s, const char *key, const char *value, const char *file,
                          unsigned line) {
        int k = policy_setting_find_key(key);

        if (k < 0 && !is_policy_key(key))
                return k;

        lines_add(s, &(const PolicyLine) {
                             .layer = s->layer,
                             .key = k < 0 ? policy_key : keys[k].name,
                             .value = (char *) value,
                             .file = (char *) file,
                             .line = line,
                     });

        if (k < 0)
                assign_policy(s, value, file, line);
        else
                words_assign(s->more + k, keys[k].replaces, value, file, line);
        return 0;
}

bool policy_setting_is_set(const PolicySetting *s) {
        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++)
                if (s->more[k].set)
                        return true;

        return s->set;
}

char *policy_setting_get_value(const PolicySetting *s, guint i) {
        g_autofree char **texts = NULL;

        if (i == 0)
                return s->set ? g_strdup(strempty(s->policy)) : NULL;
        if (!s->more[i - 1].set)
                return NULL;

        texts = policy_words_get_texts(s->more + i - 1);
        return g_strjoinv(" ", texts);
}

void policy_setting_overlay(PolicySetting *dest, const PolicySetting *stronger) {
        for (guint i = 0; i < policy_setting_count_lines(stronger); i++)
                lines_add(dest, policy_setting_get_line(stronger, i));

        if (stronger->set) {
                policy_words_clear(dest->more + POLICY_KEY_OPTIONS);
                if (dest->set && !streq_ptr(dest->policy, stronger->policy)) {
                        policy_words_clear(dest->more + POLICY_KEY_FILES);
                        policy_words_clear(dest->more + POLICY_KEY_LEVELS);
                }
                assign_policy(dest, stronger->policy, stronger->file, stronger->line);
        }

        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++)
                if (stronger->more[k].set)
                        words_copy(dest->more + k, stronger->more + k);
}

void policy_setting_replace(PolicySetting *dest, const PolicySetting *stronger) {
        clear_values(dest);
        policy_setting_overlay(dest, stronger);
}

bool policy_setting_equal(const PolicySetting *a, const PolicySetting *b) {
        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++)
                if (!words_equal(a->more + k, b->more + k))
                        return false;

        return a->set == b->set && a->line == b->line && streq_ptr(a->policy, b->policy) &&
                streq_ptr(a->file, b->file);
}
