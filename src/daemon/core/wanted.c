/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/resolve.h"
#include "registry.h"
#include "shared/log.h"
#include "unit.h"
#include "wanted.h"

int manager_resolve(Manager *m, const char *unit, const char *cgroup, const PolicySetting *file_setting,
                    PolicySetting *ret) {
        _cleanup_ptr_array_ GPtrArray *holds = manager_list_held(m, unit);
        PolicyLayers l = {
                .rules = &m->rules,
                .unit = file_setting,
                .holds = holds,
        };

        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                l.overrides[k] = unit_overrides_get(&m->overrides, k, unit);

        return policy_layers_resolve(&l, unit, cgroup, ret);
}

int unit_resolve_setting(Unit *u) {
        _cleanup_policy_setting_ PolicySetting s = {};
        bool same;
        int r;

        r = manager_resolve(u->manager, u->name, u->cgroup, &u->file_setting, &s);
        if (r < 0)
                return r;

        same = policy_setting_equal(&s, &u->setting);
        policy_setting_done(&u->setting);
        u->setting = s; /* in any case: lines that count for nothing may be others */
        s = (PolicySetting) {};
        if (same)
                return 0;

        unit_reset_retry(u);
        manager_unit_changed(u->manager, u);
        return 1;
}

void manager_override_unit(Manager *m, const char *unit) {
        Unit *u = manager_find_unit(m, unit);

        if (!u)
                return;

        if (u->files_known && unit_resolve_setting(u) < 0)
                log_oom();
        manager_unit_overridden(m, u);
        manager_mark_dirty(m, u);
}

/* ---- holds */

GPtrArray *manager_list_held(Manager *m, const char *unit) {
        GPtrArray *l = NULL;

        for (guint i = 0; i < m->holds->len; i++) {
                Hold *h = m->holds->pdata[i];

                if (!streq(h->unit, unit))
                        continue;
                if (!l)
                        l = g_ptr_array_new();
                g_ptr_array_add(l, &h->setting);
        }

        return l;
}

Hold *manager_find_hold(Manager *m, uint32_t cookie) {
        for (guint i = 0; i < m->holds->len; i++) {
                Hold *h = m->holds->pdata[i];

                if (h->cookie == cookie)
                        return h;
        }

        return NULL;
}

static void hold_changed(Manager *m, const Hold *h) {
        Unit *u = manager_find_unit(m, h->unit);

        manager_override_unit(m, h->unit);
        if (u) /* that it is held is shown, even if that changes nothing */
                manager_unit_changed(m, u);
        manager_holds_changed(m);
        manager_queue_reconcile(m);
}

void manager_add_hold(Manager *m, Hold *h) {
        g_ptr_array_add(m->holds, h);
        hold_changed(m, h);
}

void manager_remove_hold(Manager *m, Hold *h) {
        (void) g_ptr_array_remove(m->holds, h); /* keeps the order */
        hold_changed(m, h);
}
