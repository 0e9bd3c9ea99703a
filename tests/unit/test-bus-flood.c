/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Users who send more calls than are answered. */

#include "bus-fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "shared/string-util.h"

#define FLOODERS 4U
#define MEMORY_MAX ((size_t) 64 << 20)

/* ---- calls whose senders have to be asked for */

static unsigned n_done, n_refused;

static int on_answer(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        n_done++;
        n_refused += sd_bus_message_is_method_error(m, SD_BUS_ERROR_LIMITS_EXCEEDED) > 0;
        return 0;
}

static void get_unit(const char *name) {
        assert_true(sd_bus_call_method_async(client, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE_MANAGER,
                                             "GetUnit", on_answer, NULL, "s", name) >= 0);
}

/* Settings that are empty, so many of them. */
static void set_nothings(unsigned n) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;

        assert_true(sd_bus_message_new_method_call(client, &m, BUS_NAME, BUS_PATH, BUS_INTERFACE_MANAGER,
                                                   "SetUnitSettings") >= 0);
        assert_true(sd_bus_message_append(m, "s", "a.slice") >= 0);
        assert_true(sd_bus_message_open_container(m, 'a', "s") >= 0);
        for (unsigned i = 0; i < n; i++)
                assert_true(sd_bus_message_append(m, "s", "") >= 0);
        assert_true(sd_bus_message_close_container(m) >= 0);
        assert_true(sd_bus_message_append(m, "bb", false, false) >= 0);
        assert_true(sd_bus_call_async(client, NULL, m, on_answer, NULL, 0) >= 0);
}

static void test_limits(void **state) {
        _cleanup_free_ char *name = g_strnfill(1 << 20, 'x');

        need_bus();
        n_done = n_refused = 0;
        get_unit("a.slice");
        run_while(n_done < 1);
        assert_int_equal(n_refused, 0);

        get_unit(name);
        run_while(n_done < 2);
        assert_int_equal(n_refused, 1);

        set_nothings(10000);
        run_while(n_done < 3);
        assert_int_equal(n_refused, 2);

        for (unsigned i = 0; i < 17; i++)
                get_unit("a.slice");
        run_while(n_done < 20);
        assert_int_equal(fixture->control->callers->len, 0);

        /* the connection goes meanwhile */
        get_unit("a.slice");
        run_while(fixture->control->callers->len == 0);
        disconnect_bus();
        assert_int_equal(fixture->control->callers->len, 0);
        client = sd_bus_flush_close_unref(client);
        connect_bus();
}

/* ---- users */

static uint64_t n_calls;

static int count_call(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        n_calls++;
        return 0;
}

/* Calls whose answers nobody wants, until it is killed. */
static void flood(void) {
        sd_bus *bus;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (sd_bus_open_system(&bus) < 0)
                _exit(1);
        for (;;) {
                sd_bus_message *m = NULL;

                if (sd_bus_message_new_method_call(bus, &m, BUS_NAME, BUS_PATH, BUS_INTERFACE_MANAGER,
                                                   "GetUnit") < 0 ||
                    sd_bus_message_append(m, "s", "a.slice") < 0 ||
                    sd_bus_message_set_expect_reply(m, false) < 0 || sd_bus_send(bus, m, NULL) < 0 ||
                    sd_bus_flush(bus) < 0)
                        _exit(1);
                sd_bus_message_unref(m);
        }
}

static size_t memory_in_use(void) {
        unsigned long pages = 0;
        FILE *f = fopen("/proc/self/statm", "re");

        assert_non_null(f);
        assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
        (void) fclose(f);
        return pages * (size_t) sysconf(_SC_PAGESIZE);
}

/* What the daemon has not got to is the bus's, and kept by the daemon only as far as that is little. */
static void test_memory(void **state) {
        size_t before = memory_in_use();
        pid_t flooders[FLOODERS];

        need_bus();
        n_calls = 0;
        assert_true(sd_bus_add_filter(server, NULL, count_call, NULL) >= 0);
        for (unsigned i = 0; i < FLOODERS; i++) {
                flooders[i] = fork();
                assert_true(flooders[i] >= 0);
                if (flooders[i] == 0)
                        flood();
        }

        run_while_or_fail(n_calls < 5000, "only %" PRIu64 " calls, %zu KiB", n_calls,
                          (memory_in_use() - before) >> 10);
        assert_true(memory_in_use() < before + MEMORY_MAX);
        for (unsigned i = 0; i < FLOODERS; i++)
                stop_program(flooders[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                BUS_TEST(test_limits),
                BUS_TEST(test_memory),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, start_bus, stop_bus);
}
