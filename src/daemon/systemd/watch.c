/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "daemon/core/reconcile.h"
#include "internal.h"
#include "query.h"
#include "shared/log.h"
#include "watch.h"

void systemd_watch_unit_gone(Unit *u) {
        u->loaded = false;
        manager_mark_dirty(u->manager, u);
}

bool systemd_active_state(const char *s) {
        return !streq(s, "inactive") && !streq(s, "failed");
}

void systemd_watch_check_settled(SystemdWatch *w) {
        if (!w->listed || w->n_in_flight > 0 || !g_queue_is_empty(&w->queue))
                return;

        /* Some answer is missing: what is known is used, but nothing is concluded from what is not. */
        if (w->incomplete) {
                w->incomplete = false;
                systemd_list_schedule_rescan(w);
                return;
        }

        manager_set_settled(w->manager, true);
}

/* ---- signals */

static int on_unit_new(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        SystemdWatch *w = ASSERT_PTR(userdata);
        const char *name, *path;
        bool known;
        Unit *u;

        if (w->reloading || sd_bus_message_read(msg, "so", &name, &path) < 0)
                return 0;

        u = manager_find_unit(w->manager, name);
        known = u && u->loaded; /* by a list that was faster than the signal */

        u = systemd_list_get_unit(w, name, path);
        if (u && !known) {
                /* Loaded from disk, maybe from other files than the last time. */
                u->files_known = false;
                manager_mark_dirty(w->manager, u);
                systemd_list_note_new(w, name);
        }

        return 0;
}

static int on_unit_removed(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        SystemdWatch *w = ASSERT_PTR(userdata);
        const char *name;
        Unit *u;

        if (w->reloading || sd_bus_message_read(msg, "so", &name, NULL) < 0)
                return 0;

        u = manager_find_unit(w->manager, name);
        if (u)
                systemd_watch_unit_gone(u);

        return 0;
}

/* A reload removes and adds all units. Nothing of that is true before it is over, and nothing is left as it
 * was afterwards: the files may be others. */
static int on_reloading(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        SystemdWatch *w = ASSERT_PTR(userdata);
        int begins;

        if (sd_bus_message_read(msg, "b", &begins) < 0)
                return 0;

        w->reloading = begins;
        if (!begins)
                systemd_watch_rescan(w);

        return 0;
}

/* Finds ActiveState among the changed properties. */
static int read_active_state(sd_bus_message *msg, const char **ret) {
        int r;

        r = sd_bus_message_skip(msg, "s");
        if (r < 0)
                return r;

        r = sd_bus_message_enter_container(msg, 'a', "{sv}");
        if (r < 0)
                return r;

        while ((r = sd_bus_message_enter_container(msg, 'e', "sv")) > 0) {
                const char *name;

                r = sd_bus_message_read(msg, "s", &name);
                if (r < 0)
                        return r;
                if (streq(name, "ActiveState"))
                        return sd_bus_message_read(msg, "v", "s", ret);

                r = sd_bus_message_skip(msg, "v");
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(msg);
                if (r < 0)
                        return r;
        }

        return r;
}

static int on_properties_changed(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        SystemdWatch *w = ASSERT_PTR(userdata);
        const char *state;
        Unit *u;

        u = g_hash_table_lookup(w->manager->units_by_path, sd_bus_message_get_path(msg));
        if (!u || w->reloading || read_active_state(msg, &state) <= 0)
                return 0;

        if (systemd_active_state(state))
                systemd_fetch_active(w, u);
        else
                systemd_fetch_inactive(u);

        return 0;
}

static int on_subscribed(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdWatch *w = ASSERT_PTR(userdata);

        /* Without its signals our picture would grow old; ask again until it works. */
        if (sd_bus_message_is_method_error(reply, NULL) &&
            !sd_bus_message_is_method_error(reply, "org.freedesktop.systemd1.AlreadySubscribed")) {
                log_warning("Cannot subscribe to systemd's signals: %s",
                            sd_bus_message_get_error(reply)->message);
                systemd_list_schedule_rescan(w);
        }

        return 0;
}

