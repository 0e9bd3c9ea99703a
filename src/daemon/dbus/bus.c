/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus.h"
#include "daemon/control/hold.h"
#include "daemon/control/request.h"
#include "daemon/control/thread-request.h"
#include "daemon/systemd/watch.h"
#include "log-control.h"
#include "manager.h"
#include "shared/log.h"
#include "unit.h"

#define RECONNECT_FIRST_USEC (1 * USEC_PER_SEC)
#define RECONNECT_SHIFT_MAX 5U

static int on_reconnect(sd_event_source *s, uint64_t usec, void *userdata) {
        Manager *m = ASSERT_PTR(userdata);

        m->bus_retry_source = sd_event_source_disable_unref(m->bus_retry_source);
        return manager_bus_connect(m);
}

static int schedule_reconnect(Manager *m) {
        uint64_t delay = RECONNECT_FIRST_USEC << MIN(m->n_bus_attempts, RECONNECT_SHIFT_MAX);

        m->n_bus_attempts++;
        m->bus_retry_source = sd_event_source_disable_unref(m->bus_retry_source);
        return sd_event_add_time_relative(m->event, &m->bus_retry_source, CLOCK_MONOTONIC, delay, 0,
                                          on_reconnect, m);
}

static int on_disconnected(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        Manager *m = ASSERT_PTR(userdata);

        log_warning("The connection to the system bus is gone, trying to get it back.");
        manager_bus_disconnect(m);
        return schedule_reconnect(m);
}

/* Two would take each other's policies away. */
static int another_daemon(Manager *m) {
        log_error("Another cachebpfd has the name " BUS_NAME " on the system bus.");
        return sd_event_exit(m->event, EXIT_FAILURE);
}

static int on_owner_known(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_is_method_error(reply, NULL) ? 0 : another_daemon(userdata);
}

/* The answer is here before the first one of systemd, and so before anything is done to a unit. */
static int look_for_another_daemon(Manager *m, sd_bus *bus) {
        return sd_bus_call_method_async(bus, NULL, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                        "org.freedesktop.DBus", "GetNameOwner", on_owner_known, m,
                                        "s", BUS_NAME);
}

static int on_name_requested(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Manager *m = ASSERT_PTR(userdata);
        uint32_t result;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL)) {
                /* A private bus without our policy file, say: go on, only nobody finds us by name. */
                log_warning("Cannot take the name " BUS_NAME " on the system bus, ignoring: %s",
                            sd_bus_message_get_error(reply)->message);
                return 0;
        }

        r = sd_bus_message_read(reply, "u", &result);
        if (r < 0)
                return log_error_errno(r, "Cannot understand the bus's answer: %m");

        if (result != 1 && result != 4) /* not the primary owner */
                return another_daemon(m);

        m->n_bus_attempts = 0;
        return 0;
}

static int add_objects(Manager *m, sd_bus *bus) {
        int r;

        r = sd_bus_add_object_manager(bus, NULL, BUS_PATH);
        if (r < 0)
                return r;

        r = manager_bus_add(m, bus);
        if (r < 0)
                return r;

        r = unit_bus_add(m, bus);
        if (r < 0)
                return r;

        return log_control_bus_add(bus);
}

static int connect_bus(Manager *m) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system_with_description(&bus, "cachebpfd");
        if (r < 0)
                return r;

        r = sd_bus_attach_event(bus, m->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;

        r = add_objects(m, bus);
        if (r < 0)
                return r;

        r = sd_bus_match_signal_async(bus, NULL, "org.freedesktop.DBus.Local", "/org/freedesktop/DBus/Local",
                                      "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, NULL,
                                      m);
        if (r < 0)
                return r;

        r = look_for_another_daemon(m, bus);
        if (r < 0)
                return r;

        m->bus = TAKE_PTR(bus);
        return systemd_watch_new(m, &m->watch);
}

void manager_bus_take_name(Manager *m) {
        int r;

        if (!m->bus || m->name_requested)
                return;

        r = sd_bus_request_name_async(m->bus, NULL, BUS_NAME, 0, on_name_requested, m);
        if (r < 0)
                log_warning_errno(r, "Cannot take the name " BUS_NAME " on the system bus, ignoring: %m");
        else
                m->name_requested = true;
}

int manager_bus_connect(Manager *m) {
        int r;

        r = connect_bus(m);
        if (r < 0) {
                /* Once is enough to say so; later attempts are silent. */
                if (m->n_bus_attempts == 0)
                        log_warning_errno(r, "Cannot connect to the system bus, trying again later: %m");

                manager_bus_disconnect(m);
                r = schedule_reconnect(m);
                if (r < 0)
                        return log_error_errno(r, "Cannot arm the timer to reconnect: %m");

                if (m->became_ready)
                        m->became_ready(m);
        }

        return 0;
}

static void unit_not_exported(gpointer key, gpointer value, gpointer userdata) {
        ((Unit *) value)->exported = false;
}

void manager_bus_disconnect(Manager *m) {
        thread_requests_refuse(m);
        config_requests_refuse(m);
        holds_end_of_bus(m); /* nobody can tell any more whether their clients are there */
        m->watch = systemd_watch_free(m->watch);
        m->bus = sd_bus_close_unref(m->bus);
        m->name_requested = false;
        g_hash_table_foreach(m->units, unit_not_exported, NULL);
}
