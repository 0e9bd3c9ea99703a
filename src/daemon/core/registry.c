/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "registry.h"
#include "shared/log.h"

/* ---- who hears of changes */

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

/* ---- units */

Unit *manager_find_unit(Manager *m, const char *name) {
        return g_hash_table_lookup(m->units, name);
}

static int compare_names(const void *a, const void *b) {
        return strcmp((*(const Unit *const *) a)->name, (*(const Unit *const *) b)->name);
}

GPtrArray *manager_list_units(Manager *m, bool (*test)(const Unit *u)) {
        GPtrArray *units = g_ptr_array_new();
        GHashTableIter it;
        gpointer u;

        g_hash_table_iter_init(&it, m->units);
        while (g_hash_table_iter_next(&it, NULL, &u))
                if (test(u))
                        g_ptr_array_add(units, u);

        g_ptr_array_sort(units, compare_names);
        return units;
}

void manager_forget_unit(Manager *m, Unit *u) {
        manager_notify(m, unit_removed, u);
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
