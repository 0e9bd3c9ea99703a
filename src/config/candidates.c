/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "candidates.h"
#include "resolve.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

#include "config.h"

#define problemf(ret_problem, ...) (*(ret_problem) = g_strdup_printf(__VA_ARGS__), -EINVAL)

#define MARGIN_MAX 100

/* W-TinyLFU misses least if nothing is known, see bench/README.md; LHD and MRU are there for loops, which
 * are what the others are worst at. */
const char *const policy_candidates_default[] = {
        "wtinylfu", "s3fifo", "lru", "lhd", "mru", NULL,
};

/* Those that were compiled for it, by meson. */
static const char *const simulated[] = { SIMULATED_POLICIES, NULL };

/* What these decide by a sample does not tell: managers, names of threads, numbers of pages, files. */
static const char *const unsampled[] = { "acfs", "get-scan", "mglru", "mlcache", NULL };

static void candidate_free(void *p) {
        PolicyCandidate *c = p;

        free(c->name);
        free(c->policy);
        strv_free(c->options);
        policy_setting_done(&c->setting);
        free(c);
}

void policy_candidates_done(PolicyCandidates *c) {
        g_clear_pointer(&c->list, g_ptr_array_unref);
}

bool policy_setting_is_auto(const PolicySetting *s) {
        return streq_ptr(s->policy, POLICY_AUTO);
}

/* ---- one candidate */

/* The setting of the unit, with this policy and these options. */
static void make_setting(PolicyCandidate *c, const PolicySetting *s, const PolicyWord *from) {
        static const PolicyKey others[] = {
                POLICY_KEY_OPTIONS, POLICY_KEY_SCAN_THREADS, POLICY_KEY_FILES, POLICY_KEY_LEVELS,
                POLICY_KEY_CANDIDATES, POLICY_KEY_AUTO_MARGIN,
        };
        const char *policy = streq(c->policy, CANDIDATE_STOCK) ? CANDIDATE_STOCK_POLICY : c->policy;
        g_autofree char *options = g_strjoinv(" ", c->options);

        policy_setting_overlay(&c->setting, s);
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                policy_words_clear(c->setting.more + others[i]);
        policy_setting_imply(&c->setting, policy, from);
        if (*options)
                (void) policy_setting_assign(&c->setting, policy_setting_key_name(POLICY_KEY_OPTIONS + 1),
                                             options, from->file, from->line);
}

/* "POLICY" or "POLICY:NAME=VALUE,…" */
static PolicyCandidate *parse(const PolicySetting *s, const PolicyWord *w) {
        PolicyCandidate *c = g_new0(PolicyCandidate, 1);
        const char *colon = strchr(w->text, ':');

        c->policy = colon ? g_strndup(w->text, colon - w->text) : g_strdup(w->text);
        c->options = g_strsplit(colon ? colon + 1 : "", ",", -1);
        c->name = g_strdup(c->policy);
        for (char **i = c->options; *i; i++) {
                char *name = g_strjoin(" ", c->name, *i, NULL);

                free(c->name);
                c->name = name;
        }

        make_setting(c, s, w);
        return c;
}

static const PolicyCandidate *find_same(GPtrArray *list, const PolicyCandidate *c) {
        for (guint i = 0; i < list->len; i++) {
                const PolicyCandidate *other = list->pdata[i];

                if (streq(other->name, c->name))
                        return other;
        }

        return NULL;
}

