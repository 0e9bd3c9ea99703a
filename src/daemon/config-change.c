/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "config-change.h"
#include "file-util.h"
#include "policy-resolve.h"
#include "unit-file.h"
#include "unit-path.h"

void config_outcome_done(ConfigOutcome *o) {
        free(o->problem);
        if (o->files)
                g_ptr_array_unref(o->files);
        policy_setting_done(&o->setting);
        *o = (ConfigOutcome) {};
}

/* The sentence, and the error if there was memory for it. */
static int refuse(ConfigOutcome *o, int error, const char *format, ...) _printf_(3, 4);
static int refuse(ConfigOutcome *o, int error, const char *format, ...) {
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&o->problem, format, ap);
        va_end(ap);

        if (r < 0)
                o->problem = NULL;
        return r < 0 ? -ENOMEM : error;
}

/* The two files of a unit as they are to be. */
typedef struct Plan {
        PolicySetting settings[_OVERRIDE_MAX];
        FileUpdate updates[_OVERRIDE_MAX];
        bool changes[_OVERRIDE_MAX];
} Plan;

static void plan_done(Plan *p) {
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++) {
                policy_setting_done(p->settings + k);
                file_update_done(p->updates + k);
        }
}

/* From the files, which somebody may have edited meanwhile. */
static int plan_read(Manager *m, const char *unit, Plan *p) {
        int r = 0;

        for (OverrideKind k = 0; r >= 0 && k < _OVERRIDE_MAX; k++)
                r = unit_override_read(m->paths.overrides[k], k, unit, p->settings + k);

        return r;
}

/* ---- what is to be set */

static int refuse_key(ConfigOutcome *o, const char *key) {
        g_autoptr(GString) names = g_string_new(NULL);
        const char *name;

        for (guint i = 0; (name = policy_setting_key_name(i)); i++)
                g_string_append_printf(names, "%s%s=", i > 0 ? ", " : "", name);

        return refuse(o, -EINVAL, "'%s=' is no setting of a unit; there are %s", key, names->str);
}

static int read_assignments(char **assignments, PolicySetting *ret, ConfigOutcome *o) {
        int r;

        for (char **i = assignments; *i; i++) {
                const char *equals = strchr(*i, '=');
                _cleanup_free_ char *key = NULL, *value = NULL;

                if (!equals)
                        return refuse(o, -EINVAL, "'%s' is no assignment, which is KEY=VALUE", *i);

                key = strndup(*i, equals - *i);
                value = strdup(equals + 1);
                if (!key || !value)
                        return -ENOMEM;

                if (!policy_setting_is_key(key))
                        return refuse_key(o, key);

                r = policy_setting_assign(ret, key, strstrip(value), "", 0);
                if (r < 0)
                        return r;
        }

        return 0;
}

static bool words_say_the_same(const PolicyWords *a, const PolicyWords *b) {
        if (a->set != b->set || policy_words_count(a) != policy_words_count(b))
                return false;

        for (guint i = 0; i < policy_words_count(a); i++)
                if (!streq(policy_words_get(a, i)->text, policy_words_get(b, i)->text))
                        return false;

        return true;
}

static bool settings_say_the_same(const PolicySetting *a, const PolicySetting *b) {
        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++)
                if (!words_say_the_same(a->more + k, b->more + k))
                        return false;

        return a->set == b->set && streq_ptr(a->policy, b->policy);
}

/* Makes the setting the one that will be read from its file: that is the only syntax there is. */
static int plan_format(Manager *m, const char *unit, OverrideKind kind, Plan *p, char **ret_text, ConfigOutcome *o) {
        _cleanup_policy_setting_ PolicySetting back = {};
        _cleanup_free_ char *text = NULL;
        int r;

        text = unit_override_format(unit, kind, p->settings + kind);
        if (!text)
                return -ENOMEM;

        /* What does not come back as it went may be several lines, or half of one: nobody gets at the file. */
        r = unit_override_parse(m->paths.overrides[kind], kind, unit, text, &back);
        if (r < 0)
                return r;
        if (!settings_say_the_same(&back, p->settings + kind))
                return refuse(o, -EINVAL, "a value has characters that a configuration file cannot hold "
                                          "(line breaks, a backslash at its end, bytes that are not UTF-8)");

        policy_setting_done(p->settings + kind);
        p->settings[kind] = back;
        back = (PolicySetting) {};
        *ret_text = TAKE_PTR(text);
        return 0;
}