static int subscribe_and_scan(SystemdWatch *w) {
        int r;

        r = sd_bus_call_method_async(w->manager->bus, NULL, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                     SYSTEMD_MANAGER_INTERFACE, "Subscribe", on_subscribed, w, NULL);
        if (r < 0)
                return r;

        w->reloading = false;
        systemd_watch_rescan(w);
        return 0;
}

/* systemd came back on the bus: its subscriptions and our picture are void. */
static int on_name_owner_changed(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        SystemdWatch *w = ASSERT_PTR(userdata);
        const char *new_owner;
        int r;

        if (sd_bus_message_read(msg, "sss", NULL, NULL, &new_owner) < 0)
                return 0;

        if (isempty(new_owner)) {
                manager_set_settled(w->manager, false);
                return 0;
        }

        r = subscribe_and_scan(w);
        if (r < 0)
                log_warning_errno(r, "Cannot subscribe to systemd's signals: %m");

        return 0;
}

static int add_matches(SystemdWatch *w) {
        static const struct {
                const char *rule;
                sd_bus_message_handler_t callback;
        } matches[] = {
                { "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                  "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" SYSTEMD_SERVICE "'",
                  on_name_owner_changed },
                { "type='signal',sender='" SYSTEMD_SERVICE "',path='" SYSTEMD_PATH "',"
                  "interface='" SYSTEMD_MANAGER_INTERFACE "',member='Reloading'",
                  on_reloading },
                { "type='signal',sender='" SYSTEMD_SERVICE "',path='" SYSTEMD_PATH "',"
                  "interface='" SYSTEMD_MANAGER_INTERFACE "',member='UnitNew'",
                  on_unit_new },
                { "type='signal',sender='" SYSTEMD_SERVICE "',path='" SYSTEMD_PATH "',"
                  "interface='" SYSTEMD_MANAGER_INTERFACE "',member='UnitRemoved'",
                  on_unit_removed },
                { "type='signal',sender='" SYSTEMD_SERVICE "',path_namespace='" SYSTEMD_PATH "/unit',"
                  "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
                  "arg0='" SYSTEMD_UNIT_INTERFACE "'",
                  on_properties_changed },
        };
        int r;

        static_assert(ELEMENTSOF(matches) == SYSTEMD_WATCH_MATCHES, "a slot for each match");

        for (size_t i = 0; i < ELEMENTSOF(matches); i++) {
                r = sd_bus_add_match_async(w->manager->bus, &w->match_slots[i], matches[i].rule,
                                           matches[i].callback, NULL, w);
                if (r < 0)
                        return r;
        }

        return 0;
}

int systemd_watch_new(Manager *m, SystemdWatch **ret) {
        SystemdWatch *w;
        int r;

        w = calloc(1, sizeof(SystemdWatch));
        if (!w)
                return -ENOMEM;

        w->manager = m;
        g_queue_init(&w->queue);
        w->new_names = g_ptr_array_new_with_free_func(g_free);
        m->watch = w;

        r = add_matches(w);
        if (r >= 0)
                r = subscribe_and_scan(w);
        if (r < 0) {
                systemd_watch_free(w);
                return r;
        }

        *ret = w;
        return 0;
}

SystemdWatch *systemd_watch_free(SystemdWatch *w) {
        GHashTableIter it;
        gpointer u;

        if (!w)
                return NULL;

        g_hash_table_iter_init(&it, w->manager->units);
        while (g_hash_table_iter_next(&it, NULL, &u))
                systemd_watch_forget(w, u);

        for (size_t i = 0; i < SYSTEMD_WATCH_MATCHES; i++)
                sd_bus_slot_unref(w->match_slots[i]);
        systemd_list_stop(w);
        g_queue_clear(&w->queue);
        w->manager->settled = false;
        w->manager->watch = NULL;
        return mfree(w);
}

void systemd_watch_forget(SystemdWatch *w, Unit *u) {
        for (UnitFetch i = 0; i < _UNIT_FETCH_MAX; i++)
                if (u->fetch_slots[i]) {
                        u->fetch_slots[i] = sd_bus_slot_unref(u->fetch_slots[i]);
                        w->n_in_flight--;
                }

        if (u->fetch_queued)
                g_queue_remove(&w->queue, u);
        u->fetch_queued = u->want_files = u->want_cgroup = false;
        u->files_asked = 0; /* the next watcher counts from the start */
        unit_query_answer(u);
}