static int check(const PolicyCandidate *c, const PolicyWord *w, GPtrArray *policies,
                 const char *const *dirs, char **ret_problem) {
        _cleanup_policy_config_ PolicyConfig config = {};
        const Policy *p;

        if (streq(c->policy, POLICY_AUTO))
                return problemf(ret_problem, "'%s' (" SOURCE_FORMAT ") cannot be a candidate of itself",
                                w->text, SOURCE_ARGUMENTS(w->file, w->line));
        if (streq(c->policy, CANDIDATE_STOCK) && strchr(w->text, ':'))
                return problemf(ret_problem, "'%s' (" SOURCE_FORMAT "): the stock policy has no options",
                                w->text, SOURCE_ARGUMENTS(w->file, w->line));
        if ((strchr(w->text, ':') && !*c->options) ||
            g_strv_contains((const char *const *) c->options, ""))
                return problemf(ret_problem, "'%s' (" SOURCE_FORMAT "): after each colon and comma an "
                                "option is wanted, as NAME=VALUE", w->text,
                                SOURCE_ARGUMENTS(w->file, w->line));
        if (policy_setting_check(&c->setting, policies, dirs, &p, &config, ret_problem) < 0)
                return -EINVAL;
        if (!g_strv_contains(simulated, p->name))
                return problemf(ret_problem, "policy '%s' (" SOURCE_FORMAT ") cannot be a candidate: the "
                                "simulator does not have it", p->name,
                                SOURCE_ARGUMENTS(w->file, w->line));
        if (g_strv_contains(unsampled, p->name))
                return problemf(ret_problem, "policy '%s' (" SOURCE_FORMAT ") cannot be a candidate: a "
                                "sample of pages does not tell what it decides by", p->name,
                                SOURCE_ARGUMENTS(w->file, w->line));
        return 0;
}

/* ---- all of them */

static int add(const PolicySetting *s, const PolicyWord *w, bool optional, GPtrArray *policies,
               const char *const *dirs, GPtrArray *list, char **ret_problem) {
        PolicyCandidate *c = parse(s, w);
        int r;

        r = check(c, w, policies, dirs, ret_problem);
        if (r < 0 && optional)
                *ret_problem = mfree(*ret_problem);
        else if (r >= 0 && find_same(list, c) && !streq(c->policy, CANDIDATE_STOCK))
                r = problemf(ret_problem, "candidate '%s' (" SOURCE_FORMAT ") is there twice", w->text,
                             SOURCE_ARGUMENTS(w->file, w->line));
        else if (r >= 0 && list->len >= CANDIDATES_MAX && !find_same(list, c))
                r = problemf(ret_problem, "'%s' (" SOURCE_FORMAT ") is more than the %u candidates that "
                             "there can be, '" CANDIDATE_STOCK "' among them", w->text,
                             SOURCE_ARGUMENTS(w->file, w->line), CANDIDATES_MAX);

        if (r >= 0 && !find_same(list, c)) {
                g_ptr_array_add(list, c);
                return 0;
        }
        candidate_free(c);
        return optional ? 0 : r;
}

/* The stock policy is always one of them, and the first. */
static int add_all(const PolicySetting *s, GPtrArray *policies, const char *const *dirs, GPtrArray *list,
                   char **ret_problem) {
        const PolicyWords *words = s->more + POLICY_KEY_CANDIDATES;
        PolicyWord w = { .text = (char *) CANDIDATE_STOCK, .file = s->file, .line = s->line };
        int r;

        r = add(s, &w, /* optional= */ false, policies, dirs, list, ret_problem);
        for (guint i = 0; r >= 0 && i < policy_words_count(words); i++)
                r = add(s, policy_words_get(words, i), /* optional= */ false, policies, dirs, list,
                        ret_problem);

        for (size_t i = 0; r >= 0 && policy_words_count(words) == 0 && policy_candidates_default[i]; i++) {
                w.text = (char *) policy_candidates_default[i];
                r = add(s, &w, /* optional= */ true, policies, dirs, list, ret_problem);
        }

        return r;
}

/* The first that is named; without names, of the default ones that there are. */
static guint find_first(const PolicySetting *s, const GPtrArray *list) {
        const PolicyWords *words = s->more + POLICY_KEY_CANDIDATES;

        if (list->len == 1 ||
            (policy_words_count(words) > 0 && streq(policy_words_get(words, 0)->text, CANDIDATE_STOCK)))
                return 0;
        return 1;
}

