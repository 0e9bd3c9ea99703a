/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "daemon/core/registry.h"
#include "fetch.h"
#include "list.h"
#include "shared/log.h"
#include "watch.h"

#define SUBSCRIBE_AGAIN_USEC (5 * USEC_PER_SEC)

/* Something that was asked for is known; maybe everything. */
static int on_progress(sd_event_source *source, void *userdata) {
        SystemdWatch *w = ASSERT_PTR(userdata);

        if (!w->listed || w->n_in_flight > 0 || !g_queue_is_empty(&w->queue))
                return 0;

        /* Some answer is missing: what is known is used, but nothing is concluded from what is not. */
        if (w->incomplete) {
                w->incomplete = false;
                systemd_list_schedule_rescan(w);
                return 0;
        }

        manager_set_settled(w->manager, true);
        return 0;
}

/* ---- signals */

static int on_unit_new(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        SystemdWatch *w = ASSERT_PTR(userdata);
        const char *name, *path;
        SystemdUnit *s;
        bool known;
        Unit *u;

        if (w->reloading || sd_bus_message_read(msg, "so", &name, &path) < 0)
                return 0;

        u = manager_find_unit(w->manager, name);
        known = u && u->loaded; /* by a list that was faster than the signal */

        s = systemd_list_get_unit(w, name, path);
        if (s && !known) {
                /* Loaded from disk, maybe from other files than the last time; not if we asked for that. */
                s->unit->files_known = s->unit->files_known && s->unit->asked;
                manager_mark_dirty(w->manager, s->unit);
                systemd_list_note_new(w, name);
        }

        return 0;
}

static int on_unit_removed(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        SystemdWatch *w = ASSERT_PTR(userdata);
        const char *name, *path;
        SystemdUnit *s;

        if (w->reloading || sd_bus_message_read(msg, "so", &name, &path) < 0)
                return 0;

        s = g_hash_table_lookup(w->units_by_path, path);
        if (s)
                systemd_fetch_gone(s);

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
                systemd_list_rescan(w);

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
        SystemdUnit *s;

        s = g_hash_table_lookup(w->units_by_path, sd_bus_message_get_path(msg));
        if (!s || w->reloading || read_active_state(msg, &state) <= 0)
                return 0;

        s->unit->stopping = streq(state, "deactivating");
        if (systemd_active_state(state))
                systemd_fetch_active(s);
        else
                systemd_fetch_inactive(s);

        return 0;
}

static int subscribe_and_scan(SystemdWatch *w);

static int on_subscribe_again(sd_event_source *s, uint64_t usec, void *userdata) {
        int r;

        r = subscribe_and_scan(userdata);
        if (r < 0)
                log_warning_errno(r, "Cannot subscribe to systemd's signals: %m");
        return 0;
}

static int on_subscribed(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdWatch *w = ASSERT_PTR(userdata);

        /* Without its signals our picture would grow old; ask again until it works. */
        if (sd_bus_message_is_method_error(reply, NULL) &&
            !sd_bus_message_is_method_error(reply, "org.freedesktop.systemd1.AlreadySubscribed")) {
                log_warning("Cannot subscribe to systemd's signals: %s",
                            sd_bus_message_get_error(reply)->message);
                w->subscribe_source = sd_event_source_disable_unref(w->subscribe_source);
                (void) sd_event_add_time_relative(w->manager->event, &w->subscribe_source, CLOCK_MONOTONIC,
                                                  SUBSCRIBE_AGAIN_USEC, 0, on_subscribe_again, w);
        }

        return 0;
}

static int subscribe_and_scan(SystemdWatch *w) {
        int r;

        r = sd_bus_call_method_async(w->bus, NULL, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                     SYSTEMD_MANAGER_INTERFACE, "Subscribe", on_subscribed, w, NULL);
        if (r < 0)
                return r;

        w->reloading = false;
        systemd_list_rescan(w);
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
                r = sd_bus_add_match_async(w->bus, &w->match_slots[i], matches[i].rule,
                                           matches[i].callback, NULL, w);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- the manager */

static void unit_removed(void *userdata, Unit *u) {
        SystemdWatch *w = ASSERT_PTR(userdata);

        g_hash_table_remove(w->units, u);
}

/* Without a policy the control group of a unit is not known, or no longer. */
static void unit_overridden(void *userdata, Unit *u) {
        SystemdWatch *w = ASSERT_PTR(userdata);
        SystemdUnit *s = g_hash_table_lookup(w->units, u);

        if (s && u->active && !u->link)
                systemd_fetch_active(s);
}

static void reloaded(void *userdata) {
        systemd_list_rescan(userdata);
}

static void reconciled(void *userdata) {
        systemd_fetch_answer(userdata);
}

static const ManagerObserver observer = {
        .reconciled = reconciled,
        .unit_removed = unit_removed,
        .unit_overridden = unit_overridden,
        .reloaded = reloaded,
};

static void systemd_unit_free(void *p) {
        SystemdUnit *s = p;

        systemd_fetch_forget(s);
        if (s->path)
                g_hash_table_remove(s->watch->units_by_path, s->path);
        free(s->path);
        free(s->fragment);
        strv_free(s->dropins);
        free(s);
}

int systemd_watch_new(Manager *m, sd_bus *bus, SystemdWatch **ret) {
        _cleanup_(systemd_watch_freep) SystemdWatch *w = g_new0(SystemdWatch, 1);
        int r;

        w->manager = m;
        w->bus = sd_bus_ref(bus);
        g_queue_init(&w->queue);
        w->units = g_hash_table_new_full(NULL, NULL, NULL, systemd_unit_free);
        w->answered = g_hash_table_new(NULL, NULL);
        w->units_by_path = g_hash_table_new(g_str_hash, g_str_equal);
        w->new_names = g_ptr_array_new_with_free_func(g_free);
        manager_observe(m, &observer, w);

        r = sd_event_add_defer(m->event, &w->settled_source, on_progress, w);
        if (r >= 0)
                r = sd_event_source_set_enabled(w->settled_source, SD_EVENT_OFF);
        if (r >= 0)
                r = add_matches(w);
        if (r >= 0)
                r = subscribe_and_scan(w);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(w);
        return 0;
}

SystemdWatch *systemd_watch_free(SystemdWatch *w) {
        if (!w)
                return NULL;

        manager_unobserve(w->manager, &observer, w);
        for (size_t i = 0; i < SYSTEMD_WATCH_MATCHES; i++)
                sd_bus_slot_unref(w->match_slots[i]);
        systemd_list_stop(w);
        g_hash_table_unref(w->units);
        g_hash_table_unref(w->units_by_path);
        g_hash_table_unref(w->answered);
        sd_event_source_disable_unref(w->settled_source);
        sd_event_source_disable_unref(w->subscribe_source);
        g_queue_clear(&w->queue);
        sd_bus_unref(w->bus);
        w->manager->settled = false;
        return mfree(w);
}
