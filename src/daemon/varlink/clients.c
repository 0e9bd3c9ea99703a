/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "clients.h"

/* Left to itself, sd-varlink sends each client all that is waiting for it when the event loop ends, however
 * long that takes: one that does not read would have the daemon wait until systemd kills it. */
static int on_exit_loop(sd_event_source *s, void *userdata) {
        Varlink *v = ASSERT_PTR(userdata);

        while (v->clients->len > 0) {
                sd_varlink *link = sd_varlink_ref(v->clients->pdata[v->clients->len - 1]);

                varlink_clients_remove(v, link);
                (void) sd_varlink_process(link); /* sends what the client has room for */
                (void) sd_varlink_close(link);
                sd_varlink_unref(link);
        }

        return 0;
}

int varlink_clients_start(Varlink *v) {
        int r;

        v->clients = g_ptr_array_new();

        r = sd_event_add_exit(v->control->manager->event, &v->clients_source, on_exit_loop, v);
        if (r < 0)
                return r;

        return sd_event_source_set_priority(v->clients_source, SD_EVENT_PRIORITY_IMPORTANT);
}

void varlink_clients_stop(Varlink *v) {
        v->clients_source = sd_event_source_disable_unref(v->clients_source);
        if (v->clients)
                g_ptr_array_unref(v->clients);
        v->clients = NULL;
}

void varlink_clients_add(Varlink *v, sd_varlink *link) {
        if (v->clients)
                g_ptr_array_add(v->clients, link);
}

void varlink_clients_remove(Varlink *v, sd_varlink *link) {
        if (v->clients)
                (void) g_ptr_array_remove_fast(v->clients, link);
}
