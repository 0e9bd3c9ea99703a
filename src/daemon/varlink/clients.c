/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <malloc.h>

#include "clients.h"
#include "shared/log.h"

/* That are not root's. */
#define CLIENTS_MAX 2048U
/* Root, the bus and the reconcile go first, whatever others have to say. */
#define OTHERS_PRIORITY (SD_EVENT_PRIORITY_NORMAL + 20)
/* More than what is in use without clients, before some have to go. */
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

        for (guint i = 0; i < v->clients->len; i++) {
                uid_t uid = uid_of(v->clients->pdata[i]);
                unsigned n = 0;

                for (guint k = i; k < v->clients->len; k++)
                        n += uid_of(v->clients->pdata[k]) == uid;
                if (uid != 0 && n > most) {
                        most = n;
                        user = uid;
                }
        }

        for (guint i = v->clients->len; most > 0 && i-- > 0;)
                if (uid_of(v->clients->pdata[i]) == user)
                        drop(v, v->clients->pdata[i]);
        return most;
}

/* After each event: what is kept for clients, besides what the daemon itself has come to need. */
static int on_any_event(sd_event_source *s, void *userdata) {
        Varlink *v = ASSERT_PTR(userdata);
        guint n_units = g_hash_table_size(v->control->manager->units);
        size_t used = memory_in_use(), limit;

        if (v->clients->len == 0) {
                v->memory_base = used;
                v->units_base = n_units;
        }

        limit = v->memory_base + MEMORY_MAX + MEMORY_PER_UNIT * (n_units - MIN(n_units, v->units_base));
        while (used > limit) {
                unsigned n = drop_largest_user(v);

                if (n == 0) { /* it is the daemon itself */
                        v->memory_base = used;
                        break;
                }
                log_warning("Closed the connections of %u clients of varlink: %zu KiB were kept for all.", n,
                            (used - v->memory_base) >> 10);
                used = memory_in_use();
        }

        return 0;
}

int varlink_clients_start(Varlink *v) {
        sd_event *event = v->control->manager->event;
        int r;

        v->clients = g_ptr_array_new();
        v->memory_base = memory_in_use();

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
        v->clients = NULL;
}

int varlink_clients_add(Varlink *v, sd_varlink *link) {
        unsigned n = 0;
        int r;

        if (uid_of(link) != 0) {
                for (guint i = 0; i < v->clients->len; i++)
                        n += uid_of(v->clients->pdata[i]) != 0;
                if (n >= CLIENTS_MAX)
                        return -EBUSY;

                sd_varlink_detach_event(link);
                r = sd_varlink_attach_event(link, v->control->manager->event, OTHERS_PRIORITY);
                if (r < 0)
                        return r;
        }

        g_ptr_array_add(v->clients, link);
        return 0;
}

void varlink_clients_remove(Varlink *v, sd_varlink *link) {
        if (v->clients)
                (void) g_ptr_array_remove_fast(v->clients, link);
}
