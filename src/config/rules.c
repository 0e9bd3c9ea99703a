/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fnmatch.h>

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

static PolicyRule *policy_rule_free(PolicyRule *rule) {
        if (!rule)
                return NULL;

        strv_free(rule->units);
        strv_free(rule->cgroups);
        policy_setting_done(&rule->setting);
        return mfree(rule);
}

DEFINE_TRIVIAL_CLEANUP_FUNC(PolicyRule *, policy_rule_free);

static void policy_rule_destroy(void *p) {
        policy_rule_free(p);
}

void policy_rules_done(PolicyRules *rules) {
        if (rules->rules)
                g_ptr_array_unref(rules->rules);
        *rules = (PolicyRules) {};
}

/* Appends the words of a value to a list of globs; an empty value empties the list. */
static int add_globs(char ***l, const char *value) {
        _cleanup_strv_free_ char **words = NULL;
        char **t;
        guint n;

        if (isempty(value)) {
                *l = strv_free(*l);
                return 0;
        }

        words = strv_split(value);
        if (!words)
                return -ENOMEM;

        n = *l ? g_strv_length(*l) : 0;
        t = reallocarray(*l, n + g_strv_length(words) + 1, sizeof(char *));
        if (!t)
                return -ENOMEM;
        *l = t;

        memcpy(t + n, words, (g_strv_length(words) + 1) * sizeof(char *));
        words[0] = NULL;
        return 0;
}

static int assignment(const ConfAssignment *a, void *userdata) {
        PolicyRule *rule = ASSERT_PTR(userdata);

        if (startswith(a->section, "X-"))
                return 0;
        if (startswith(a->key, "X-") && !policy_setting_is_key(a->key) &&
            !policy_setting_is_misspelt(a->key))
                return 0;

        if (streq(a->section, "Match")) {
                if (streq(a->key, "Unit"))
                        return add_globs(&rule->units, a->value);
                if (streq(a->key, "Cgroup"))
                        return add_globs(&rule->cgroups, a->value);
        } else if (streq(a->section, "Policy")) {
                if (policy_setting_is_key(a->key))
                        return policy_setting_assign(&rule->setting, a->key, a->value, a->file, a->line);
        } else {
                log_syntax(LOG_WARNING, a->file, a->line, "Unknown section [%s], ignoring %s=.",
                           a->section, a->key);
                return 0;
        }

        log_syntax(LOG_WARNING, a->file, a->line, "Unknown key %s= in section [%s], ignoring.",
                   a->key, a->section);
        return 0;
}

/* Reads one file. Returns NULL in *ret if it holds no usable rule, which has been logged then. */
static int read_rule(const char *path, PolicyRule **ret) {
        _cleanup_(policy_rule_freep) PolicyRule *rule = NULL;
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        *ret = NULL;

        r = read_full_file(path, CONF_FILE_MAX, &text, &size);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.config_file = path),
                                "Cannot read '%s', ignoring the file: %m", path);
                return 0;
        }

        rule = calloc(1, sizeof(*rule));
        if (!rule)
                return -ENOMEM;
        rule->setting.layer = POLICY_LAYER_RULE;

        r = conf_parse_text(path, text, size, LOG_WARNING, assignment, rule);
        if (r < 0)
                return r;

        if (!rule->units && !rule->cgroups) {
                log_syntax(LOG_WARNING, path, 1,
                           "Neither Unit= nor Cgroup= in section [Match], ignoring the file.");
                return 0;
        }
        if (!policy_setting_is_set(&rule->setting)) {
                log_syntax(LOG_WARNING, path, 1, "No CachePolicy= in section [Policy], nor another setting, "
                           "ignoring the file.");
                return 0;
        }

        *ret = TAKE_PTR(rule);
        return 0;
}

int policy_rule_check_file(const char *path, PolicySetting *ret) {
        _cleanup_(policy_rule_freep) PolicyRule *rule = NULL;
        int r;

        r = read_rule(path, &rule);
        if (r < 0 || !rule)
                return r;

        *ret = rule->setting;
        rule->setting = (PolicySetting) {};
        return 1;
}

int policy_rules_load(const char *const *dirs, PolicyRules *ret) {
        _cleanup_ptr_array_ GPtrArray *rules = g_ptr_array_new_with_free_func(policy_rule_destroy);
        _cleanup_ptr_array_ GPtrArray *files = NULL;
        bool by_cgroup = false;
        int r;

        assert(dirs);
        assert(ret);

        files = conf_files_list(dirs);
        for (guint i = 0; i < files->len; i++) {
                PolicyRule *rule;

                r = read_rule(files->pdata[i], &rule);
                if (r < 0)
                        return r;
                if (!rule)
                        continue;

                by_cgroup = by_cgroup || rule->cgroups;
                g_ptr_array_add(rules, rule);
        }

        *ret = (PolicyRules) {
                .rules = TAKE_PTR(rules),
                .by_cgroup = by_cgroup,
        };
        return 0;
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

int policy_rules_lookup(const PolicyRules *rules, const char *unit, const char *cgroup, PolicySetting *ret) {
        int found = 0, r;

        assert(rules);
        assert(unit);
        assert(ret);

        for (guint i = 0; rules->rules && i < rules->rules->len; i++) {
                const PolicyRule *rule = rules->rules->pdata[i];

                if (!policy_rule_matches(rule, unit, cgroup))
                        continue;

                r = policy_setting_replace(ret, &rule->setting);
                if (r < 0)
                        return r;
                found = 1;
        }

        return found;
}
