/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The daemon's objects on a bus of their own: what is listed, what is told, and what the example for
 * programs in Python makes of it.
 *
 *      test-bus EXAMPLE */

#include "bus-fixture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "daemon/control/hold.h"
#include "daemon/dbus/bus.h"
#include "daemon/dbus/objects.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

#define A_PATH "/org/cachebpf1/unit/a_2eslice"

static const char *example;

/* ---- what is told */

static GString *heard;

static const char *heard_text(void) {
        return heard->str;
}

static int on_signal(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        g_string_append_printf(heard, "%s:%s ", sd_bus_message_get_member(m), sd_bus_message_get_path(m));
        return 0;
}

static int on_objects(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *path;
        int r;

        assert_false(sd_bus_message_is_method_error(m, NULL));
        assert_true(sd_bus_message_enter_container(m, 'a', "{oa{sa{sv}}}") > 0);
        while ((r = sd_bus_message_enter_container(m, 'e', "oa{sa{sv}}")) > 0) {
                assert_true(sd_bus_message_read(m, "o", &path) > 0);
                g_string_append_printf(heard, "%s ", path);
                assert_true(sd_bus_message_skip(m, "a{sa{sv}}") > 0);
                assert_true(sd_bus_message_exit_container(m) > 0);
        }
        assert_int_equal(r, 0);
        g_string_append(heard, "END");
        return 0;
}

static int on_listening(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        bool *listening = ASSERT_PTR(userdata);

        *listening = true;
        return 0;
}

static void listen_to_signals(void) {
        static bool listening;

        listening = false;
        assert_true(sd_bus_match_signal_async(client, NULL, BUS_NAME, NULL, NULL, NULL, on_signal,
                                              on_listening, &listening) >= 0);
        run_while(!listening);
        for (unsigned i = 0; i < 10; i++) /* of what was told before that */
                (void) sd_event_run(fixture->event, 100 * USEC_PER_MSEC);
        g_string_truncate(heard, 0);
}

static void test_objects_and_signals(void **state) {
        Unit *a, *b;

        need_bus();
        heard = g_string_new(NULL);
        a = add_unit("a.slice", "lfu", 1);
        (void) add_unit("plain.slice", NULL, 2);
        run();

        assert_true(sd_bus_call_method_async(client, NULL, BUS_NAME, BUS_PATH,
                                             "org.freedesktop.DBus.ObjectManager",
                                             "GetManagedObjects", on_objects, NULL, "") >= 0);
        run_until("END", heard_text);
        assert_non_null(strstr(heard->str, A_PATH " "));
        assert_null(strstr(heard->str, "plain"));

        listen_to_signals();
        configure(a, "mru");
        run_until("PropertiesChanged:" A_PATH, heard_text);
        b = add_unit("b.slice", "lfu", 3);
        run_until("InterfacesAdded:/org/cachebpf1 ", heard_text);
        run_until("PropertiesChanged:/org/cachebpf1 ", heard_text); /* the counts */
        configure(b, NULL);
        run_until("InterfacesRemoved:/org/cachebpf1 ", heard_text);

        g_string_free(heard, TRUE);
}

/* The objects were there before the connection; they change and go like others. */
static void test_after_lost_connection(void **state) {
        Unit *a;

        need_bus();
        heard = g_string_new(NULL);
        a = add_unit("a.slice", "lfu", 1);
        run();
        client = sd_bus_flush_close_unref(client);
        disconnect_bus();
        connect_bus();

        listen_to_signals();
        configure(a, "mru");
        run_until("PropertiesChanged:" A_PATH, heard_text);
        assert_null(strstr(heard->str, "InterfacesAdded"));
        configure(a, NULL);
        run_until("InterfacesRemoved:/org/cachebpf1 ", heard_text);

        g_string_free(heard, TRUE);
}

/* ---- the name */

static void not_connected(void *userdata) {
        fail();
}

