/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* --host= with a stand-in for ssh, and --machine= with one for systemd-machined on a bus of its own. */

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>

static char ssh_path[128], bus_path[128];

/* Connects its standard input and output to the socket, as "ssh -W SOCKET HOST" does with one over there. */
static const char ssh_script[] =
        "#!/usr/bin/env python3\n"
        "import os, select, socket, sys\n"
        "assert len(sys.argv) == 4 and sys.argv[1] == '-W', sys.argv\n"
        "if sys.argv[3] != 'root@there':\n"
        "    sys.exit('ssh: Could not resolve hostname ' + sys.argv[3])\n"
        "s = socket.socket(socket.AF_UNIX)\n"
        "s.connect(sys.argv[2])\n"
        "while True:\n"
        "    for f in select.select([0, s], [], [])[0]:\n"
        "        data = os.read(0, 65536) if f == 0 else s.recv(65536)\n"
        "        if not data:\n"
        "            sys.exit(0)\n"
        "        s.sendall(data) if f == 0 else os.write(1, data)\n";

static void write_script(const char *path, const char *text) {
        _cleanup_fclose_ FILE *f = fopen(path, "we");

        assert_non_null(f);
        fputs(text, f);
        assert_int_equal(fflush(f), 0);
        assert_int_equal(chmod(path, 0755), 0);
}

static void test_host(void **state) {
        _cleanup_(outcome_done) Outcome list = {}, version = {}, top = {}, monitor = {};

        play("normal");
        (void) setenv("SYSTEMD_SSH", ssh_path, true);

        run(&list, "-H", "root@there", "list", "--no-legend", "batch.slice");
        assert_string_equal(list.err, "");
        assert_int_equal(list.status, EXIT_SUCCESS);
        assert_contains(list.out, "batch.slice attached lfu");

        run(&version, "--host=root@there", "version");
        assert_contains(version.out, "cachebpfd 0.1.0");

        /* more than one call on one connection, and a stream */
        run(&top, "--host=root@there", "top", "batch.slice");
        assert_contains(top.out, "94.7%");
        run(&monitor, "--host=root@there", "monitor", "batch.slice");
        assert_contains(monitor.out, "changed batch.slice");
}

static void test_host_fails(void **state) {
        _cleanup_(outcome_done) Outcome wrong = {}, version = {}, none = {}, daemon = {};

        play("normal");
        (void) setenv("SYSTEMD_SSH", ssh_path, true);

        run(&wrong, "-H", "nowhere", "status");
        assert_int_equal(wrong.status, EXIT_FAILURE);
        assert_string_equal(wrong.out, "");
        assert_contains(wrong.err, "ssh: Could not resolve hostname nowhere\n");
        assert_contains(wrong.err, "The connection to nowhere ended before cachebpfd answered");

        /* that is no daemon which does not run */
        run(&version, "-H", "nowhere", "version");
        assert_int_equal(version.status, EXIT_FAILURE);

        stop_manager();
        run(&daemon, "-H", "root@there", "status");
        assert_int_equal(daemon.status, EXIT_FAILURE);
        assert_contains(daemon.err, "The connection to root@there ended");

        (void) setenv("SYSTEMD_SSH", "/nonexistent/ssh", true);
        run(&none, "-H", "root@there", "status");
        assert_int_equal(none.status, EXIT_FAILURE);
        assert_contains(none.err, "there is no program \"/nonexistent/ssh\"");
        assert_one_line(none.err);
        (void) unsetenv("SYSTEMD_SSH");
}

static void test_mistakes(void **state) {
        static const char *const hosts[] = { "", "-oProxyCommand=true", "[::1]", "there:22", "ssh://there" };
        _cleanup_(outcome_done) Outcome machine = {}, verb = {}, both = {};

        for (size_t i = 0; i < ELEMENTSOF(hosts); i++) {
                _cleanup_(outcome_done) Outcome o = {};

                run(&o, "list", "-H", hosts[i]);
                assert_int_equal(o.status, EXIT_USAGE);
                assert_contains(o.err, "Option --host= takes HOST or USER@HOST");
                assert_one_line(o.err);
        }

        run(&machine, "list", "-M", "user@box");
        assert_int_equal(machine.status, EXIT_USAGE);
        assert_contains(machine.err, "Option --machine= takes the name of a container");

        run(&verb, "record", "-H", "there", "a.slice");
        assert_int_equal(verb.status, EXIT_USAGE);
        assert_contains(verb.err, "Option --host means nothing for \"record\"");

        run(&both, "list", "-H", "there", "-M", "box");
        assert_int_equal(both.status, EXIT_USAGE);
        assert_contains(both.err, "It can be --host= or --machine=, not both.");
}

