/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/unit-file.h"
#include "daemon/core/registry.h"
#include "daemon/core/unit.h"
#include "fetch.h"
#include "list.h"
#include "shared/log.h"

#define RESCAN_AFTER_ERROR_USEC (5 * USEC_PER_SEC)
#define NEW_UNITS_DELAY_USEC (20 * USEC_PER_MSEC)

bool systemd_active_state(const char *s) {
        return !streq(s, "inactive") && !streq(s, "failed");
}

static SystemdUnit *systemd_unit_new(SystemdWatch *w, Unit *u) {
        SystemdUnit *s = g_new0(SystemdUnit, 1);

        s->watch = w;
        s->unit = u;
        g_hash_table_insert(w->units, u, s);
        return s;
}

static void set_path(SystemdUnit *s, const char *path) {
        if (streq_ptr(s->path, path))
                return;

        if (s->path)
                g_hash_table_remove(s->watch->units_by_path, s->path);
        g_set_str(&s->path, path);
        g_hash_table_insert(s->watch->units_by_path, s->path, s);
}

SystemdUnit *systemd_list_get_unit(SystemdWatch *w, const char *name, const char *path) {
        Manager *m = w->manager;
        SystemdUnit *s;
        Unit *u;

        if (!unit_name_to_section(name))
                return NULL;

        u = manager_find_unit(m, name);
        if (!u && g_hash_table_size(m->units) >= UNITS_MAX) {
                log_warning("More than %u units, ignoring '%s'.", UNITS_MAX, name);
                return NULL;
        }
        if (!u)
                u = unit_new(m, name);

        s = g_hash_table_lookup(w->units, u) ?: systemd_unit_new(w, u);
        set_path(s, path);
        u->loaded = true;
        return s;
}

/* ---- asking */

static int call_list(SystemdWatch *w, const char *const *states, const char *const *patterns,
                     sd_bus_message_handler_t callback, sd_bus_slot **ret_slot) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(w->bus, &call, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                           SYSTEMD_MANAGER_INTERFACE, "ListUnitsByPatterns");
        if (r >= 0)
                r = sd_bus_message_append_strv(call, (char **) states);
        if (r >= 0)
                r = sd_bus_message_append_strv(call, (char **) patterns);
        return r < 0 ? r : sd_bus_call_async(w->bus, ret_slot, call, callback, w, 0);
}

/* Calls func for each unit of a reply. */
static int read_list(SystemdWatch *w, sd_bus_message *reply,
                     void (*func)(SystemdUnit *s, bool active)) {
        const char *name, *load, *active, *path;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL)) {
                log_warning("Cannot list the units of systemd, trying again: %s",
                            sd_bus_message_get_error(reply)->message);
                return -EREMOTEIO;
        }

        r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");

        while (r >= 0 &&
               (r = sd_bus_message_read(reply, "(ssssssouso)", &name, NULL, &load, &active, NULL, NULL,
                                        &path, NULL, NULL, NULL)) > 0) {
                SystemdUnit *u = NULL;

                if (!streq(load, "not-found")) /* somebody names it, and there is none */
                        u = systemd_list_get_unit(w, name, path);
                if (u)
                        func(u, systemd_active_state(active));
        }

        if (r < 0)
                log_warning_errno(r, "Cannot understand systemd's list of units, trying again: %m");
        return r;
}

/* ---- all units */

static void unit_listed(SystemdUnit *s, bool active) {
        s->seen = true;
        if (active) /* what the first list has may have started long ago */
                systemd_unit_is_active(s->unit, s->watch->listed_once);
        else
                systemd_fetch_inactive(s);

        /* A unit that started while the list was made was asked for its files already. */
        if (s->files_asked < s->watch->n_rescans)
                systemd_fetch_queue(s, /* files= */ true, /* cgroup= */ false);
}

static void not_listed(Unit *u) {
        u->loaded = u->fetching = false;
        manager_mark_dirty(u->manager, u);
}