static void test_name(void **state) {
        Bus *bus = NULL;
        int code;

        need_bus();
        (void) sd_bus_release_name(server, BUS_NAME);
        disconnect_bus();

        assert_int_equal(bus_new(fixture->control, not_connected, NULL, &bus), 0);
        assert_true(bus_is_connected(bus));
        for (unsigned i = 0; i < 10; i++) /* there is no systemd here, and so nothing is known */
                (void) sd_event_run(fixture->event, 100 * USEC_PER_MSEC);
        assert_int_equal(sd_bus_get_name_creds(client, BUS_NAME, 0, NULL), -ENXIO);

        bus_take_name(bus);
        bus_take_name(bus);
        for (unsigned i = 0; i < 300 && sd_bus_get_name_creds(client, BUS_NAME, 0, NULL) < 0; i++)
                (void) sd_event_run(fixture->event, 100 * USEC_PER_MSEC);
        assert_true(sd_bus_get_name_creds(client, BUS_NAME, 0, NULL) >= 0);
        assert_int_equal(sd_event_get_exit_code(fixture->event, &code), -ENODATA);

        /* The connection is lost, and meanwhile another daemon has come. */
        bus = bus_free(bus);
        for (unsigned i = 0; i < 300 && sd_bus_request_name(client, BUS_NAME, 0) < 0; i++)
                (void) usleep(100 * USEC_PER_MSEC);
        assert_int_equal(bus_new(fixture->control, not_connected, NULL, &bus), 0);
        for (unsigned i = 0; i < 300 && sd_event_get_exit_code(fixture->event, &code) < 0; i++)
                (void) sd_event_run(fixture->event, 100 * USEC_PER_MSEC);
        assert_int_equal(sd_event_get_exit_code(fixture->event, &code), 0);
        assert_int_equal(code, EXIT_FAILURE);
        bus_free(bus);
}

/* ---- holds: of a client that calls, and of one that leaves */

static int on_cookie(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        uint32_t *cookie = ASSERT_PTR(userdata);
        const sd_bus_error *e = sd_bus_message_get_error(m);

        if (e) {
                g_string_append_printf(heard, "%s ", e->name);
                return 0;
        }
        if (sd_bus_message_read(m, "u", cookie) <= 0)
                *cookie = 0; /* of ReleaseHold */
        g_string_append(heard, "done ");
        return 0;
}

static void call_hold(sd_bus *bus, const char *policy, uint32_t *ret) {
        _cleanup_free_ char *setting = NULL;

        assert_true(asprintf(&setting, "CachePolicy=%s", policy) > 0);
        g_string_truncate(heard, 0);
        assert_true(sd_bus_call_method_async(bus, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE_MANAGER,
                                             "HoldUnit", on_cookie, ret,
                                             "sasss", "a.slice", 1, setting, "", "a test") >= 0);
        run_until(" ", heard_text);
}

static void call_release(sd_bus *bus, uint32_t cookie) {
        g_string_truncate(heard, 0);
        assert_true(sd_bus_call_method_async(bus, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE_MANAGER,
                                             "ReleaseHold", on_cookie,
                                             &cookie, "u", cookie) >= 0);
        run_until(" ", heard_text);
}

static const char *effective_policy(void) {
        return strempty(manager_find_unit(fixture->manager, "a.slice")->effective);
}

static int on_holds(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *setting, *program, *reason;
        uint32_t process;

        assert_false(sd_bus_message_is_method_error(m, NULL));
        assert_true(sd_bus_message_enter_container(m, 'v', "a(usasssuut)") > 0);
        assert_true(sd_bus_message_enter_container(m, 'a', "(usasssuut)") > 0);
        assert_true(sd_bus_message_enter_container(m, 'r', "usasssuut") > 0);
        assert_true(sd_bus_message_skip(m, "us") > 0);
        assert_true(sd_bus_message_read(m, "as", 1, &setting) > 0);
        assert_true(sd_bus_message_read(m, "ssu", &program, &reason, &process) > 0);
        assert_int_equal(process, getpid());
        g_string_append_printf(heard, "%s %s %s END", setting, program, reason);
        return 0;
}

