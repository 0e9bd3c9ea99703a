/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <unistd.h>

#include "policy-config.h"
#include "shared/cleanup.h"
#include "shared/readahead-setting.h"
#include "shared/string-util.h"
#include "shared/thread-class.h"

#define problemf(ret_problem, ...) (*(ret_problem) = g_strdup_printf(__VA_ARGS__), -EINVAL)

void policy_config_done(PolicyConfig *c) {
        if (c->values)
                g_array_unref(c->values);
        strv_free(c->scan_threads);
        *c = (PolicyConfig) {};
}

/* ---- tunables */

static int unknown_tunable(const Policy *p, const char *name, const PolicyWord *w, char **ret_problem) {
        _cleanup_gstring_ GString *names = g_string_new(NULL);

        for (guint i = 0; i < p->tunables->len; i++)
                g_string_append_printf(names, "%s%s", i > 0 ? ", " : "",
                                       g_array_index(p->tunables, PolicyTunable, i).name);

        return problemf(ret_problem, "policy '%s' has no tunable '%s' (" SOURCE_FORMAT "); it has %s",
                        p->name, name, SOURCE_ARGUMENTS(w->file, w->line),
                        names->len > 0 ? names->str : "none");
}

/* What a tunable takes: its range, or what its type can hold. */
static void tunable_range(const PolicyTunable *t, int64_t *ret_min, int64_t *ret_max) {
        unsigned bits = t->size * 8 - t->is_signed;

        *ret_max = t->has_range ? t->max : bits >= 63 ? INT64_MAX : (INT64_C(1) << bits) - 1;
        *ret_min = t->has_range ? t->min : !t->is_signed ? 0 : bits >= 63 ? INT64_MIN :
                                                                            -(INT64_C(1) << bits);
}

static void set_value(PolicyConfig *c, const PolicyTunable *t, int64_t value) {
        PolicyValue v = {
                .tunable = t,
                .value = value,
        };

        if (!c->values)
                c->values = g_array_new(FALSE, FALSE, sizeof(PolicyValue));

        /* The last assignment wins. */
        for (guint i = 0; i < c->values->len; i++)
                if (g_array_index(c->values, PolicyValue, i).tunable == t)
                        g_array_remove_index(c->values, i--);

        if (value != t->default_value)
                g_array_append_val(c->values, v);
}

static int add_option(const Policy *p, const PolicyWord *w, PolicyConfig *c, char **ret_problem) {
        const char *equals = strchr(w->text, '=');
        g_autofree char *name = NULL;
        const PolicyTunable *t;
        int64_t value, min, max;

        if (!equals || equals == w->text)
                return problemf(ret_problem, "'%s' (" SOURCE_FORMAT ") is no option, which is NAME=VALUE",
                                w->text, SOURCE_ARGUMENTS(w->file, w->line));

        name = g_strndup(w->text, equals - w->text);
        t = policy_find_tunable(p, name);
        if (!t)
                return unknown_tunable(p, name, w, ret_problem);

        tunable_range(t, &min, &max);
        if (safe_atoi64(equals + 1, &value) < 0 || value < min || value > max)
                return problemf(ret_problem,
                                "'%s' (" SOURCE_FORMAT "): tunable '%s' of policy '%s' takes a number "
                                "from %" PRIi64 " to %" PRIi64 "%s%s%s", w->text,
                                SOURCE_ARGUMENTS(w->file, w->line), name, p->name, min, max,
                                t->unit ? " (" : "", strempty(t->unit), t->unit ? ")" : "");

        set_value(c, t, value);
        return 0;
}

/* ---- threads */

static int add_glob(const Policy *p, const PolicyWord *w, guint i, PolicyConfig *c, char **ret_problem) {
        if (p->n_globs == 0)
                return problemf(ret_problem, "policy '%s' does not tell threads by their names, as '%s' "
                                             "(" SOURCE_FORMAT ") asks for", p->name, w->text,
                                             SOURCE_ARGUMENTS(w->file, w->line));
        if (i >= p->n_globs)
                return problemf(ret_problem,
                                "'%s' (" SOURCE_FORMAT ") is more than the %u patterns that policy '%s' "
                                "has room for", w->text,
                                SOURCE_ARGUMENTS(w->file, w->line), p->n_globs, p->name);

        if (strlen(w->text) >= p->glob_size)
                return problemf(ret_problem,
                                "the pattern '%s' (" SOURCE_FORMAT ") is longer than the %zu characters "
                                "that a thread's name can have", w->text,
                                SOURCE_ARGUMENTS(w->file, w->line), p->glob_size - 1);

        c->scan_threads[i] = g_strdup(w->text);
        return 0;
}

