/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints the description of one of the daemon's D-Bus interfaces, as the daemon itself gives it when it is
 * asked: the daemon's objects on a connection that leads back to this process.
 *
 *      introspect INTERFACE */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "daemon/control/control.h"
#include "daemon/core/manager.h"
#include "daemon/core/unit.h"
#include "daemon/dbus/objects.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

#define UNIT "a.slice"

static const char *const no_directories[] = { NULL };

static const ManagerPaths paths = {
        .kernel = { .sysfs = "/nonexistent", .cgroup = "/nonexistent" },
        .policies = no_directories,
        .rules = no_directories,
};

typedef struct Answer {
        sd_event *event;
        const char *interface;
} Answer;

/* From the whole description, which has the standard interfaces too, the one that was asked for. */
static int print_interface(const char *xml, const char *interface) {
        static const char end_tag[] = "</interface>\n";
        _cleanup_free_ char *tag = NULL;
        const char *begin, *end;

        if (asprintf(&tag, " <interface name=\"%s\">", interface) < 0)
                return -ENOMEM;

        begin = strstr(xml, tag);
        end = begin ? strstr(begin, end_tag) : NULL;
        if (!end)
                return -ENOENT;
        end += STRLEN("</interface>\n");

        printf("<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\"\n"
               "\"https://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">\n"
               "<node>\n%.*s</node>\n", (int) (end - begin), begin);
        return 0;
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Answer *a = ASSERT_PTR(userdata);
        const char *xml;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL))
                r = -sd_bus_message_get_errno(reply);
        else
                r = sd_bus_message_read(reply, "s", &xml);
        if (r >= 0)
                r = print_interface(xml, a->interface);

        return sd_event_exit(a->event, r);
}

/* What is made here lasts as long as the process. */
static int add_objects(Manager *m, sd_bus *bus) {
        static ManagerObject *manager_object;
        static UnitObjects *unit_objects;
        static Control *c;
        int r;

        r = sd_bus_add_object_manager(bus, NULL, BUS_PATH);
        if (r < 0)
                return r;

        c = control_new(m);
        r = manager_object_new(c, bus, &manager_object);
        return r < 0 ? r : unit_objects_new(m, bus, &unit_objects);
}

/* Both ends of a connection without a bus between them. */
static int connect_ends(sd_event *event, sd_bus **ret_server, sd_bus **ret_client) {
        sd_id128_t id;
        sd_bus *ends[2] = {};
        int fds[2], r;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                return -errno;

        r = sd_id128_randomize(&id);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(ends); i++) {
                r = sd_bus_new(ends + i);
                if (r >= 0)
                        r = sd_bus_set_fd(ends[i], fds[i], fds[i]);
                if (r >= 0 && i == 0)
                        r = sd_bus_set_server(ends[i], true, id);
                if (r >= 0)
                        r = sd_bus_start(ends[i]);
                if (r >= 0)
                        r = sd_bus_attach_event(ends[i], event, SD_EVENT_PRIORITY_NORMAL);
        }

        *ret_server = ends[0];
        *ret_client = ends[1];
        return r;
}

static int introspect(const char *interface) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *server = NULL, *client = NULL;
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        _cleanup_(manager_freep) Manager *m = NULL;
        _cleanup_free_ char *path = NULL;
        PolicyBackend backend = {};
        Answer answer = { .interface = interface };
        Unit *u;
        int r;

        r = sd_event_new(&event);
        if (r >= 0)
                r = manager_new(&paths, event, &backend, &m);
        if (r < 0)
                return r;

        u = unit_new(m, UNIT);
        /* it has an object then */
        r = policy_setting_assign(&u->setting, "CachePolicy", "lfu", "/etc/" UNIT, 1);
        if (r >= 0)
                r = unit_bus_path(u, &path);
        if (r >= 0)
                r = connect_ends(event, &server, &client);
        if (r >= 0)
                r = add_objects(m, server);
        if (r < 0)
                return r;

        answer.event = event;
        r = sd_bus_call_method_async(client, NULL, NULL,
                                     streq(interface, BUS_INTERFACE_UNIT) ? path : BUS_PATH,
                                     "org.freedesktop.DBus.Introspectable", "Introspect", on_answer, &answer,
                                     "");
        return r < 0 ? r : sd_event_loop(event);
}

int main(int argc, char *argv[]) {
        int r;

        if (argc != 2) {
                fprintf(stderr, "Usage: %s INTERFACE\n", argv[0]);
                return EXIT_FAILURE;
        }

        r = introspect(argv[1]);
        if (r < 0) {
                fprintf(stderr, "Cannot introspect %s: %s\n", argv[1], strerror(-r));
                return EXIT_FAILURE;
        }

        return EXIT_SUCCESS;
}