static void test_holds(void **state) {
        sd_bus *other = NULL;
        uint32_t cookie = 0, second = 0;

        need_bus();
        if (geteuid() != 0)
                skip(); /* there is no polkit here */

        heard = g_string_new(NULL);
        add_unit("a.slice", "lfu", 1);
        run();
        assert_true(sd_bus_open_system(&other) >= 0);
        assert_true(sd_bus_attach_event(other, fixture->event, SD_EVENT_PRIORITY_NORMAL) >= 0);

        call_hold(client, "nosuch", &cookie);
        assert_string_equal(heard->str, SD_BUS_ERROR_INVALID_ARGS " ");
        call_hold(client, "mru", &cookie);
        assert_string_equal(heard->str, "done ");
        assert_int_not_equal(cookie, 0);
        assert_string_equal(effective_policy(), "mru");

        g_string_truncate(heard, 0);
        assert_true(sd_bus_call_method_async(client, NULL, BUS_NAME, A_PATH,
                                             "org.freedesktop.DBus.Properties", "Get",
                                             on_holds, NULL, "ss", BUS_INTERFACE_UNIT, "Holds") >= 0);
        run_until("END", heard_text);
        assert_string_equal(heard->str, "CachePolicy=mru test-bus a test END");

        call_hold(other, "get-scan", &second);
        assert_string_equal(effective_policy(), "get-scan");

        /* Nobody but the holder may end it. */
        call_release(other, cookie);
        assert_string_equal(heard->str, BUS_ERROR_NO_SUCH_HOLD " ");
        call_release(client, cookie);
        assert_string_equal(heard->str, "done ");
        run();
        assert_string_equal(effective_policy(), "get-scan");
        call_release(client, cookie);
        assert_string_equal(heard->str, BUS_ERROR_NO_SUCH_HOLD " ");

        other = sd_bus_flush_close_unref(other);
        run_until("lfu", effective_policy);
        assert_int_equal(fixture->kernel.n_detach, 0);

        /* Our own connection is lost: nobody can tell whether the clients are there. */
        call_hold(client, "mru", &cookie);
        holds_end_of_bus(fixture->control);
        run();
        assert_string_equal(effective_policy(), "lfu");

        g_string_free(heard, TRUE);
}

/* ---- CachePolicy=auto, CacheReplay= */

static int on_properties(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *name, *type;

        assert_false(sd_bus_message_is_method_error(m, NULL));
        assert_true(sd_bus_message_enter_container(m, 'a', "{sv}") > 0);
        while (sd_bus_message_enter_container(m, 'e', "sv") > 0) {
                const char *text;
                uint64_t n;

                assert_true(sd_bus_message_read(m, "s", &name) > 0);
                assert_true(sd_bus_message_peek_type(m, NULL, &type) > 0);
                if (streq(type, "s") && sd_bus_message_read(m, "v", "s", &text) > 0)
                        g_string_append_printf(heard, "%s=%s|", name, text);
                else if (streq(type, "t") && sd_bus_message_read(m, "v", "t", &n) > 0)
                        g_string_append_printf(heard, "%s=%" PRIu64 "|", name, n);
                else if (streq(type, "a(sdub)")) {
                        const char *candidate;
                        uint32_t banned;
                        double ratio;
                        int out;

                        assert_true(sd_bus_message_enter_container(m, 'v', type) > 0);
                        assert_true(sd_bus_message_enter_container(m, 'a', "(sdub)") > 0);
                        while (sd_bus_message_read(m, "(sdub)", &candidate, &ratio, &banned, &out) > 0)
                                g_string_append_printf(heard, "<%s %g %u %i>", candidate, ratio, banned,
                                                       out);
                        assert_true(sd_bus_message_exit_container(m) > 0);
                        assert_true(sd_bus_message_exit_container(m) > 0);
                } else
                        assert_true(sd_bus_message_skip(m, "v") > 0);
                assert_true(sd_bus_message_exit_container(m) > 0);
        }
        g_string_append(heard, "END");
        return 0;
}

