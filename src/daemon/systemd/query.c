/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "daemon/core/manager.h"
#include "internal.h"
#include "query.h"
#include "shared/log.h"

typedef struct UnitQuery {
        sd_varlink *link;
        unit_query_reply_t func;
} UnitQuery;

static void unit_query_clear(void *p) {
        sd_varlink_unref(((UnitQuery *) p)->link);
}

bool unit_query_defer(Unit *u, sd_varlink *link, unit_query_reply_t func) {
        SystemdWatch *w = u->manager->watch;
        UnitQuery q = {
                .link = link,
                .func = func,
        };

        if (!w || !u->active || unit_is_managed(u) || !u->manager->kernel.supported)
                return false;

        if (!u->queries) {
                u->queries = g_array_new(FALSE, FALSE, sizeof(UnitQuery));
                g_array_set_clear_func(u->queries, unit_query_clear);
        }

        sd_varlink_ref(link);
        g_array_append_val(u->queries, q);
        systemd_fetch_queue(w, u, /* files= */ false, /* cgroup= */ true);
        return true;
}

void unit_query_answer(Unit *u) {
        GArray *queries = u->queries;

        u->queries = NULL;

        for (guint i = 0; queries && i < queries->len; i++) {
                UnitQuery *q = &g_array_index(queries, UnitQuery, i);
                int r;

                r = q->func(q->link, u);
                if (r < 0) { /* most likely the client went away */
                        log_debug_errno(r, "%s: Cannot answer a query: %m", u->name);
                        (void) sd_varlink_error_errno(q->link, r);
                }
        }

        if (queries)
                g_array_unref(queries);
}