/* What stays is to be in effect, not hidden by what was set until the next boot. */
static bool forget_keys(PolicySetting *dest, const PolicySetting *keys) {
        PolicySetting rest = { .layer = dest->layer };
        bool changed = false;

        if (keys->set) {
                changed = policy_setting_is_set(dest);
                policy_setting_done(dest);
                *dest = rest;
                return changed;
        }

        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++)
                if (keys->more[k].set && dest->more[k].set) {
                        policy_words_clear(dest->more + k);
                        changed = true;
                }

        return changed;
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

static int check(Manager *m, const ConfigChange *c, const PolicySetting *asked, ConfigOutcome *o) {
        OverrideKind kind = c->persistent ? OVERRIDE_PERSISTENT : OVERRIDE_RUNTIME;
        _cleanup_free_ char *path = NULL, *problem = NULL;
        _cleanup_policy_config_ PolicyConfig config = {};
        const Policy *policy;
        int r;

        if (!o->setting.policy) {
                if (o->files_known && (policy_words_count(asked->more + POLICY_KEY_OPTIONS) > 0 ||
                                       policy_words_count(asked->more + POLICY_KEY_SCAN_THREADS) > 0))
                        return refuse(o, -EINVAL, "unit '%s' has no cache policy that this could be for; name one with "
                                                  "%s=", c->unit, policy_setting_key_name(0));
                return 0;
        }

        r = policy_setting_check(&o->setting, m->policies, m->paths.policies, &policy, &config, &problem);
        if (r != -EINVAL)
                return r;

        path = unit_override_path(m->paths.overrides[kind], c->unit);
        if (!path)
                return -ENOMEM;

        strip_source(problem, path);
        o->problem = TAKE_PTR(problem);
        return -EINVAL;
}

/* ---- doing it */

/* The files of a unit that systemd has not loaded, or that was not active yet: as it would find them. */
static int read_files(const char *unit, PolicySetting *ret, bool *ret_found) {
        _cleanup_ptr_array_ GPtrArray *dropins = NULL;
        g_autofree char *fragment = NULL;

        if (!unit_name_is_valid(unit))
                return 0;

        unit_path_find("", unit, &fragment, &dropins);
        *ret_found = fragment || dropins->len > 1 || endswith(unit, ".slice");
        return unit_file_read_setting(unit, fragment, (char **) dropins->pdata, ret);
}

static int resolve(Manager *m, const char *unit, const PolicySetting *const *overrides, ConfigOutcome *o) {
        _cleanup_policy_setting_ PolicySetting files = {};
        const Unit *u = manager_find_unit(m, unit);
        PolicyLayers l = {
                .rules = &m->rules,
                .unit = u && u->files_known ? &u->file_setting : &files,
        };
        int r;

        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                l.overrides[k] = overrides[k];

        o->files_known = u && u->files_known;
        if (!o->files_known) {
                r = read_files(unit, &files, &o->files_known);
                if (r < 0)
                        return r;
        }

        return policy_layers_resolve(&l, unit, u ? u->cgroup : NULL, &o->setting);
}

static int prepare(Manager *m, const ConfigChange *c, OverrideKind kind, const char *text, Plan *p, ConfigOutcome *o) {
        _cleanup_free_ char *path = unit_override_path(m->paths.overrides[kind], c->unit);
        int r;

        if (!path)
                return -ENOMEM;

        if (!o->files)
                o->files = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(o->files, g_strdup(path));
        p->changes[kind] = true;

        if (c->dry_run)
                return 0;

        r = file_update_prepare(path, policy_setting_is_set(p->settings + kind) ? text : NULL, p->updates + kind);
        return r < 0 && r != -ENOMEM ? refuse(o, r, "cannot write '%s': %s", path, strerror(-r)) : r;
}