static void test_choice(void **state) {
        Unit *u;

        need_bus();
        heard = g_string_new(NULL);
        u = add_chosen_unit("a.slice", 1);
        assert_int_equal(policy_setting_assign(&u->setting, "CacheReadahead", "128K", "", 0), 0);
        u->replay = g_new(UnitReplay, 1);
        *u->replay = (UnitReplay) {
                .recording_until = 1, .recorded_at = 2, .recorded_bytes = 3, .recorded_ranges = 4,
                .read_at = 5, .read_bytes = 6, .read_ranges = 7, .read_bytes_total = 8,
                .reason = g_strdup("why"),
        };
        assert_true(sd_bus_call_method_async(client, NULL, BUS_NAME, A_PATH,
                                             "org.freedesktop.DBus.Properties", "GetAll",
                                             on_properties, NULL, "s", BUS_INTERFACE_UNIT) >= 0);
        run_until("END", heard_text);
        assert_non_null(strstr(heard->str, "ConfiguredPolicy=auto|"));
        assert_non_null(strstr(heard->str, "Readahead=128K|"));
        assert_non_null(strstr(heard->str, "EffectivePolicy=lru|"));
        assert_non_null(strstr(heard->str, "Chosen=lru|"));
        assert_non_null(strstr(heard->str, "<stock -1 0 0><lru 0.25 0 0><mru nr_scan=64 -1 2 1>"));
        assert_non_null(strstr(heard->str, "Verdict=stays with lru: no other policy gains more than the "
                                           "margin|"));
        assert_non_null(strstr(heard->str, "SwitchReason=from stock to lru: figures|"));
        assert_non_null(strstr(heard->str, "Switches=1|"));
        assert_null(strstr(heard->str, "SwitchTimestamp=0|"));
        assert_non_null(strstr(heard->str, "ReplayRecordingUntil=1|ReplayRecordedTimestamp=2|"
                                           "ReplayRecordedBytes=3|ReplayRecordedRanges=4|ReplayTimestamp=5|"
                                           "ReplayBytes=6|ReplayRanges=7|ReplayBytesTotal=8|"
                                           "ReplayReason=why|"));
        g_string_free(heard, TRUE);
}

/* ---- questions */

static int on_error(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const sd_bus_error *e = sd_bus_message_get_error(m);

        g_string_append_printf(heard, "%s ", e ? e->name : "done");
        return 0;
}

static int on_threads(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *name, *class;
        uint32_t thread;

        assert_false(sd_bus_message_is_method_error(m, NULL));
        assert_true(sd_bus_message_enter_container(m, 'a', "(uss)") > 0);
        while (sd_bus_message_read(m, "(uss)", &thread, &name, &class) > 0)
                if (thread == (uint32_t) getpid())
                        g_string_append_printf(heard, "%s ", name);
        g_string_append(heard, "END");
        return 0;
}

static int on_settings(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *key, *value, *source, *layer;
        int counts;

        assert_false(sd_bus_message_is_method_error(m, NULL));
        assert_true(sd_bus_message_enter_container(m, 'a', "(ssssb)") > 0);
        while (sd_bus_message_read(m, "(ssssb)", &key, &value, &source, &layer, &counts) > 0)
                g_string_append_printf(heard, "%s=%s %s %s %d, ", key, value, source, layer, counts);
        g_string_append(heard, "END");
        return 0;
}

static int on_files(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *name, *replacement, *path, *device;
        uint64_t id, n_decisions, n_wrong, pages, ino, cached;
        int32_t level;
        uint32_t generation;
        int revoked;

        assert_false(sd_bus_message_is_method_error(m, NULL));
        assert_true(sd_bus_message_enter_container(m, 'a', "(stbtta(ist)a(isstut))") > 0);
        while (sd_bus_message_enter_container(m, 'r', "stbtta(ist)a(isstut)") > 0) {
                assert_true(sd_bus_message_read(m, "stbtt", &name, &id, &revoked, &n_decisions,
                                                &n_wrong) > 0);
                g_string_append_printf(heard, "%s %" PRIu64 " %d %" PRIu64 "/%" PRIu64 ", ", name, id,
                                       revoked, n_wrong, n_decisions);
                assert_true(sd_bus_message_enter_container(m, 'a', "(ist)") > 0);
                while (sd_bus_message_read(m, "(ist)", &level, &replacement, &pages) > 0)
                        g_string_append_printf(heard, "%" PRIi32 ":%s %" PRIu64 ", ", level, replacement,
                                               pages);
                assert_true(sd_bus_message_exit_container(m) > 0);
                assert_true(sd_bus_message_enter_container(m, 'a', "(isstut)") > 0);
                while (sd_bus_message_read(m, "(isstut)", &level, &path, &device, &ino, &generation,
                                           &cached) > 0)
                        g_string_append_printf(heard, "%s:%" PRIu64 "=%" PRIi32 ", ", device, ino, level);
                assert_true(sd_bus_message_exit_container(m) > 0);
                assert_true(sd_bus_message_exit_container(m) > 0);
        }
        g_string_append(heard, "END");
        return 0;
}

