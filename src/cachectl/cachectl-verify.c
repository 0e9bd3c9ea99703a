/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads configuration with the daemon's own code,
 * and without the daemon. Complaints come from there, by the log. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/candidates.h"
#include "config/conf-file.h"
#include "config/resolve.h"
#include "config/unit-file.h"
#include "config/unit-path.h"
#include "exit-codes.h"
#include "options.h"
#include "shared/bpf-log.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "verbs.h"

typedef struct Verify {
        const char *root;
        char **policy_directories, **rule_directories, **override_directories;
        GPtrArray *policies;
        PolicyRules rules;
        UnitOverrides overrides;
        unsigned n_checked;
        unsigned n_problems;
        bool unknown; /* something that was named does not exist */
} Verify;

static void verify_done(Verify *v) {
        strv_free(v->policy_directories);
        strv_free(v->rule_directories);
        strv_free(v->override_directories);
        if (v->policies)
                g_ptr_array_unref(v->policies);
        policy_rules_done(&v->rules);
        unit_overrides_done(&v->overrides);
}

static void count_problem(int level, const LogFields *fields, const char *message, void *userdata) {
        if (level <= LOG_WARNING)
                ((Verify *) userdata)->n_problems++;
}

/* ---- what everything else needs: policies, rules, and what was set */

static char **below_root(const char *root, const char *const *dirs, size_t n) {
        char **l = g_new0(char *, n + 1);

        for (size_t i = 0; i < n; i++)
                l[i] = g_strconcat(root, dirs[i], NULL);

        return l;
}

static void load(Verify *v) {
        v->policy_directories = below_root(v->root, policy_directories,
                                           g_strv_length((char **) policy_directories));
        v->rule_directories = below_root(v->root, policy_rule_directories,
                                         g_strv_length((char **) policy_rule_directories));
        v->override_directories = below_root(v->root, unit_override_directories, _OVERRIDE_MAX);

        v->policies = policies_load((const char *const *) v->policy_directories);
        v->rules = policy_rules_load((const char *const *) v->rule_directories);
        v->overrides = unit_overrides_load((const char *const *) v->override_directories);
}

/* ---- checks */

static void check_setting(Verify *v, const PolicySetting *s) {
        _cleanup_free_ char *problem = NULL;

        v->n_checked++;
        if (!s->policy)
                (void) policy_setting_check_replay(s, &problem);
        else
                (void) policy_setting_check_all(s, v->policies, (const char *const *) v->policy_directories,
                                                &problem);
        if (problem)
                log_error("%s.", problem);
}

/* Settings of one file by itself. Without CachePolicy= others say which policy they are for. */
static void check_alone(Verify *v, PolicySetting *s) {
        PolicyLayers l = { .unit = s };
        _cleanup_policy_setting_ PolicySetting resolved = {};

        policy_layers_resolve(&l, "", NULL, &resolved);
        check_setting(v, &resolved);
}

static void verify_unit_file(Verify *v, const char *unit, const char *path) {
        _cleanup_policy_setting_ PolicySetting s = {};

        if (unit_file_read_setting(unit, path, NULL, &s) >= 0)
                check_alone(v, &s);
}

static void verify_rule(Verify *v, const char *path) {
        _cleanup_policy_setting_ PolicySetting s = {};

        if (policy_rule_check_file(path, &s))
                check_alone(v, &s);
        else
                v->n_checked++;
}

static void verify_object(Verify *v, const char *path) {
        _cleanup_(policy_freep) Policy *p = policy_new("", path);

        v->n_checked++;
        policy_read_object(p);
        if (p->problem)
                log_error("Policy cannot be used: %s.", p->problem);
}

/* All that is said about a unit. */
static void verify_unit(Verify *v, const char *unit) {
        _cleanup_policy_setting_ PolicySetting files = {}, resolved = {};
        _cleanup_ptr_array_ GPtrArray *dropins = NULL;
        g_autofree char *fragment = NULL;
        PolicyLayers l = {
                .rules = &v->rules,
                .unit = &files,
        };
        bool known;

        if (!unit_name_is_valid(unit)) {
                log_error("\"%s\" is neither a file nor the name of a slice, service or scope.", unit);
                v->unknown = true;
                return;
        }

        unit_path_find(v->root, unit, &fragment, &dropins);
        (void) unit_file_read_setting(unit, fragment, (char **) dropins->pdata, &files);
        known = fragment || dropins->len > 1 || endswith(unit, ".slice");
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++) {
                l.overrides[k] = unit_overrides_get(&v->overrides, k, unit);
                known = known || l.overrides[k];
        }
        if (!known) {
                log_error("There are no files of a unit \"%s\".", unit);
                v->unknown = true;
                return;
        }

        policy_layers_resolve(&l, unit, NULL, &resolved);
        check_setting(v, &resolved);
}

/* ---- what a file is */

/* Stands for the name in "slice.d". */
#define ANY_UNIT "@any."

/* The unit that a directory of drop-ins is for: "a.slice.d", or any of its kind: "a-.slice.d", "slice.d". */
static char *unit_of_directory(const char *dir) {
        g_autofree char *name = g_path_get_basename(dir), *any = NULL;
        char *end = endswith(name, ".d");

        if (!end)
                return NULL;
        *end = 0;

        if (unit_name_to_section(name))
                return g_strdup(name);

        /* "slice": any name of that type will do, only the section matters. */
        any = g_strdup_printf(ANY_UNIT "%s", name);
        return unit_name_to_section(any) ? g_steal_pointer(&any) : NULL;
}