/* ---- machined */

static int get_machine(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *name;
        int r;

        r = sd_bus_message_read(m, "s", &name);
        if (r < 0)
                return r;
        if (!streq(name, "box"))
                return sd_bus_error_setf(error, "org.freedesktop.machine1.NoSuchMachine", "No machine '%s'",
                                         name);

        return sd_bus_reply_method_return(m, "o", "/org/freedesktop/machine1/machine/box");
}

/* A container whose first process has our root directory. */
static uint32_t leader;

static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("GetMachine", "s", "o", get_machine, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable machine_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Leader", "u", NULL, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_VTABLE_END,
};

static int serve_machines(void) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        leader = (uint32_t) getpid();
        r = sd_bus_open_system(&bus);
        for (unsigned i = 0; r < 0 && i < 1000; i++) { /* the socket is there before anybody listens */
                (void) usleep(10 * USEC_PER_MSEC);
                r = sd_bus_open_system(&bus);
        }
        if (r >= 0)
                r = sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/machine1",
                                             "org.freedesktop.machine1.Manager",
                                             manager_vtable, NULL);
        if (r >= 0)
                r = sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/machine1/machine/box",
                                             "org.freedesktop.machine1.Machine", machine_vtable, &leader);
        if (r >= 0)
                r = sd_bus_request_name(bus, "org.freedesktop.machine1", 0);

        while (r >= 0) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
        }
        return r;
}

static void test_machine(void **state) {
        _cleanup_(outcome_done) Outcome none = {}, list = {}, other = {}, daemon = {};
        char address[160], name[192];
        pid_t bus, machined;

        if (access("/usr/bin/dbus-daemon", X_OK) < 0)
                skip();

        (void) snprintf(address, sizeof(address), "unix:path=%s", bus_path);
        (void) snprintf(name, sizeof(name), "--address=%s", address);
        (void) setenv("DBUS_SYSTEM_BUS_ADDRESS", address, true);

        run(&none, "list", "-M", "box");
        assert_int_equal(none.status, EXIT_FAILURE);
        assert_contains(none.err, "systemd-machined cannot be reached");

        bus = start_program((char *const[]) { (char *) "/usr/bin/dbus-daemon", (char *) "--session",
                                              (char *) "--nofork", (char *) "--nopidfile", name, NULL });
        machined = fork();
        if (machined == 0)
                _exit(serve_machines() < 0);

        play("normal");
        for (unsigned i = 0; i < 1000; i++) {
                outcome_done(&list);
                run(&list, "list", "-M", "box", "--no-legend", "batch.slice");
                if (list.status == EXIT_SUCCESS)
                        break;
                (void) usleep(10 * USEC_PER_MSEC);
        }
        assert_string_equal(list.err, "");
        assert_contains(list.out, "batch.slice attached lfu");

        run(&other, "list", "-M", "crate");
        assert_int_equal(other.status, EXIT_FAILURE);
        assert_contains(other.err, "There is no container \"crate\" here");
        assert_one_line(other.err);

        stop_manager();
        run(&daemon, "list", "-M", "box");
        assert_int_equal(daemon.status, EXIT_FAILURE);
        assert_contains(daemon.err, "cachebpfd is not running in the container \"box\".");

        stop_program(machined);
        stop_program(bus);
        (void) unlink(bus_path);
        (void) unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
}

static int setup(void **state) {
        int r;

        r = harness_setup(state);
        (void) snprintf(ssh_path, sizeof(ssh_path), "%s/ssh", harness_directory);
        (void) snprintf(bus_path, sizeof(bus_path), "%s/bus", harness_directory);
        write_script(ssh_path, ssh_script);
        return r;
}

static int teardown(void **state) {
        (void) unlink(ssh_path);
        return harness_teardown(state);
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_host),
                cmocka_unit_test(test_host_fails),
                cmocka_unit_test(test_mistakes),
                cmocka_unit_test(test_machine),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-remote", tests, setup, teardown);
}