/* What is for one policy, and cannot be for several. As elsewhere, what a weaker layer says of files is for
 * what the unit has as a manager. */
static int check_others(const PolicySetting *s, char **ret_problem) {
        static const PolicyKey keys[] = {
                POLICY_KEY_OPTIONS, POLICY_KEY_SCAN_THREADS, POLICY_KEY_FILES, POLICY_KEY_LEVELS,
        };

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                const PolicyWords *words = s->more + keys[i];
                const char *key = policy_setting_key_name(keys[i] + 1);
                const PolicyWord *w;

                if (policy_words_count(words) == 0 ||
                    ((keys[i] == POLICY_KEY_FILES || keys[i] == POLICY_KEY_LEVELS) &&
                     policy_setting_get_layer(s, key) <
                             policy_setting_get_layer(s, policy_setting_key_name(0))))
                        continue;

                w = policy_words_get(words, 0);
                return problemf(ret_problem, "policy '" POLICY_AUTO "' takes no %s= (" SOURCE_FORMAT ")%s",
                                key, SOURCE_ARGUMENTS(w->file, w->line),
                                keys[i] == POLICY_KEY_OPTIONS ?
                                "; CacheCandidates=POLICY:NAME=VALUE gives options to a candidate" : "");
        }

        return 0;
}

static int parse_margin(const PolicySetting *s, double *ret, char **ret_problem) {
        const PolicyWords *words = s->more + POLICY_KEY_AUTO_MARGIN;
        const PolicyWord *w;
        double margin;
        char *end;

        *ret = AUTO_MARGIN_DEFAULT;
        if (policy_words_count(words) == 0)
                return 0;

        w = policy_words_get(words, policy_words_count(words) - 1);
        margin = g_ascii_strtod(w->text, &end);
        if (policy_words_count(words) > 1 || end == w->text || *end ||
            !(margin >= 0 && margin <= MARGIN_MAX))
                return problemf(ret_problem, "'%s' (" SOURCE_FORMAT "): CacheAutoMargin= takes a number of "
                                "percent from 0 to %i", w->text, SOURCE_ARGUMENTS(w->file, w->line),
                                MARGIN_MAX);

        *ret = margin;
        return 0;
}

int policy_candidates_make(const PolicySetting *s, GPtrArray *policies, const char *const *dirs,
                           PolicyCandidates *ret, char **ret_problem) {
        _cleanup_policy_candidates_ PolicyCandidates c = {
                .list = g_ptr_array_new_with_free_func(candidate_free),
        };
        int r;

        assert(s);
        assert(ret);
        assert(ret_problem);

        r = check_others(s, ret_problem);
        if (r >= 0)
                r = parse_margin(s, &c.margin, ret_problem);
        if (r >= 0)
                r = add_all(s, policies, dirs, c.list, ret_problem);
        if (r < 0)
                return r;

        c.first = find_first(s, c.list);
        *ret = TAKE_STRUCT(c);
        return 0;
}

bool policy_candidates_equal(const PolicyCandidates *a, const PolicyCandidates *b) {
        if (!a->list || !b->list || a->list->len != b->list->len || a->margin != b->margin ||
            a->first != b->first)
                return false;

        for (guint i = 0; i < a->list->len; i++) {
                const PolicyCandidate *x = a->list->pdata[i], *y = b->list->pdata[i];

                if (!streq(x->name, y->name) || !policy_setting_equal(&x->setting, &y->setting))
                        return false;
        }

        return true;
}

int policy_setting_check_all(const PolicySetting *s, GPtrArray *policies, const char *const *dirs,
                             char **ret_problem) {
        _cleanup_policy_candidates_ PolicyCandidates c = {};
        _cleanup_policy_config_ PolicyConfig config = {};
        const Policy *p;

        return policy_setting_is_auto(s) ? policy_candidates_make(s, policies, dirs, &c, ret_problem) :
                policy_setting_check(s, policies, dirs, &p, &config, ret_problem);
}
