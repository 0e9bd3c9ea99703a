/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "daemon/core/unit.h"
#include "fetch.h"
#include "list.h"
#include "watch.h"

static SystemdUnit *find_unit(SystemdWatch *w, const char *name) {
        _cleanup_free_ char *path = NULL;
        SystemdUnit *s;

        if (sd_bus_path_encode(SYSTEMD_PATH "/unit", name, &path) < 0)
                return NULL;

        s = g_hash_table_lookup(w->units_by_path, path);
        if (s && s->unit->loaded)
                return s;

        /* Its announcement is on the way; whether it is active has to be found out as for any new unit. */
        s = systemd_list_get_unit(w, name, path);
        if (s) {
                s->unit->files_known = false;
                systemd_list_note_new(w, name);
        }
        return s;
}

bool systemd_query(SystemdWatch *w, const char *unit, bool cgroup, void (*func)(void *userdata),
                   void *userdata) {
        UnitQuery q = {
                .func = func,
                .userdata = userdata,
        };
        bool files;
        SystemdUnit *s;
        Unit *u;

        s = find_unit(w, unit);
        if (!s)
                return false;

        u = s->unit;
        files = !u->files_known;
        cgroup = cgroup && u->active && !unit_is_managed(u) && u->manager->kernel.supported;
        if (!files && !cgroup)
                return false;

        if (!s->queries)
                s->queries = g_array_new(FALSE, FALSE, sizeof(UnitQuery));
        g_array_append_val(s->queries, q);
        u->asked = true;
        systemd_fetch_queue(s, files, cgroup);
        if (u->fetching)
                return true;

        g_array_remove_index(s->queries, s->queries->len - 1); /* the bus goes */
        u->asked = s->queries->len > 0;
        return false;
}

void systemd_query_cancel(SystemdWatch *w, void *userdata) {
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, w->units);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                GArray *queries = ((SystemdUnit *) p)->queries;

                for (guint i = queries ? queries->len : 0; i > 0; i--)
                        if (g_array_index(queries, UnitQuery, i - 1).userdata == userdata)
                                g_array_remove_index(queries, i - 1);
        }
}
