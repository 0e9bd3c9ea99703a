/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "control.h"
#include "daemon/core/registry.h"
#include "hold.h"
#include "pending.h"
#include "request.h"
#include "shared/cleanup.h"

static void reconciled(void *userdata) {
        Control *c = ASSERT_PTR(userdata);

        if (c->manager->settled || !c->watch)
                config_requests_reloaded(c);
        config_requests_reconciled(c);
}

static const ManagerObserver observer = {
        .reconciled = reconciled,
};

Control *control_new(Manager *m) {
        Control *c = g_new0(Control, 1);

        c->manager = m;
        c->holders = holders_new();
        c->pending = g_hash_table_new(NULL, NULL);
        c->callers = g_ptr_array_new();
        manager_observe(m, &observer, c);
        return c;
}

Control *control_free(Control *c) {
        if (!c)
                return NULL;

        manager_unobserve(c->manager, &observer, c);
        pending_free_all(c);
        g_hash_table_unref(c->pending);
        g_ptr_array_unref(c->callers);
        config_requests_stop(c);
        holds_end_all(c);
        g_ptr_array_unref(c->holders);
        return mfree(c);
}

void control_connect(Control *c, sd_bus *bus, SystemdWatch *watch) {
        c->bus = bus;
        c->watch = watch;
}

void control_disconnect(Control *c) {
        _cleanup_ptr_array_ GPtrArray *waiting = pending_list(c, NULL);

        for (guint i = 0; i < waiting->len; i++) {
                Pending *p = waiting->pdata[i];

                if (pending_is_asking(p))
                        p->kind->refused(p, p->polkit ? -EACCES : -EAGAIN);
        }
        config_requests_answer(c);
        holds_end_of_bus(c);
        c->bus = NULL;
        c->watch = NULL;
}

void control_client_gone(Control *c, sd_varlink *link) {
        pending_disconnected(c, link);
        holds_disconnected(c, link);
}
