/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fnmatch.h>

#include "cache-files.h"
#include "conf-file.h"
#include "rules.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/string-util.h"

#include "config.h"

const char *const policy_rule_directories[] = {
        "/etc/cachebpf/policies.d",
        "/run/cachebpf/policies.d",
        PKGLIBDIR "/policies.d",
        NULL,
};

static void policy_rule_free(void *p) {
        PolicyRule *rule = p;

        strv_free(rule->units);
        strv_free(rule->cgroups);
        policy_setting_done(&rule->setting);
        free(rule);
}

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(PolicyRule *, policy_rule_free);

void policy_rules_done(PolicyRules *rules) {
        if (rules->rules)
                g_ptr_array_unref(rules->rules);
        *rules = (PolicyRules) {};
}

/* Appends the words of a value to a list of globs; an empty value empties the list. */
static void add_globs(char ***l, const char *value) {
        g_autofree char **words = strv_split(value); /* the words go into the list */
        guint n = *l ? g_strv_length(*l) : 0, n_words = g_strv_length(words);

        if (n_words == 0) {
                *l = strv_free(*l);
                return;
        }

        *l = g_renew(char *, *l, n + n_words + 1);
        memcpy(*l + n, words, (n_words + 1) * sizeof(char *));
}

static int assignment(const ConfAssignment *a, void *userdata) {
        PolicyRule *rule = ASSERT_PTR(userdata);
        _cleanup_free_ char *problem = NULL;
        bool match = streq(a->section, "Match"), policy = streq(a->section, "Policy");

        if (startswith(a->section, "X-"))
                return 0;
        if (startswith(a->key, "X-") && !policy_setting_is_key(a->key) &&
            !policy_setting_is_misspelt(a->key))
                return 0;

        if (match && streq(a->key, "Unit"))
                add_globs(&rule->units, a->value);
        else if (match && streq(a->key, "Cgroup"))
                add_globs(&rule->cgroups, a->value);
        else if (policy && cache_files_check(a->key, a->value, &problem) < 0)
                log_syntax(LOG_WARNING, a->file, a->line, "%s=: %s, ignoring the line.", a->key, problem);
        else if (policy && policy_setting_is_key(a->key))
                (void) policy_setting_assign(&rule->setting, a->key, a->value, a->file, a->line);
        else if (match || policy)
                log_syntax(LOG_WARNING, a->file, a->line, "Unknown key %s= in section [%s], ignoring.",
                           a->key, a->section);
        else
                log_syntax(LOG_WARNING, a->file, a->line, "Unknown section [%s], ignoring %s=.",
                           a->section, a->key);
        return 0;
}

/* Reads one file. Returns NULL if it holds no usable rule, which has been logged then. */
static PolicyRule *read_rule(const char *path) {
        _cleanup_(policy_rule_freep) PolicyRule *rule = NULL;
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        r = read_full_file(path, CONF_FILE_MAX, &text, &size);
        if (r < 0) {
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.config_file = path),
                                "Cannot read '%s', ignoring the file: %m", path);
                return NULL;
        }

        rule = g_new0(PolicyRule, 1);
        rule->setting.layer = POLICY_LAYER_RULE;
        (void) conf_parse_text(path, text, size, LOG_WARNING, assignment, rule);

        if (!rule->units && !rule->cgroups) {
                log_syntax(LOG_WARNING, path, 1,
                           "Neither Unit= nor Cgroup= in section [Match], ignoring the file.");
                return NULL;
        }
        if (!policy_setting_is_set(&rule->setting)) {
                log_syntax(LOG_WARNING, path, 1, "No CachePolicy= in section [Policy], nor another setting, "
                           "ignoring the file.");
                return NULL;
        }

        return TAKE_PTR(rule);
}

bool policy_rule_check_file(const char *path, PolicySetting *ret) {
        _cleanup_(policy_rule_freep) PolicyRule *rule = read_rule(path);

        if (rule)
                *ret = TAKE_STRUCT(rule->setting);
        return rule;
}

PolicyRules policy_rules_load(const char *const *dirs) {
        _cleanup_ptr_array_ GPtrArray *files = conf_files_list(dirs);
        PolicyRules rules = { .rules = g_ptr_array_new_with_free_func(policy_rule_free) };

        for (guint i = 0; i < files->len; i++) {
                PolicyRule *rule = read_rule(files->pdata[i]);

                if (!rule)
                        continue;

                rules.by_cgroup = rules.by_cgroup || rule->cgroups;
                g_ptr_array_add(rules.rules, rule);
        }

        return rules;
}

static bool match_any(char **globs, const char *s, int flags) {
        for (char **i = globs; *i; i++)
                if (fnmatch(*i, s, flags) == 0)
                        return true;

        return false;
}

/* Several globs of a key: one is enough. Both keys: both must match. */
static bool policy_rule_matches(const PolicyRule *rule, const char *unit, const char *cgroup) {
        /* Unit names contain backslashes as themselves ("\x2d"). */
        if (rule->units && !match_any(rule->units, unit, FNM_NOESCAPE))
                return false;
        /* FNM_PATHNAME: "/a.slice/" followed by an asterisk means the children, not all descendants. */
        if (rule->cgroups &&
            (isempty(cgroup) || !match_any(rule->cgroups, cgroup, FNM_NOESCAPE | FNM_PATHNAME)))
                return false;

        return true;
}

bool policy_rules_lookup(const PolicyRules *rules, const char *unit, const char *cgroup,
                         PolicySetting *ret) {
        bool found = false;

        for (guint i = 0; rules->rules && i < rules->rules->len; i++) {
                const PolicyRule *rule = rules->rules->pdata[i];

                if (policy_rule_matches(rule, unit, cgroup)) {
                        policy_setting_replace(ret, &rule->setting);
                        found = true;
                }
        }

        return found;
}
