/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The daemon's objects on a bus of their own, with the reconciler's fixture behind them. */

#include "reconcile-fixture.h"

#include "daemon/dbus/objects.h"

/* Connections in the fixture's event loop: of the daemon, and of somebody else. */
extern sd_bus *server, *client;

/* For all tests of a program. */
int start_bus(void **state);
int stop_bus(void **state);

int bus_setup(void **state);
int bus_teardown(void **state);
#define BUS_TEST(f) cmocka_unit_test_setup_teardown(f, bus_setup, bus_teardown)

/* Skips the test where there is no dbus-daemon. */
void need_bus(void);
/* The daemon's connection, and the other one, come; only the daemon's goes. */
void connect_bus(void);
void disconnect_bus(void);

/* Runs the loop as long as the condition holds, for half a minute at most; then says what is wrong. */
#define run_while_or_fail(condition, ...)                                               \
        do {                                                                            \
                int64_t _end = g_get_monotonic_time() + 30 * G_USEC_PER_SEC;            \
                                                                                        \
                while (condition) {                                                     \
                        if (g_get_monotonic_time() > _end)                              \
                                fail_msg(__VA_ARGS__);                                  \
                        assert_true(sd_event_run(fixture->event, 100 * USEC_PER_MSEC) >= 0); \
                }                                                                       \
        } while (false)
#define run_while(condition) run_while_or_fail(condition, "for ever: %s", #condition)
/* Until the text has come. */
void run_until(const char *text, const char *(*look)(void));

pid_t start_program(char *const argv[], int out_fd);
void stop_program(pid_t pid);
