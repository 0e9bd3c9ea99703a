/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What assignments come to for a unit, and whether that makes sense. */

#include "check.h"
#include "config/cache-files.h"
#include "config/candidates.h"
#include "daemon/core/registry.h"
#include "daemon/core/wanted.h"

/* Everybody may ask what would come of settings. */
#define ASSIGNMENTS_MAX (64U << 10)

void config_outcome_done(ConfigOutcome *o) {
        free(o->problem);
        if (o->files)
                g_ptr_array_unref(o->files);
        policy_setting_done(&o->setting);
        *o = (ConfigOutcome) {};
}

int config_refuse(ConfigOutcome *o, int error, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        o->problem = g_strdup_vprintf(format, ap);
        va_end(ap);
        return error;
}

/* ---- what is to be set */

static int refuse_key(ConfigOutcome *o, const char *key) {
        g_autoptr(GString) names = g_string_new(NULL);
        const char *name;

        for (guint i = 0; (name = policy_setting_key_name(i)); i++)
                g_string_append_printf(names, "%s%s=", i > 0 ? ", " : "", name);

        return config_refuse(o, -EINVAL, "'%s=' is no setting of a unit; there are %s", key, names->str);
}

int config_refuse_characters(ConfigOutcome *o) {
        return config_refuse(o, -EINVAL,
                             "a value has characters that a configuration file cannot hold "
                             "(line breaks, a backslash at its end, bytes that are not UTF-8)");
}

/* Before anything is parsed: the parser would warn of it, in the journal. */
static bool is_line(const char *s) {
        size_t n = strlen(s);

        for (size_t i = 0; i < n; i++)
                if ((unsigned char) s[i] < ' ' && s[i] != '\t')
                        return false;

        return utf8_is_valid_n(s, n) && (n == 0 || s[n - 1] != '\\');
}

static int check_assignments(char **assignments, ConfigOutcome *o) {
        size_t n = 0;

        for (char **i = assignments; *i; i++) {
                n += strlen(*i) + 1;
                if (n > ASSIGNMENTS_MAX)
                        return config_refuse(o, -EINVAL, "the settings are longer than %u KiB",
                                             ASSIGNMENTS_MAX >> 10);
                if (!is_line(*i))
                        return config_refuse_characters(o);
        }

        return 0;
}

int config_read_assignments(char **assignments, PolicySetting *ret, ConfigOutcome *o) {
        int r;

        r = check_assignments(assignments, o);
        if (r < 0)
                return r;

        for (char **i = assignments; *i; i++) {
                const char *equals = strchr(*i, '=');
                g_autofree char *key = NULL, *text = NULL, *problem = NULL;
                const char *value;

                if (!equals)
                        return config_refuse(o, -EINVAL, "'%s' is no assignment, which is KEY=VALUE", *i);

                key = g_strndup(*i, equals - *i);
                text = g_strdup(equals + 1);
                value = strstrip(text);
                if (cache_files_check(key, value, &problem) < 0)
                        return config_refuse(o, -EINVAL, "'%s': %s", *i, problem);
                if (policy_setting_assign(ret, key, value, "", 0) < 0)
                        return refuse_key(o, key);
        }

        return 0;
}

/* ---- whether it makes sense */

/* Removes " (FILE:LINE)" of a file that is not there yet. */
static void strip_source(char *problem, const char *path) {
        char *s = problem;

        while ((s = strstr(s, path))) {
                char *begin = s - 2, *end = strchr(s, ')');

                if (!end || s - problem < 2 || strncmp(begin, " (", 2) != 0) {
                        s++;
                        continue;
                }

                memmove(begin, end + 1, strlen(end + 1) + 1);
                s = begin;
        }
}

/* What says nothing without a policy. */
static bool needs_policy(const PolicySetting *s) {
        static const PolicyKey keys[] = {
                POLICY_KEY_OPTIONS, POLICY_KEY_SCAN_THREADS, POLICY_KEY_CANDIDATES, POLICY_KEY_AUTO_MARGIN,
        };

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (policy_words_count(s->more + keys[i]) > 0)
                        return true;

        return false;
}

int config_check(Manager *m, const char *unit, const PolicySetting *asked, const char *source,
                 ConfigOutcome *o) {
        _cleanup_free_ char *problem = NULL;

        if (!o->setting.policy) {
                if (o->files_known && needs_policy(asked))
                        return config_refuse(o, -EINVAL,
                                             "unit '%s' has no cache policy that this could be for; name "
                                             "one with %s=", unit, policy_setting_key_name(0));
                if (policy_setting_check_replay(&o->setting, &problem) >= 0)
                        return 0;
        } else if (policy_setting_check_all(&o->setting, m->policies, m->paths.policies, &problem) >= 0)
                return 0;

        strip_source(problem, source);
        o->problem = TAKE_PTR(problem);
        return -EINVAL;
}

/* ---- what holds for a unit */

void config_resolve(Manager *m, const char *unit, const PolicyLayers *l, ConfigOutcome *o) {
        const Unit *u = manager_find_unit(m, unit);

        o->files_known = l->unit;
        policy_setting_done(&o->setting);
        policy_layers_resolve(l, unit, u ? u->cgroup : NULL, &o->setting);
}

void config_show(Manager *m, const char *unit, bool exists, ConfigOutcome *ret) {
        _cleanup_ptr_array_ GPtrArray *holds = manager_list_held(m, unit);
        PolicyLayers l = manager_layers(m, unit, holds);

        *ret = (ConfigOutcome) {};
        config_resolve(m, unit, &l, ret);
        if ((!exists || !manager_find_unit(m, unit)) && policy_setting_count_lines(&ret->setting) == 0)
                ret->error = -ESRCH;
}