static int add_globs(const Policy *p, const PolicyWords *words, PolicyConfig *c, char **ret_problem) {
        guint n = policy_words_count(words);

        if (n == 0)
                return 0;

        c->scan_threads = g_new0(char *, n + 1);
        for (guint i = 0; i < n; i++) {
                int r = add_glob(p, policy_words_get(words, i), i, c, ret_problem);

                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- admission */

bool policy_setting_wants_filter(const PolicySetting *s) {
        const PolicyWords *w = s->more + POLICY_KEY_ADMISSION;

        return policy_words_count(w) > 1 ||
                (policy_words_count(w) == 1 && parse_boolean(policy_words_get(w, 0)->text) != 0);
}

static int set_filter(const Policy *p, const PolicySetting *s, PolicyConfig *c, char **ret_problem) {
        const PolicyWords *words = s->more + POLICY_KEY_ADMISSION;
        const PolicyWord *w;

        if (!policy_setting_wants_filter(s))
                return 0;

        c->filter = true;
        w = policy_words_get(words, 0);
        if (!p->filters)
                return problemf(ret_problem,
                                "policy '%s' has no admission filter, which '%s' (" SOURCE_FORMAT ") "
                                "asks for", p->name, w->text, SOURCE_ARGUMENTS(w->file, w->line));

        if (policy_words_count(words) == 1 && parse_boolean(w->text) > 0)
                return 0;

        for (guint i = 0; i < policy_words_count(words); i++) {
                ThreadClass class;

                w = policy_words_get(words, i);
                class = thread_class_from_string(w->text);
                if (class < 0)
                        return problemf(ret_problem,
                                        "'%s' (" SOURCE_FORMAT ") is neither yes nor no nor a class of "
                                        "threads, such as 'scan' or 'background'", w->text,
                                        SOURCE_ARGUMENTS(w->file, w->line));
                c->reject_classes |= 1U << class;
        }

        return 0;
}

/* ---- readahead */

bool policy_setting_wants_readahead(const PolicySetting *s) {
        const PolicyWords *w = s->more + POLICY_KEY_READAHEAD;

        return policy_words_count(w) > 1 ||
                (policy_words_count(w) == 1 && !streq(policy_words_get(w, 0)->text, "stock"));
}

static int set_readahead(const Policy *p, const PolicySetting *s, PolicyConfig *c, char **ret_problem) {
        const PolicyWords *words = s->more + POLICY_KEY_READAHEAD;
        const PolicyWord *w;

        if (!policy_setting_wants_readahead(s))
                return 0;

        w = policy_words_get(words, policy_words_count(words) - 1);
        if (policy_words_count(words) > 1 ||
            readahead_setting_from_string(w->text, sysconf(_SC_PAGESIZE), &c->readahead) < 0)
                return problemf(ret_problem,
                                "'%s' (" SOURCE_FORMAT ") is neither stock, adaptive nor off nor a multiple "
                                "of the page size from 4K to 2M", w->text,
                                SOURCE_ARGUMENTS(w->file, w->line));
        if (!p->plans)
                return problemf(ret_problem,
                                "policy '%s' does not take settings for readahead, such as '%s' "
                                "(" SOURCE_FORMAT ")", p->name, w->text,
                                SOURCE_ARGUMENTS(w->file, w->line));

        c->plans = true;
        return 0;
}

/* ---- yes or no */

static bool is_yes(const PolicyWords *w) {
        return policy_words_count(w) == 1 && parse_boolean(policy_words_get(w, 0)->text) > 0;
}

bool policy_setting_wants_learning(const PolicySetting *s) {
        const PolicyWords *w = s->more + POLICY_KEY_LEARNING;

        return policy_words_count(w) == 0 || is_yes(w);
}

bool policy_setting_wants_replay(const PolicySetting *s) {
        const PolicyWords *w = s->more + POLICY_KEY_REPLAY;

        return policy_words_count(w) > 1 ||
                (policy_words_count(w) == 1 && parse_boolean(policy_words_get(w, 0)->text) != 0);
}

static int check_boolean(const PolicyWords *words, char **ret_problem) {
        const PolicyWord *w;

        if (policy_words_count(words) == 0)
                return 0;

        w = policy_words_get(words, policy_words_count(words) - 1);
        if (policy_words_count(words) == 1 && parse_boolean(w->text) >= 0)
                return 0;

        return problemf(ret_problem, "'%s' (" SOURCE_FORMAT ") is neither yes nor no", w->text,
                        SOURCE_ARGUMENTS(w->file, w->line));
}

int policy_setting_check_replay(const PolicySetting *s, char **ret_problem) {
        return check_boolean(s->more + POLICY_KEY_REPLAY, ret_problem);
}

/* ---- files */

/* They are told to the policy when it runs, and are no part of its configuration. Who gave a manager another
 * policy of its own, in a stronger layer, did not ask for what it had as a manager. */
static int check_listens(const Policy *p, const PolicySetting *s, char **ret_problem) {
        static const PolicyKey keys[] = { POLICY_KEY_FILES, POLICY_KEY_LEVELS };

        for (size_t i = 0; !p->listens && i < ELEMENTSOF(keys); i++)
                if (policy_words_count(s->more + keys[i]) > 0 &&
                    policy_setting_get_layer(s, policy_setting_key_name(keys[i] + 1)) >=
                            policy_setting_get_layer(s, policy_setting_key_name(0))) {
                        const PolicyWord *w = policy_words_get(s->more + keys[i], 0);

                        return problemf(ret_problem, "policy '%s' has no levels for files, which %s= "
                                        "(" SOURCE_FORMAT ") is about", p->name,
                                        policy_setting_key_name(keys[i] + 1),
                                        SOURCE_ARGUMENTS(w->file, w->line));
                }

        return 0;
}

/* ---- all of it */

static int compare_values(gconstpointer a, gconstpointer b) {
        return strcmp(((const PolicyValue *) a)->tunable->name, ((const PolicyValue *) b)->tunable->name);
}

static void set_fingerprint(const Policy *p, PolicyConfig *c) {
        _cleanup_gstring_ GString *s = g_string_new(p->digest);
        g_autofree char *sum = NULL;

        if (c->values)
                g_array_sort(c->values, compare_values);
        for (guint i = 0; c->values && i < c->values->len; i++) {
                const PolicyValue *v = &g_array_index(c->values, PolicyValue, i);

                g_string_append_printf(s, "%s=%" PRIi64 "\n", v->tunable->name, v->value);
        }
        for (char **i = c->scan_threads; i && *i; i++)
                g_string_append_printf(s, "scan %s\n", *i);
        if (c->filter)
                g_string_append_printf(s, "admission %" PRIx32 "\n", c->reject_classes);

        if (c->plans)
                g_string_append_printf(s, "readahead %" PRIx32 "\n", c->readahead);

        if (s->len == 0)
                return;

        sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, s->str, s->len);
        memcpy(c->fingerprint, sum, POLICY_FINGERPRINT_LENGTH);
}

int policy_config_make(const Policy *p, const PolicySetting *s, PolicyConfig *ret, char **ret_problem) {
        const PolicyWords *options = s->more + POLICY_KEY_OPTIONS;
        _cleanup_policy_config_ PolicyConfig c = {};
        int r = 0;

        assert(p);
        assert(s);
        assert(ret);
        assert(ret_problem);

        for (guint i = 0; r >= 0 && i < policy_words_count(options); i++)
                r = add_option(p, policy_words_get(options, i), &c, ret_problem);
        if (r >= 0)
                r = add_globs(p, s->more + POLICY_KEY_SCAN_THREADS, &c, ret_problem);
        if (r >= 0)
                r = set_filter(p, s, &c, ret_problem);
        if (r >= 0)
                r = set_readahead(p, s, &c, ret_problem);
        if (r >= 0)
                r = check_listens(p, s, ret_problem);
        if (r >= 0) /* for all policies: those that learn nothing have nothing to keep */
                r = check_boolean(s->more + POLICY_KEY_LEARNING, ret_problem);
        if (r >= 0)
                r = policy_setting_check_replay(s, ret_problem);
        if (r < 0)
                return r;

        set_fingerprint(p, &c);
        *ret = TAKE_STRUCT(c);
        return 0;
}