static int on_units_listed(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdWatch *w = ASSERT_PTR(userdata);
        GHashTableIter it;
        gpointer p;

        w->list_slot = sd_bus_slot_unref(w->list_slot);

        g_hash_table_iter_init(&it, w->units);
        while (g_hash_table_iter_next(&it, NULL, &p))
                ((SystemdUnit *) p)->seen = false;

        if (read_list(w, reply, unit_listed) < 0) {
                systemd_list_schedule_rescan(w);
                return 0;
        }

        g_hash_table_iter_init(&it, w->manager->units);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                SystemdUnit *u = g_hash_table_lookup(w->units, p);

                if (!u) /* an earlier watcher knew it */
                        not_listed(p);
                else if (!u->seen)
                        systemd_fetch_gone(u);
        }

        w->listed = w->listed_once = true;
        (void) sd_event_source_set_enabled(w->settled_source, SD_EVENT_ONESHOT);
        return 0;
}

void systemd_list_rescan(SystemdWatch *w) {
        static const char *const patterns[] = { "*.slice", "*.service", "*.scope", NULL };
        int r;

        w->rescan_source = sd_event_source_disable_unref(w->rescan_source);
        w->list_slot = sd_bus_slot_unref(w->list_slot);
        w->listed = false;
        w->n_rescans++;
        manager_set_settled(w->manager, false);

        r = call_list(w, NULL, patterns, on_units_listed, &w->list_slot);
        if (r < 0) {
                log_warning_errno(r, "Cannot ask systemd for its units, trying again: %m");
                systemd_list_schedule_rescan(w);
        }
}

static int on_rescan(sd_event_source *s, uint64_t usec, void *userdata) {
        systemd_list_rescan(userdata);
        return 0;
}

void systemd_list_schedule_rescan(SystemdWatch *w) {
        int r;

        w->rescan_source = sd_event_source_disable_unref(w->rescan_source);
        r = sd_event_add_time_relative(w->manager->event, &w->rescan_source, CLOCK_MONOTONIC,
                                       RESCAN_AFTER_ERROR_USEC, 0, on_rescan, w);
        if (r < 0)
                log_error_errno(r, "Cannot arm the timer to ask systemd again: %m");
}

/* ---- new units
 *
 * One that starts right after it was loaded may be
 * active when it is announced, and then no signal says so. */

static void new_unit_listed(SystemdUnit *s, bool active) {
        if (active)
                systemd_fetch_active(s);
}

static int on_new_units_listed(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdWatch *w = ASSERT_PTR(userdata);

        w->new_slot = sd_bus_slot_unref(w->new_slot);

        if (read_list(w, reply, new_unit_listed) < 0)
                systemd_list_schedule_rescan(w);
        else if (w->new_names->len > 0) /* announced meanwhile */
                systemd_list_note_new(w, NULL);

        return 0;
}

static int on_new_delay(sd_event_source *s, uint64_t usec, void *userdata) {
        static const char *const states[] = { "active", "reloading", "activating", "deactivating",
                                              "refreshing", NULL };
        SystemdWatch *w = ASSERT_PTR(userdata);
        _cleanup_ptr_array_ GPtrArray *names = w->new_names;
        int r;

        w->new_source = sd_event_source_disable_unref(w->new_source);
        w->new_names = g_ptr_array_new_with_free_func(g_free);

        g_ptr_array_add(names, NULL);
        r = call_list(w, states, (const char *const *) names->pdata, on_new_units_listed, &w->new_slot);
        if (r < 0) {
                log_warning_errno(r, "Cannot ask systemd for its units, trying again: %m");
                systemd_list_schedule_rescan(w);
        }

        return 0;
}

void systemd_list_note_new(SystemdWatch *w, const char *name) {
        int r;

        if (name)
                g_ptr_array_add(w->new_names, g_strdup(name));

        if (w->new_source || w->new_slot)
                return;

        r = sd_event_add_time_relative(w->manager->event, &w->new_source, CLOCK_MONOTONIC,
                                       NEW_UNITS_DELAY_USEC, 0, on_new_delay, w);
        if (r < 0)
                log_error_errno(r, "Cannot arm the timer to ask systemd for new units: %m");
}

void systemd_list_stop(SystemdWatch *w) {
        w->list_slot = sd_bus_slot_unref(w->list_slot);
        w->new_slot = sd_bus_slot_unref(w->new_slot);
        w->rescan_source = sd_event_source_disable_unref(w->rescan_source);
        w->new_source = sd_event_source_disable_unref(w->new_source);
        if (w->new_names)
                g_ptr_array_unref(w->new_names);
        w->new_names = NULL;
}
