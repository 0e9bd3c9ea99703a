/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "registry.h"
#include "unit.h"
#include "wanted.h"

PolicyLayers manager_layers(Manager *m, const char *unit, GPtrArray *holds) {
        const Unit *u = manager_find_unit(m, unit);
        PolicyLayers l = {
                .rules = &m->rules,
                .unit = u && u->files_known ? &u->file_setting : NULL,
                .holds = holds,
        };

        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                l.overrides[k] = unit_overrides_get(&m->overrides, k, unit);
        return l;
}

bool unit_resolve_setting(Unit *u) {
        _cleanup_ptr_array_ GPtrArray *holds = manager_list_held(u->manager, u->name);
        PolicyLayers l = manager_layers(u->manager, u->name, holds);
        PolicySetting s;
        bool same;

        policy_layers_resolve(&l, u->name, u->cgroup, &s);
        same = policy_setting_equal(&s, &u->setting);
        policy_setting_done(&u->setting);
        u->setting = s; /* in any case: lines that count for nothing may be others */
        if (same)
                return false;

        unit_reset_retry(u);
        manager_notify(u->manager, unit_changed, u);
        return true;
}

void manager_override_unit(Manager *m, const char *unit) {
        Unit *u = manager_find_unit(m, unit);

        if (!u)
                return;

        if (u->files_known)
                (void) unit_resolve_setting(u);
        manager_notify(m, unit_overridden, u);
        manager_mark_dirty(m, u);
}

/* ---- holds */

GPtrArray *manager_list_held(Manager *m, const char *unit) {
        GPtrArray *l = g_ptr_array_new();

        for (guint i = 0; i < m->holds->len; i++) {
                Hold *h = m->holds->pdata[i];

                if (streq(h->unit, unit))
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
                manager_notify(m, unit_changed, u);
        manager_notify(m, holds_changed);
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
