/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <malloc.h>

#include "clients.h"
#include "shared/log.h"

/* That are not root's. */
#define CLIENTS_MAX 2048U
/* Root, the bus and the reconcile go first, whatever others have to say. */
#define OTHERS_PRIORITY (SD_EVENT_PRIORITY_NORMAL + 20)
/* More than what is in use without them, before some have to go. */
#define MEMORY_MAX ((size_t) 16 << 20)
/* What a unit may take that came since then. */
#define MEMORY_PER_UNIT ((size_t) 16 << 10)

static void drop(Varlink *v, sd_varlink *client) {
        sd_varlink *link = sd_varlink_ref(client);

        varlink_clients_remove(v, link);
        (void) sd_varlink_close(link);
        sd_varlink_unref(link);
}

/* Left to itself, sd-varlink sends each client all that is waiting for it when the event loop ends, however
 * long that takes: one that does not read would have the daemon wait until systemd kills it. */
static int on_exit_loop(sd_event_source *s, void *userdata) {
        Varlink *v = ASSERT_PTR(userdata);

        while (v->clients->len > 0) {
                sd_varlink *link = v->clients->pdata[v->clients->len - 1];

                (void) sd_varlink_process(link); /* sends what the client has room for */
                if (v->clients->len > 0 && v->clients->pdata[v->clients->len - 1] == link)
                        drop(v, link);
        }

        return 0;
}

static size_t memory_in_use(void) {
        struct mallinfo2 info = mallinfo2();

        return info.uordblks + info.hblkhd;
}

static uid_t uid_of(sd_varlink *link) {
        uid_t uid;

        return sd_varlink_get_peer_uid(link, &uid) < 0 ? (uid_t) -1 : uid;
}

/* Those of the user who has the most of them; returns how many. */
static unsigned drop_largest_user(Varlink *v) {
        unsigned most = 0;
        uid_t user = 0;

        for (guint i = 0; i < v->others->len; i++) {
                uid_t uid = uid_of(v->others->pdata[i]);
                unsigned n = 0;

                for (guint k = i; k < v->others->len; k++)
                        n += uid_of(v->others->pdata[k]) == uid;
                if (n > most) {
                        most = n;
                        user = uid;
                }
        }

        for (guint i = v->others->len; i-- > 0;)
                if (uid_of(v->others->pdata[i]) == user)
                        drop(v, v->others->pdata[i]);
        return most;
}

/* After each event: what is kept for clients, besides what the daemon itself has come to need. */
static int on_any_event(sd_event_source *s, void *userdata) {
        Varlink *v = ASSERT_PTR(userdata);
        guint n_units = g_hash_table_size(v->control->manager->units);
        size_t limit = v->memory_base + MEMORY_MAX +
                MEMORY_PER_UNIT * (n_units - MIN(n_units, v->units_base)), used;

        while (v->others->len > 0 && (used = memory_in_use()) > limit) {
                unsigned n = drop_largest_user(v);

                log_warning("Closed the connections of %u clients of varlink: %zu KiB were kept for all.", n,
                            (used - v->memory_base) >> 10);
        }

        return 0;
}

int varlink_clients_start(Varlink *v) {
        sd_event *event = v->control->manager->event;
        int r;

        v->clients = g_ptr_array_new();
        v->others = g_ptr_array_new();

        r = sd_event_add_exit(event, &v->exit_source, on_exit_loop, v);
        if (r >= 0)
                r = sd_event_source_set_priority(v->exit_source, SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0)
                r = sd_event_add_post(event, &v->memory_source, on_any_event, v);
        if (r >= 0) /* it does not wait until each client has had its turn */
                r = sd_event_source_set_priority(v->memory_source, SD_EVENT_PRIORITY_IMPORTANT);
        return r;
}

void varlink_clients_stop(Varlink *v) {
        v->exit_source = sd_event_source_disable_unref(v->exit_source);
        v->memory_source = sd_event_source_disable_unref(v->memory_source);
        if (v->clients)
                g_ptr_array_unref(v->clients);
        if (v->others)
                g_ptr_array_unref(v->others);
        v->clients = v->others = NULL;
}

static int add_other(Varlink *v, sd_varlink *link) {
        if (v->others->len >= CLIENTS_MAX)
                return -EBUSY;

        if (v->others->len == 0) {
                v->memory_base = memory_in_use();
                v->units_base = g_hash_table_size(v->control->manager->units);
        }
        g_ptr_array_add(v->others, link);

        sd_varlink_detach_event(link);
        return sd_varlink_attach_event(link, v->control->manager->event, OTHERS_PRIORITY);
}

int varlink_clients_add(Varlink *v, sd_varlink *link) {
        int r = 0;

        if (uid_of(link) != 0)
                r = add_other(v, link);
        if (r >= 0)
                g_ptr_array_add(v->clients, link);
        return r; /* a failure closes the connection */
}

void varlink_clients_remove(Varlink *v, sd_varlink *link) {
        if (!v->clients)
                return;

        (void) g_ptr_array_remove_fast(v->clients, link);
        (void) g_ptr_array_remove_fast(v->others, link);
}