/* What managers say: which files is for root alone. */
static void test_files(void **state) {
        static const PolicyFile file = { .ino = 7, .dev = 2049, .generation = 11 };
        PolicyManager *m;

        need_bus();
        heard = g_string_new(NULL);
        (void) add_unit("f.slice", "acfs", 4);
        run();
        m = fake_manager(&fixture->kernel, 4);
        m->pages[1] = 5;
        m->n_decisions = 300;
        m->n_wrong = 80;
        *fake_level(&fixture->kernel, 4, &file) = 2;

        assert_true(sd_bus_call_method_async(client, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE_MANAGER,
                                             "ListFiles", on_files, NULL, "s", "f.slice") >= 0);
        run_until("END", heard_text);
        assert_string_equal(heard->str, geteuid() == 0 ? "f.slice 4 0 80/300, 0:lru 5, 8:1:7=2, END" :
                                                         "f.slice 4 0 80/300, 0:lru 5, END");
        g_string_free(heard, TRUE);
}

static void test_questions(void **state) {
        need_bus();
        heard = g_string_new(NULL);
        set(add_unit("a.slice", "lfu", 1), "CachePolicy", "mru", 2);
        run();

        assert_true(sd_bus_call_method_async(client, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE_MANAGER,
                                             "GetUnitSettings", on_settings, NULL, "s", "a.slice") >= 0);
        run_until("END", heard_text);
        assert_string_equal(heard->str, "CachePolicy=lfu /etc/x.slice:7 unit 0, "
                            "CachePolicy=mru /etc/x.slice:2 unit 1, END");
        g_string_truncate(heard, 0);
        assert_true(sd_bus_call_method_async(client, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE_MANAGER,
                                             "GetUnitSettings", on_error, NULL, "s", "../a.slice") >= 0);
        run_until(BUS_ERROR_NO_SUCH_UNIT " ", heard_text);

        g_string_truncate(heard, 0);
        assert_true(sd_bus_call_method_async(client, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE_MANAGER,
                                             "ListThreads", on_threads, NULL, "u",
                                             (uint32_t) getpid()) >= 0);
        run_until("END", heard_text);
        assert_string_equal(heard->str, "test-bus END");
        g_string_free(heard, TRUE);
}

/* ---- the example */

static int example_fd = -EBADF;

static const char *example_text(void) {
        char buffer[4096];
        ssize_t n;

        while ((n = read(example_fd, buffer, sizeof(buffer))) > 0)
                g_string_append_len(heard, buffer, n);
        return heard->str;
}

static void test_example(void **state) {
        int fds[2];
        Unit *a, *b;
        pid_t pid;

        need_bus();

        heard = g_string_new(NULL);
        a = add_unit("a.slice", "lfu", 1);
        run();

        assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        pid = start_program((char *const[]) { (char *) example, NULL }, fds[1]);
        (void) close(fds[1]);
        example_fd = fds[0];

        run_until("a.slice: attached lfu, no accesses\n", example_text);
        configure(a, "mru");
        run_until("changed a.slice: attached mru\n", example_text);
        b = add_unit("b.slice", "nosuch", 2);
        run_until("added b.slice: ", example_text);
        run_until("unknown policy 'nosuch'", example_text);
        configure(b, NULL);
        run_until("removed b.slice\n", example_text);

        stop_program(pid);
        example_fd = safe_close(example_fd);
        g_string_free(heard, TRUE);
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                BUS_TEST(test_objects_and_signals),
                BUS_TEST(test_after_lost_connection),
                BUS_TEST(test_name),
                BUS_TEST(test_holds),
                BUS_TEST(test_choice),
                BUS_TEST(test_questions),
                BUS_TEST(test_files),
                BUS_TEST(test_example),
        };

        if (argc != 2) {
                fprintf(stderr, "Usage: %s EXAMPLE\n", argv[0]);
                return 1;
        }
        example = argv[1];

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, start_bus, stop_bus);
}
