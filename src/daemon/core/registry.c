/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "registry.h"
#include "shared/log.h"

/* ---- who hears of changes */

/* By number and by value: an observer may register others. */
#define NOTIFY(m, member, ...)                                                                  \
        do {                                                                                    \
                for (guint _i = 0; _i < (m)->observers->len; _i++) {                            \
                        Observer _o = g_array_index((m)->observers, Observer, _i);              \
                                                                                                \
                        if (_o.observer->member)                                                \
                                _o.observer->member(_o.userdata __VA_OPT__(, ) __VA_ARGS__);    \
                }                                                                               \
        } while (false)

void manager_observe(Manager *m, const ManagerObserver *o, void *userdata) {
        g_array_append_val(m->observers, ((Observer) { .observer = o, .userdata = userdata }));
}

void manager_unobserve(Manager *m, const ManagerObserver *o, void *userdata) {
        for (guint i = m->observers->len; i-- > 0;) {
                const Observer *x = &g_array_index(m->observers, Observer, i);

                if (x->observer == o && x->userdata == userdata)
                        g_array_remove_index(m->observers, i);
        }
}

void manager_unit_changed(Manager *m, Unit *u) {
        NOTIFY(m, unit_changed, u);
}

void manager_unit_overridden(Manager *m, Unit *u) {
        NOTIFY(m, unit_overridden, u);
}

void manager_holds_changed(Manager *m) {
        NOTIFY(m, holds_changed);
}

void manager_reloaded(Manager *m) {
        NOTIFY(m, reloaded);
}

void manager_reconciled(Manager *m) {
        NOTIFY(m, reconciled);
}

/* ---- units */

Unit *manager_find_unit(Manager *m, const char *name) {
        return g_hash_table_lookup(m->units, name);
}

void manager_forget_unit(Manager *m, Unit *u) {
        NOTIFY(m, unit_removed, u);
        g_hash_table_remove(m->dirty, u);
        if (g_hash_table_lookup(m->units, u->name) == u)
                g_hash_table_remove(m->units, u->name);
}

/* ---- what is to be looked at */

void manager_queue_reconcile(Manager *m) {
        int r;

        r = sd_event_source_set_enabled(m->reconcile_source, SD_EVENT_ONESHOT);
        if (r < 0)
                log_error_errno(r, "Cannot queue the reconcile: %m");
}

void manager_mark_dirty(Manager *m, Unit *u) {
        g_hash_table_add(m->dirty, u);
        manager_queue_reconcile(m);
}

void manager_mark_all_dirty(Manager *m) {
        GHashTableIter it;
        gpointer u;

        g_hash_table_iter_init(&it, m->units);
        while (g_hash_table_iter_next(&it, NULL, &u))
                g_hash_table_add(m->dirty, u);

        manager_queue_reconcile(m);
}

void manager_set_settled(Manager *m, bool settled) {
        m->settled = settled;
        if (settled)
                manager_queue_reconcile(m);
}

ManagerCounts manager_count(Manager *m) {
        ManagerCounts c = {};
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, m->units);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                const Unit *u = p;

                c.configured += !!u->setting.policy;
                c.attached += u->state == UNIT_ATTACHED;
                c.failed += u->state == UNIT_FAILED || u->state == UNIT_LOST;
        }

        return c;
}