static void verify_file(Verify *v, const char *path) {
        g_autofree char *name = g_path_get_basename(path), *dir = g_path_get_dirname(path), *unit = NULL;
        g_autofree char *parent = g_path_get_basename(dir);
        char *end;

        if (endswith(name, POLICY_OBJECT_SUFFIX))
                return verify_object(v, path);
        if (unit_name_to_section(name))
                return verify_unit_file(v, name, path);

        unit = unit_of_directory(dir);
        if (unit)
                return verify_unit_file(v, unit, path);

        end = endswith(name, ".conf");
        if (end && streq(parent, "units.d")) {
                *end = 0;
                if (unit_name_is_valid(name))
                        return verify_unit_file(v, name, path);
        } else if (end)
                return verify_rule(v, path);

        log_error("%s: this is none of our files: a slice, service or scope, "
                  "a drop-in of one in its UNIT.d, a rule (.conf), or a policy (" POLICY_OBJECT_SUFFIX ").",
                  path);
}

static void verify_named(Verify *v, const char *what) {
        if (!strchr(what, '/') && access(what, F_OK) < 0) {
                _cleanup_free_ char *unit = unit_name_mangle(what);

                return verify_unit(v, unit);
        }

        if (access(what, R_OK) < 0) {
                log_error("Cannot read \"%s\": %s", what, strerror(errno));
                v->unknown = true;
        } else
                verify_file(v, what);
}

/* ---- everything */

static bool mentions_us(const char *path) {
        _cleanup_free_ char *text = NULL;
        size_t size;

        return read_full_file(path, CONF_FILE_MAX, &text, &size) >= 0 &&
               policy_setting_is_mentioned(text, size);
}

/* Notes the units whose files mention us; drop-ins for many are checked by themselves. */
static void walk(Verify *v, const char *dir, const char *unit, GHashTable *units) {
        _cleanup_closedir_ DIR *d = opendir(dir);
        struct dirent *de;

        while (d && (de = readdir(d))) {
                g_autofree char *path = g_build_filename(dir, de->d_name, NULL), *owner = NULL;

                if (de->d_name[0] == '.')
                        continue;

                if (!unit && endswith(de->d_name, ".d")) {
                        owner = unit_of_directory(path);
                        if (owner)
                                walk(v, path, owner, units);
                        continue;
                }

                if (unit ? !endswith(de->d_name, ".conf") : !unit_name_to_section(de->d_name))
                        continue;
                if (!mentions_us(path))
                        continue;

                owner = g_strdup(unit ?: de->d_name);
                if (strstr(owner, "@.") || strstr(owner, "-.") || startswith(owner, ANY_UNIT))
                        verify_unit_file(v, owner, path);
                else
                        g_hash_table_add(units, g_steal_pointer(&owner));
        }
}

static void add_overridden(Verify *v, GHashTable *units) {
        GHashTableIter it;
        gpointer unit;

        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++) {
                if (!v->overrides.units[k])
                        continue;

                g_hash_table_iter_init(&it, v->overrides.units[k]);
                while (g_hash_table_iter_next(&it, &unit, NULL))
                        g_hash_table_add(units, g_strdup(unit));
        }
}

static int compare_strings(gconstpointer a, gconstpointer b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static void verify_all(Verify *v) {
        _cleanup_hash_table_ GHashTable *units = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                                       NULL);
        _cleanup_ptr_array_ GPtrArray *sorted = NULL;

        v->n_checked += v->policies->len;
        for (guint i = 0; i < v->rules.rules->len; i++)
                check_alone(v, &((PolicyRule *) v->rules.rules->pdata[i])->setting);

        for (const char *const *dir = unit_directories; *dir; dir++) {
                g_autofree char *path = g_strconcat(v->root, *dir, NULL);

                walk(v, path, NULL, units);
        }

        add_overridden(v, units);
        sorted = g_hash_table_get_keys_as_ptr_array(units);
        g_ptr_array_sort(sorted, compare_strings);
        for (guint i = 0; i < sorted->len; i++)
                verify_unit(v, sorted->pdata[i]);
}

int verb_verify(char **arguments, size_t n_arguments) {
        _cleanup_(verify_done) Verify v = { .root = strempty(arg_root) };

        /* Mistakes in what was not asked about are not the question. */
        bpf_log_setup();
        log_set_hook(count_problem, &v);
        if (n_arguments > 0)
                log_set_max_level(LOG_CRIT);
        load(&v);
        log_set_max_level(LOG_INFO);
        if (n_arguments > 0)
                v.n_problems = 0;

        if (n_arguments == 0)
                verify_all(&v);
        for (size_t i = 0; i < n_arguments; i++)
                verify_named(&v, arguments[i]);
        log_set_hook(NULL, NULL);

        if (!arg_quiet && v.n_problems == 0)
                printf("%u checked, nothing is wrong.\n", v.n_checked);
        if (v.unknown)
                return EXIT_UNKNOWN;
        return v.n_problems > 0 ? EXIT_NOT_IN_EFFECT : EXIT_SUCCESS;
}
