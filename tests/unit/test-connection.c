/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The daemon's own connection to the bus: its name, another daemon that has it, no bus, one that breaks. */

#include "played-systemd.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/dbus/bus.h"
#include "shared/cleanup.h"
#include "shared/log.h"

static Bus *bus;
static sd_bus *other; /* somebody who looks at names, or has them */
static unsigned n_failed, n_errors;

static void failed(void *userdata) {
        n_failed++;
}

static void note_error(int level, const LogFields *fields, const char *message, void *userdata) {
        n_errors += level <= LOG_ERR;
}

static int begin(void **state) {
        (void) play_setup(state);
        if (!fixture)
                return 0;

        disconnect_bus();
        n_failed = n_errors = 0;
        log_set_hook(note_error, NULL);
        assert_true(sd_bus_open_system(&other) >= 0);
        return 0;
}

static int end(void **state) {
        if (!fixture)
                return 0;

        bus = bus_free(bus);
        other = sd_bus_flush_close_unref(other);
        log_set_hook(NULL, NULL);
        return play_teardown(state);
}

static void connect_daemon(void) {
        assert_int_equal(bus_new(fixture->control, failed, NULL, &bus), 0);
}

/* All is known that systemd has, and what follows from that is done. */
static void settle(void) {
        run_while(!fixture->manager->settled);
        run();
}

static bool has_owner(void) {
        _cleanup_(sd_bus_creds_unrefp) sd_bus_creds *creds = NULL;

        return sd_bus_get_name_creds(other, BUS_NAME, 0, &creds) >= 0;
}

/* The loop ends, by a failure, and one line says why. */
static void expect_exit(void) {
        int code;

        run_while(sd_event_get_state(fixture->event) != SD_EVENT_FINISHED);
        assert_int_equal(sd_event_get_exit_code(fixture->event, &code), 0);
        assert_int_equal(code, EXIT_FAILURE);
        assert_int_equal(n_errors, 1);
        assert_int_equal(fixture->kernel.n_attach, 0);
}

static void test_name(void **state) {
        need_bus();
        (void) play_unit("a.slice", "active", 1, "lfu");
        connect_daemon();
        assert_true(bus_is_connected(bus));
        settle();
        expect_unit("a.slice", "active lfu /1 1 attached");
        assert_int_equal(n_failed, 0);

        /* Not before it is asked for, and once. */
        assert_false(has_owner());
        bus_take_name(bus);
        run_while(!has_owner());
        bus_take_name(bus);
        run();
        assert_int_equal(n_errors, 0);
        bus = bus_free(bus);
        run_while(has_owner());
}

/* Before anything is done to a unit. */
static void test_another_daemon(void **state) {
        need_bus();
        (void) play_unit("a.slice", "active", 1, "lfu");
        assert_true(sd_bus_request_name(other, BUS_NAME, 0) >= 0);
        connect_daemon();
        expect_exit();
}

/* It came after we looked. */
static void test_another_is_faster(void **state) {
        need_bus();
        connect_daemon();
        settle();
        assert_true(sd_bus_request_name(other, BUS_NAME, 0) >= 0);
        bus_take_name(bus);
        expect_exit();
}

/* Calls that are not answered yet keep nobody from hearing systemd. */
static void flood(void) {
        sd_bus *client_bus;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (sd_bus_open_system(&client_bus) < 0)
                _exit(1);
        for (;;) {
                sd_bus_message *m = NULL;

                if (sd_bus_message_new_method_call(client_bus, &m, BUS_NAME, BUS_PATH, BUS_INTERFACE_MANAGER,
                                                   "GetUnit") < 0 ||
                    sd_bus_message_append(m, "s", "a.slice") < 0 ||
                    sd_bus_message_set_expect_reply(m, false) < 0 || sd_bus_send(client_bus, m, NULL) < 0 ||
                    sd_bus_flush(client_bus) < 0)
                        _exit(1);
                sd_bus_message_unref(m);
        }
}

