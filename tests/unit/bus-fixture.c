/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus-fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "shared/cleanup.h"

#define DBUS_DAEMON "/usr/bin/dbus-daemon"

static char directory[] = "/tmp/test-bus-XXXXXX";
static char *socket_path;
static pid_t dbus_daemon;

sd_bus *client, *server;
static ManagerObject *manager_object;
static UnitObjects *unit_objects;

pid_t start_program(char *const argv[], int out_fd) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void) dup2(out_fd, STDOUT_FILENO);
                (void) execvp(argv[0], argv);
                _exit(127);
        }

        return pid;
}

void stop_program(pid_t pid) {
        (void) kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

void connect_bus(void) {
        assert_true(sd_bus_open_system(&server) >= 0);
        assert_true(sd_bus_attach_event(server, fixture->event, SD_EVENT_PRIORITY_NORMAL) >= 0);
        assert_true(sd_bus_add_object_manager(server, NULL, BUS_PATH) >= 0);
        assert_int_equal(manager_object_new(fixture->control, server, &manager_object), 0);
        assert_int_equal(unit_objects_new(fixture->manager, server, &unit_objects), 0);
        assert_true(sd_bus_request_name(server, BUS_NAME, 0) >= 0);
        control_connect(fixture->control, server, /* watch= */ NULL);

        assert_true(sd_bus_open_system(&client) >= 0);
        assert_true(sd_bus_attach_event(client, fixture->event, SD_EVENT_PRIORITY_NORMAL) >= 0);
}

void disconnect_bus(void) {
        control_disconnect(fixture->control);
        unit_objects = unit_objects_free(unit_objects);
        manager_object = manager_object_free(manager_object);
        server = sd_bus_flush_close_unref(server);
}

int bus_setup(void **state) {
        if (access(DBUS_DAEMON, X_OK) < 0)
                return 0;

        (void) fixture_setup(state);
        connect_bus();
        return 0;
}

int bus_teardown(void **state) {
        if (access(DBUS_DAEMON, X_OK) < 0)
                return 0;

        client = sd_bus_flush_close_unref(client);
        disconnect_bus();
        return fixture_teardown(state);
}

void need_bus(void) {
        if (access(DBUS_DAEMON, X_OK) < 0)
                skip();
}

void run_until(const char *text, const char *(*look)(void)) {
        run_while_or_fail(!strstr(look(), text), "no \"%s\" in: %s", text, look());
}

int start_bus(void **state) {
        _cleanup_free_ char *address = NULL, *option = NULL;
        char said;
        int ends[2];

        if (access(DBUS_DAEMON, X_OK) < 0)
                return 0;

        if (!mkdtemp(directory) || asprintf(&socket_path, "%s/bus", directory) < 0 ||
            asprintf(&address, "unix:path=%s", socket_path) < 0 ||
            asprintf(&option, "--address=%s", address) < 0 || pipe2(ends, O_CLOEXEC) < 0)
                return -1;

        dbus_daemon = start_program((char *const[]) { (char *) DBUS_DAEMON, (char *) "--session",
                                              (char *) "--nofork", (char *) "--nopidfile",
                                              (char *) "--print-address", option, NULL }, ends[1]);
        (void) close(ends[1]);
        if (read(ends[0], &said, 1) != 1) /* said when it listens; the socket is there before */
                return -1;
        (void) close(ends[0]);

        return setenv("DBUS_SYSTEM_BUS_ADDRESS", address, true);
}

int stop_bus(void **state) {
        if (!dbus_daemon)
                return 0;

        stop_program(dbus_daemon);
        (void) unlink(socket_path);
        free(socket_path);
        return rmdir(directory);
}
