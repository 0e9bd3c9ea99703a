/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus.h"
#include "daemon/control/control.h"
#include "objects.h"
#include "shared/log.h"
#include "shared/string-util.h"

#define RECONNECT_FIRST_USEC (1 * USEC_PER_SEC)
#define RECONNECT_SHIFT_MAX 5U

/* What systemd says would come behind all calls that users have sent and that are not answered yet: the bus
 * keeps any number of them. So there is a connection for systemd, polkit and the bus itself, and one for all
 * who call us. Users may send nothing to the former, by this name. */
#define PRIVATE_NAME BUS_NAME ".Private"

struct Bus {
        Control *control;
        sd_event *event;
        sd_bus *bus;                 /* for what we ask; NULL: there is none now */
        sd_bus *clients;             /* for what we are asked; as long as the other one is there */
        SystemdWatch *watch;
        ManagerObject *manager_object;
        UnitObjects *unit_objects;
        bool name_requested;         /* on this connection */
        sd_event_source *retry_source;
        unsigned n_attempts;
        void (*failed)(void *userdata);
        void *userdata;
};

static void disconnect(Bus *b) {
        control_disconnect(b->control);
        b->watch = systemd_watch_free(b->watch);
        b->unit_objects = unit_objects_free(b->unit_objects);
        b->manager_object = manager_object_free(b->manager_object);
        b->clients = sd_bus_close_unref(b->clients);
        b->bus = sd_bus_close_unref(b->bus);
        b->name_requested = false;
}

/* ---- the name: two daemons would take each other's policies away */

static int another_daemon(Bus *b) {
        log_error("Another cachebpfd has the name " BUS_NAME " on the system bus.");
        return sd_event_exit(b->event, EXIT_FAILURE);
}

static int on_owner_known(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_is_method_error(reply, NULL) ? 0 : another_daemon(userdata);
}

/* The answer is here before the first one of systemd, and so before anything is done to a unit. */
static int look_for_another_daemon(Bus *b) {
        return sd_bus_call_method_async(b->bus, NULL, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                        "org.freedesktop.DBus", "GetNameOwner", on_owner_known, b,
                                        "s", BUS_NAME);
}

static int on_name_requested(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Bus *b = ASSERT_PTR(userdata);
        uint32_t result;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL)) {
                /* A private bus without our policy file, say: only, nobody finds us by name. */
                log_warning("Cannot take the name " BUS_NAME " on the system bus, ignoring: %s",
                            sd_bus_message_get_error(reply)->message);
                return 0;
        }

        r = sd_bus_message_read(reply, "u", &result);
        if (r < 0)
                return log_error_errno(r, "Cannot understand the bus's answer: %m");

        if (result != 1 && result != 4) /* not the primary owner */
                return another_daemon(b);

        b->n_attempts = 0;
        return 0;
}

void bus_take_name(Bus *b) {
        int r;

        if (!b->bus || b->name_requested)
                return;

        r = sd_bus_request_name_async(b->clients, NULL, BUS_NAME, 0, on_name_requested, b);
        if (r < 0)
                log_warning_errno(r, "Cannot take the name " BUS_NAME " on the system bus, ignoring: %m");
        else
                b->name_requested = true;
}

bool bus_is_connected(const Bus *b) {
        return b->bus;
}

/* ---- the connection */

static int connect_or_retry(Bus *b);

static int on_retry(sd_event_source *s, uint64_t usec, void *userdata) {
        Bus *b = ASSERT_PTR(userdata);

        b->retry_source = sd_event_source_disable_unref(b->retry_source);
        return connect_or_retry(b);
}

static int schedule_retry(Bus *b) {
        uint64_t delay = RECONNECT_FIRST_USEC << MIN(b->n_attempts, RECONNECT_SHIFT_MAX);

        b->n_attempts++;
        b->retry_source = sd_event_source_disable_unref(b->retry_source);
        return sd_event_add_time_relative(b->event, &b->retry_source, CLOCK_MONOTONIC, delay, 0, on_retry,
                                          b);
}

