/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "change.h"
#include "daemon/core/registry.h"
#include "shared/file-util.h"

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
static void plan_read(Manager *m, const char *unit, Plan *p) {
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                unit_override_read(m->paths.overrides[k], k, unit, p->settings + k);
}

/* ---- what is to be set */

static bool settings_say_the_same(const PolicySetting *a, const PolicySetting *b) {
        for (guint i = 0; policy_setting_key_name(i); i++) {
                g_autofree char *x = policy_setting_get_value(a, i), *y = policy_setting_get_value(b, i);

                if (!streq_ptr(x, y))
                        return false;
        }

        return true;
}

/* Makes the setting the one that will be read from its file: that is the only syntax there is. */
static int plan_format(Manager *m, const char *unit, OverrideKind kind, Plan *p, char **ret_text,
                       ConfigOutcome *o) {
        _cleanup_policy_setting_ PolicySetting back = {};
        g_autofree char *text = unit_override_format(unit, kind, p->settings + kind);

        /* What does not come back as it went may be several lines,
         * or half of one: nobody gets at the file. */
        unit_override_parse(m->paths.overrides[kind], kind, unit, text, &back);
        if (!settings_say_the_same(&back, p->settings + kind))
                return config_refuse_characters(o);

        policy_setting_done(p->settings + kind);
        p->settings[kind] = TAKE_STRUCT(back);
        *ret_text = TAKE_PTR(text);
        return 0;
}

/* What stays is to be in effect, not hidden by what was set until the next boot. */
static bool forget_keys(PolicySetting *dest, const PolicySetting *keys) {
        bool changed = false;

        if (keys->set && dest->set) {
                policy_setting_clear_policy(dest);
                changed = true;
        }

        for (PolicyKey k = 0; k < _POLICY_KEY_MAX; k++)
                if (dest->more[k].set && (keys->more[k].set || (keys->set && k == POLICY_KEY_OPTIONS))) {
                        policy_words_clear(dest->more + k);
                        changed = true;
                }

        return changed;
}

/* ---- whether it makes sense */

static void resolve(Manager *m, const ConfigChange *c, const Plan *p, GPtrArray *holds, ConfigOutcome *o) {
        PolicyLayers l = manager_layers(m, c->unit, holds);

        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                l.overrides[k] = p->settings + k;
        config_resolve(m, c->unit, &l, o);
}

/* What is set has to make sense by itself, whatever is held at the moment. */
static int check(Manager *m, const ConfigChange *c, const Plan *p, const PolicySetting *asked,
                 ConfigOutcome *o) {
        OverrideKind kind = c->persistent ? OVERRIDE_PERSISTENT : OVERRIDE_RUNTIME;
        g_autofree char *path = unit_override_path(m->paths.overrides[kind], c->unit);

        resolve(m, c, p, NULL, o);
        return config_check(m, c->unit, asked, path, o);
}

/* ---- doing it */

static int prepare(Manager *m, const ConfigChange *c, OverrideKind kind, const char *text, Plan *p,
                   ConfigOutcome *o) {
        g_autofree char *path = unit_override_path(m->paths.overrides[kind], c->unit);
        int r;

        if (!o->files)
                o->files = g_ptr_array_new_null_terminated(0, g_free, TRUE);
        g_ptr_array_add(o->files, g_strdup(path));
        p->changes[kind] = true;

        if (c->dry_run)
                return 0;

        r = file_update_prepare(path, policy_setting_is_set(p->settings + kind) ? text : NULL,
                                p->updates + kind);
        return r < 0 ? config_refuse(o, r, "cannot write '%s': %s", path, strerror(-r)) : 0;
}

static int commit(Manager *m, const ConfigChange *c, Plan *p, ConfigOutcome *o) {
        int r;

        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++) {
                if (!p->changes[k])
                        continue;

                r = file_update_commit(p->updates + k);
                if (r < 0)
                        return config_refuse(o, r, "cannot %s '%s': %s",
                                             p->updates[k].temporary ? "write" : "remove",
                                             p->updates[k].path, strerror(-r));

                unit_overrides_put(&m->overrides, k, c->unit, p->settings + k);
        }

        manager_override_unit(m, c->unit);
        return 0;
}

static int plan_set(Manager *m, const ConfigChange *c, Plan *p, ConfigOutcome *o) {
        OverrideKind kind = c->persistent ? OVERRIDE_PERSISTENT : OVERRIDE_RUNTIME;
        _cleanup_free_ char *text = NULL, *runtime_text = NULL;
        _cleanup_policy_setting_ PolicySetting asked = {};
        int r;

        r = config_read_assignments(c->assignments, &asked, o);
        if (r < 0)
                return r;

        policy_setting_overlay(p->settings + kind, &asked);
        r = plan_format(m, c->unit, kind, p, &text, o);
        if (r < 0)
                return r;

        if (kind == OVERRIDE_PERSISTENT && forget_keys(p->settings + OVERRIDE_RUNTIME, &asked)) {
                r = plan_format(m, c->unit, OVERRIDE_RUNTIME, p, &runtime_text, o);
                if (r < 0)
                        return r;
        }

        r = check(m, c, p, &asked, o);
        if (r >= 0)
                r = prepare(m, c, kind, text, p, o);
        if (r >= 0 && runtime_text)
                r = prepare(m, c, OVERRIDE_RUNTIME, runtime_text, p, o);
        return r;
}

static bool file_exists(const char *dir, const char *unit) {
        g_autofree char *path = unit_override_path(dir, unit);

        return access(path, F_OK) >= 0;
}

static int plan_reset(Manager *m, const ConfigChange *c, Plan *p, ConfigOutcome *o) {
        int r = 0;

        for (OverrideKind k = 0; r >= 0 && k < _OVERRIDE_MAX; k++) {
                if (k == OVERRIDE_PERSISTENT && !c->persistent)
                        continue;

                policy_setting_done(p->settings + k);
                if (file_exists(m->paths.overrides[k], c->unit) ||
                    unit_overrides_get(&m->overrides, k, c->unit))
                        r = prepare(m, c, k, NULL, p, o);
        }

        return r;
}

void config_change(Manager *m, const ConfigChange *c, ConfigOutcome *ret) {
        _cleanup_ptr_array_ GPtrArray *holds = manager_list_held(m, c->unit);
        _cleanup_(plan_done) Plan p = {};
        ConfigOutcome o = {};
        int r;

        plan_read(m, c->unit, &p);
        r = c->assignments ? plan_set(m, c, &p, &o) : plan_reset(m, c, &p, &o);
        if (r >= 0)
                resolve(m, c, &p, holds, &o);
        if (r >= 0 && !c->dry_run)
                r = commit(m, c, &p, &o);

        o.error = r < 0 ? r : 0;
        *ret = o;
}
