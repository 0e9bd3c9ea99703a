/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "clients.h"

/* Left to itself, sd-varlink sends each client all that is waiting for it when the event loop ends, however
 * long that takes: one that does not read would have the daemon wait until systemd kills it. */
static int on_exit_loop(sd_event_source *s, void *userdata) {
        Manager *m = ASSERT_PTR(userdata);

        while (m->clients->len > 0) {
                sd_varlink *link = sd_varlink_ref(m->clients->pdata[m->clients->len - 1]);

                varlink_clients_remove(m, link);
                (void) sd_varlink_process(link); /* sends what the client has room for */
                (void) sd_varlink_close(link);
                sd_varlink_unref(link);
        }

        return 0;
}

int varlink_clients_start(Manager *m) {
        int r;

        m->clients = g_ptr_array_new();

        r = sd_event_add_exit(m->event, &m->clients_source, on_exit_loop, m);
        if (r < 0)
                return r;

        return sd_event_source_set_priority(m->clients_source, SD_EVENT_PRIORITY_IMPORTANT);
}

void varlink_clients_stop(Manager *m) {
        m->clients_source = sd_event_source_disable_unref(m->clients_source);
        if (m->clients)
                g_ptr_array_unref(m->clients);
        m->clients = NULL;
}

void varlink_clients_add(Manager *m, sd_varlink *link) {
        if (m->clients)
                g_ptr_array_add(m->clients, link);
}

void varlink_clients_remove(Manager *m, sd_varlink *link) {
        if (m->clients)
                (void) g_ptr_array_remove_fast(m->clients, link);
}