static int on_disconnected(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        Bus *b = ASSERT_PTR(userdata);

        log_warning("The connection to the system bus is gone, trying to get it back.");
        disconnect(b);
        return schedule_retry(b);
}

/* Of calls whose answers are wanted the bus lets nobody have many under way. Others it takes as they come:
 * who only asks has nothing of that but that we are busy. */
static int on_call(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        const char *member = strempty(sd_bus_message_get_member(msg));

        return sd_bus_message_is_method_call(msg, NULL, NULL) > 0 &&
                sd_bus_message_get_expect_reply(msg) == 0 &&
                (startswith(member, "Get") || startswith(member, "List") || streq(member, "Introspect"));
}

static int add_objects(Bus *b) {
        int r;

        r = sd_bus_add_filter(b->clients, NULL, on_call, NULL);
        if (r >= 0)
                r = sd_bus_add_object_manager(b->clients, NULL, BUS_PATH);
        if (r >= 0)
                r = manager_object_new(b->control, b->clients, &b->manager_object);
        if (r >= 0)
                r = unit_objects_new(b->control->manager, b->clients, &b->unit_objects);
        return r < 0 ? r : log_control_bus_add(b->clients);
}

static int connect_one(Bus *b, const char *description, int priority, sd_bus **ret) {
        int r;

        r = sd_bus_open_system_with_description(ret, description);
        if (r >= 0)
                r = sd_bus_attach_event(*ret, b->event, priority);
        return r < 0 ? r :
               sd_bus_match_signal_async(*ret, NULL, "org.freedesktop.DBus.Local",
                                         "/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local",
                                         "Disconnected", on_disconnected, NULL, b);
}

/* Without our policy file, users may disturb us. */
static int on_private_name(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        if (sd_bus_message_is_method_error(reply, NULL))
                log_debug("Cannot take the name " PRIVATE_NAME ", ignoring: %s",
                          sd_bus_message_get_error(reply)->message);
        return 0;
}

static int connect_bus(Bus *b) {
        int r;

        r = connect_one(b, "cachebpfd", SD_EVENT_PRIORITY_NORMAL, &b->bus);
        if (r >= 0)
                r = connect_one(b, "cachebpfd-clients", PRIORITY_USERS, &b->clients);
        if (r >= 0)
                r = add_objects(b);
        if (r >= 0)
                r = sd_bus_request_name_async(b->bus, NULL, PRIVATE_NAME, 0, on_private_name, b);
        if (r >= 0)
                r = look_for_another_daemon(b);
        if (r >= 0)
                r = systemd_watch_new(b->control->manager, b->bus, &b->watch);
        if (r >= 0)
                control_connect(b->control, b->bus, b->watch);
        return r;
}

static int connect_or_retry(Bus *b) {
        int r;

        r = connect_bus(b);
        if (r >= 0)
                return 0;

        /* Once is enough to say so; later attempts are silent. */
        if (b->n_attempts == 0)
                log_warning_errno(r, "Cannot connect to the system bus, trying again later: %m");

        disconnect(b);
        r = schedule_retry(b);
        if (r < 0)
                return log_error_errno(r, "Cannot arm the timer to reconnect: %m");

        b->failed(b->userdata);
        return 0;
}

int bus_new(Control *c, void (*failed)(void *userdata), void *userdata, Bus **ret) {
        Bus *b = g_new(Bus, 1);

        *b = (Bus) {
                .control = c,
                .event = sd_event_ref(c->manager->event),
                .failed = failed,
                .userdata = userdata,
        };
        *ret = b; /* failed() may want to know it */
        return connect_or_retry(b);
}

Bus *bus_free(Bus *b) {
        if (!b)
                return NULL;

        disconnect(b);
        sd_event_source_disable_unref(b->retry_source);
        sd_event_unref(b->event);
        return mfree(b);
}
