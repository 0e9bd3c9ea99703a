/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "clients.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "turns.h"

/* That are not root's. */
#define CLIENTS_MAX 2048U
/* More than what is in use without them, before some have to go. */
#define MEMORY_MAX ((size_t) 24 << 20)
/* What a unit may take that came since then. */
#define MEMORY_PER_UNIT ((size_t) 16 << 10)
/* Looked at after so many events: each reads 64 KiB of one client at most, and to look takes its time. */
#define MEMORY_EVENTS 16U

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

static size_t memory_allocated(void) {
        struct mallinfo2 info = mallinfo2();

        return info.uordblks + info.hblkhd;
}

/* What is allocated and has been touched: sd-varlink has 192 KiB for each client, most of which is not. And
 * what was freed may stay resident. Nothing is swapped out (MemorySwapMax=0). */
static size_t memory_in_use(void) {
        size_t allocated = memory_allocated(), resident, shared;
        _cleanup_free_ char *text = NULL;

        if (read_full_file("/proc/self/statm", LINE_MAX, &text, NULL) < 0 ||
            sscanf(text, "%*u %zu %zu", &resident, &shared) != 2)
                return allocated;

        return MIN(allocated, (resident - shared) * (size_t) sysconf(_SC_PAGESIZE));
}

static uid_t uid_of(sd_varlink *link) {
        uid_t uid;

        return sd_varlink_get_peer_uid(link, &uid) < 0 ? (uid_t) -1 : uid;
}

static unsigned count_clients(Varlink *v, uid_t user) {
        unsigned n = 0;

        for (guint i = 0; i < v->others->len; i++)
                n += uid_of(v->others->pdata[i]) == user;
        return n;
}

/* Who has the most of them; of equals, who came last. */
static uid_t find_largest_user(Varlink *v) {
        _cleanup_hash_table_ GHashTable *counts = g_hash_table_new(NULL, NULL); /* of connections, by user */
        uid_t largest = (uid_t) -1;
        guint most = 0;

        for (guint i = 0; i < v->others->len; i++) {
                uid_t uid = uid_of(v->others->pdata[i]);
                guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, GUINT_TO_POINTER(uid))) + 1;

                g_hash_table_insert(counts, GUINT_TO_POINTER(uid), GUINT_TO_POINTER(n));
                if (n >= most) {
                        most = n;
                        largest = uid;
                }
        }

        return largest;
}

/* The later half of a user's clients; returns how many they were. */
static unsigned drop_later_half(Varlink *v, uid_t user) {
        unsigned n = (count_clients(v, user) + 1) / 2, left = n;

        for (guint i = v->others->len; left > 0 && i-- > 0;)
                if (uid_of(v->others->pdata[i]) == user) {
                        drop(v, v->others->pdata[i]);
                        left--;
                }
        return n;
}

/* Has clients go until no more than that is in use; returns how many did. */
static unsigned make_room(Varlink *v, size_t enough) {
        uid_t user = (uid_t) -1;
        unsigned n = 0, dropped;

        while (v->others->len > 0 && memory_in_use() > enough) {
                dropped = drop_later_half(v, user);
                if (dropped == 0) /* nobody else before all of theirs are gone */
                        user = find_largest_user(v);
                else
                        (void) malloc_trim(0);
                n += dropped;
        }

        return n;
}

/* What is kept for clients, besides what the daemon itself has come to need. Who goes then makes room for a
 * while. */
static int on_any_event(sd_event_source *s, void *userdata) {
        Varlink *v = ASSERT_PTR(userdata);
        guint n_units = g_hash_table_size(v->control->manager->units);
        size_t limit = v->memory_base + MEMORY_MAX +
                MEMORY_PER_UNIT * (n_units - MIN(n_units, v->units_base)), used;
        unsigned n;

        if (v->others->len == 0 || ++v->n_events % MEMORY_EVENTS != 0)
                return 0;
        if (memory_allocated() <= limit)
                return 0; /* no need to look at what is resident */
        if (memory_in_use() <= limit)
                return 0;
        (void) malloc_trim(0); /* glibc keeps what was freed between what is in use */
        used = memory_in_use();
        if (used <= limit)
                return 0;

        n = make_room(v, limit - MEMORY_MAX / 2);
        log_warning("Closed the connections of %u clients of varlink: %zu KiB were kept for all.", n,
                    (used - v->memory_base) >> 10);
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
        return r < 0 ? r : turns_start(v);
}

void varlink_clients_stop(Varlink *v) {
        v->exit_source = sd_event_source_disable_unref(v->exit_source);
        v->memory_source = sd_event_source_disable_unref(v->memory_source);
        turns_stop(v);
        if (v->clients)
                g_ptr_array_unref(v->clients);
        if (v->others)
                g_ptr_array_unref(v->others);
        v->clients = v->others = NULL;
}

static int add_root(Varlink *v, sd_varlink *link) {
        sd_varlink_detach_event(link);
        return sd_varlink_attach_event(link, v->control->manager->event, SD_EVENT_PRIORITY_NORMAL);
}

static int add_other(Varlink *v, sd_varlink *link, uid_t uid) {
        int r;

        if (v->others->len >= CLIENTS_MAX)
                return -EBUSY;

        r = turns_add(v, link, uid);
        if (r < 0)
                return r;

        if (v->others->len == 0) {
                v->memory_base = memory_in_use();
                v->units_base = g_hash_table_size(v->control->manager->units);
        }
        g_ptr_array_add(v->others, link);
        return 0;
}

int varlink_clients_add(Varlink *v, sd_varlink *link) {
        uid_t uid = uid_of(link);
        int r = uid == 0 ? add_root(v, link) : add_other(v, link, uid);

        if (r >= 0)
                g_ptr_array_add(v->clients, link);
        return r; /* a failure closes the connection */
}

void varlink_clients_remove(Varlink *v, sd_varlink *link) {
        if (!v->clients)
                return;

        (void) g_ptr_array_remove_fast(v->clients, link);
        (void) g_ptr_array_remove(v->others, link); /* the others stay in their order */
        turns_remove(v, link);
}