static unsigned n_replies;

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        n_replies++;
        return 0;
}

static void get_unit(const char *name, bool expect_reply) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;

        assert_true(sd_bus_message_new_method_call(client, &m, BUS_NAME, BUS_PATH, BUS_INTERFACE_MANAGER,
                                                   "GetUnit") >= 0);
        assert_true(sd_bus_message_append(m, "s", name) >= 0);
        assert_true(sd_bus_message_set_expect_reply(m, expect_reply) >= 0);
        assert_true((expect_reply ? sd_bus_call_async(client, NULL, m, on_reply, NULL, 0) :
                                    sd_bus_send(client, m, NULL)) >= 0);
}

/* Who wants no answer has no question. */
static void test_no_answer(void **state) {
        need_bus();
        connect_daemon();
        settle();
        bus_take_name(bus);
        run_while(!has_owner());
        forget_asked();
        n_replies = 0;
        for (unsigned i = 0; i < 2; i++) {
                get_unit("x.service", /* expect_reply= */ false);
                get_unit("y.service", /* expect_reply= */ true);
        }
        run_while(n_replies < 2);
        assert_int_equal(count_asked("x.service"), 0);
        assert_int_not_equal(count_asked("y.service"), 0);
}

static bool is_attached(const char *name) {
        const Unit *u = manager_find_unit(fixture->manager, name);

        return u && u->state == UNIT_ATTACHED;
}

static void test_flood(void **state) {
        pid_t flooders[4];

        need_bus();
        connect_daemon();
        settle();
        bus_take_name(bus);
        run_while(!has_owner());
        for (size_t i = 0; i < ELEMENTSOF(flooders); i++) {
                flooders[i] = fork();
                assert_true(flooders[i] >= 0);
                if (flooders[i] == 0)
                        flood();
        }
        g_usleep(2 * G_USEC_PER_SEC); /* many of them wait for us */

        play_new(play_unit("b.slice", "active", 2, "lfu"));
        run_while(!is_attached("b.slice"));
        for (size_t i = 0; i < ELEMENTSOF(flooders); i++)
                stop_program(flooders[i]);
}

static void test_no_bus(void **state) {
        _cleanup_free_ char *address = NULL;

        need_bus();
        address = strdup(getenv("DBUS_SYSTEM_BUS_ADDRESS"));
        assert_int_equal(setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", true), 0);
        connect_daemon();
        assert_int_equal(n_failed, 1);
        assert_false(bus_is_connected(bus));
        assert_null(fixture->control->bus);
        bus_take_name(bus);

        assert_int_equal(setenv("DBUS_SYSTEM_BUS_ADDRESS", address, true), 0);
        run_while(!bus_is_connected(bus));
        settle();
        assert_int_equal(n_failed, 1);
        bus_take_name(bus);
        run_while(!has_owner());
}

/* The name is to be asked for on the new connection, too. */
static void test_connection_breaks(void **state) {
        need_bus();
        (void) play_unit("a.slice", "active", 1, "lfu");
        connect_daemon();
        settle();
        bus_take_name(bus);
        run_while(!has_owner());

        assert_int_equal(shutdown(sd_bus_get_fd(fixture->control->bus), SHUT_RDWR), 0);
        run_while(bus_is_connected(bus));
        assert_null(fixture->control->bus);
        expect_unit("a.slice", "active lfu /1 1 attached");
        run_while(has_owner());

        run_while(!bus_is_connected(bus));
        bus_take_name(bus);
        run_while(!has_owner());
        assert_int_equal(n_errors, 0);
        assert_int_equal(n_failed, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        const struct CMUnitTest tests[] = {
                TEST(test_name),
                TEST(test_another_daemon),
                TEST(test_another_is_faster),
                TEST(test_no_answer),
                TEST(test_flood),
                TEST(test_no_bus),
                TEST(test_connection_breaks),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, start_bus, stop_bus);
}