static int commit(Manager *m, const ConfigChange *c, Plan *p, ConfigOutcome *o) {
        int r;

        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++) {
                if (!p->changes[k])
                        continue;

                r = file_update_commit(p->updates + k);
                if (r < 0)
                        return refuse(o, r, "cannot %s '%s': %s", p->updates[k].temporary ? "write" : "remove",
                                      p->updates[k].path, strerror(-r));

                r = unit_overrides_put(&m->overrides, k, c->unit, p->settings + k);
                if (r < 0)
                        return r;
        }

        manager_unit_overridden(m, c->unit);
        return 0;
}

static int plan_set(Manager *m, const ConfigChange *c, Plan *p, ConfigOutcome *o) {
        OverrideKind kind = c->persistent ? OVERRIDE_PERSISTENT : OVERRIDE_RUNTIME;
        _cleanup_free_ char *text = NULL, *runtime_text = NULL;
        _cleanup_policy_setting_ PolicySetting asked = {};
        int r;

        r = read_assignments(c->assignments, &asked, o);
        if (r >= 0)
                r = policy_setting_overlay(p->settings + kind, &asked);
        if (r >= 0)
                r = plan_format(m, c->unit, kind, p, &text, o);
        if (r < 0)
                return r;

        if (kind == OVERRIDE_PERSISTENT && forget_keys(p->settings + OVERRIDE_RUNTIME, &asked)) {
                r = plan_format(m, c->unit, OVERRIDE_RUNTIME, p, &runtime_text, o);
                if (r < 0)
                        return r;
        }

        r = resolve(m, c->unit, (const PolicySetting *[]) { p->settings, p->settings + OVERRIDE_RUNTIME }, o);
        if (r >= 0)
                r = check(m, c, &asked, o);
        if (r >= 0)
                r = prepare(m, c, kind, text, p, o);
        if (r >= 0 && runtime_text)
                r = prepare(m, c, OVERRIDE_RUNTIME, runtime_text, p, o);
        return r;
}

static bool file_exists(const char *dir, const char *unit) {
        _cleanup_free_ char *path = unit_override_path(dir, unit);

        return path && access(path, F_OK) >= 0;
}

static int plan_reset(Manager *m, const ConfigChange *c, Plan *p, ConfigOutcome *o) {
        int r = 0;

        for (OverrideKind k = 0; r >= 0 && k < _OVERRIDE_MAX; k++) {
                if (k == OVERRIDE_PERSISTENT && !c->persistent)
                        continue;

                policy_setting_done(p->settings + k);
                if (file_exists(m->paths.overrides[k], c->unit) || unit_overrides_get(&m->overrides, k, c->unit))
                        r = prepare(m, c, k, NULL, p, o);
        }
        if (r < 0)
                return r;

        if (!o->files && !manager_find_unit(m, c->unit) &&
            !unit_overrides_get(&m->overrides, OVERRIDE_PERSISTENT, c->unit))
                return -ESRCH;

        return resolve(m, c->unit, (const PolicySetting *[]) { p->settings, p->settings + OVERRIDE_RUNTIME }, o);
}

void config_change(Manager *m, const ConfigChange *c, ConfigOutcome *ret) {
        _cleanup_(plan_done) Plan p = {};
        ConfigOutcome o = {};
        int r;

        r = plan_read(m, c->unit, &p);
        if (r >= 0)
                r = c->assignments ? plan_set(m, c, &p, &o) : plan_reset(m, c, &p, &o);
        if (r >= 0 && !c->dry_run)
                r = commit(m, c, &p, &o);

        o.error = r < 0 ? r : 0;
        *ret = o;
}

void config_show(Manager *m, const char *unit, ConfigOutcome *ret) {
        const PolicySetting *overrides[_OVERRIDE_MAX];
        ConfigOutcome o = {};

        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                overrides[k] = unit_overrides_get(&m->overrides, k, unit);

        o.error = resolve(m, unit, overrides, &o);
        if (o.error >= 0 && !manager_find_unit(m, unit) && policy_setting_count_lines(&o.setting) == 0)
                o.error = -ESRCH;

        *ret = o;
}
