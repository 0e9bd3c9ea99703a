/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The varlink method Monitor: what clients are told of the units of a reconciler on a fake kernel. */

#include "varlink-fixture.h"

#include <sys/socket.h>

#include "daemon/varlink/clients.h"
#include "daemon/varlink/unit.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "shared/varlink-org.cachebpf.Manager.h"

typedef struct Client {
        Connection connection;
        GString *heard; /* "change:name:state " for each reply */
} Client;

static const char *text(sd_json_variant *v, const char *key) {
        return member_string(v, key) ?: "-";
}

static void on_reply(sd_json_variant *parameters, void *userdata) {
        sd_json_variant *unit = sd_json_variant_by_key(parameters, "unit");
        Client *c = ASSERT_PTR(userdata);

        assert_true(!unit || streq(text(unit, "unit"), text(parameters, "name")));
        g_string_append_printf(c->heard, "%s:%s:%s ", text(parameters, "change"), text(parameters, "name"),
                               unit ? text(unit, "state") : "-");
}

static void client_start(Client *c, send_t send) {
        c->heard = g_string_new(NULL);
        connection_call(&c->connection, send, CACHEBPF_VARLINK_INTERFACE ".Monitor", NULL, on_reply, c);
}

static void client_stop(Client *c) {
        connection_done(&c->connection);
        g_string_free(c->heard, TRUE);
}

/* What the client heard since it was asked last. */
static void assert_heard(Client *c, const char *expected) {
        run();
        assert_false(c->connection.ended);
        assert_string_equal(c->heard->str, expected);
        g_string_truncate(c->heard, 0);
}

static void test_changes(void **state) {
        Client c = {}, late = {};
        Unit *a, *b;

        server_start();
        a = add_unit("a.slice", "lfu", 1);
        (void) add_unit("plain.slice", NULL, 2);
        run();

        client_start(&c, sd_varlink_observe);
        assert_heard(&c, "listed:a.slice:attached complete:-:- ");

        b = add_unit("b.slice", "nosuch", 3);
        assert_heard(&c, "added:b.slice:failed ");

        configure(b, "mru");
        assert_heard(&c, "changed:b.slice:attached ");

        /* it stops, and is forgotten */
        set_cgroup(a, 0);
        assert_heard(&c, "changed:a.slice:inactive ");
        unit_free(a);
        assert_heard(&c, "removed:a.slice:- ");

        client_start(&late, sd_varlink_observe);
        assert_heard(&late, "listed:b.slice:attached complete:-:- ");

        configure(b, NULL);
        assert_heard(&c, "removed:b.slice:- ");
        assert_heard(&late, "removed:b.slice:- ");

        client_stop(&late);
        configure(b, "lfu");
        assert_heard(&c, "added:b.slice:attached ");

        client_stop(&c);
        server_stop();
}

/* That something may have changed is nothing to tell. */
static void test_no_change(void **state) {
        Client c = {};
        Unit *a;

        server_start();
        a = add_unit("a.slice", "lfu", 1);
        run();
        client_start(&c, sd_varlink_observe);
        assert_heard(&c, "listed:a.slice:attached complete:-:- ");

        manager_notify(fixture->manager, unit_changed, a);
        manager_notify(fixture->manager, unit_changed, a);
        assert_heard(&c, "");

        /* several things at once are one change, and there and back again is none */
        configure(a, "mru");
        configure(a, "get-scan");
        assert_heard(&c, "changed:a.slice:attached ");
        configure(a, NULL);
        configure(a, "get-scan");
        assert_heard(&c, "");

        client_stop(&c);
        server_stop();
}

/* Clients come and go, also while there is something to tell. */
static void test_clients(void **state) {
        Client c[20] = {};
        Unit *a;

        server_start();
        a = add_unit("a.slice", "lfu", 1);
        run();

        for (size_t i = 0; i < ELEMENTSOF(c); i++)
                client_start(c + i, sd_varlink_observe);
        configure(a, "mru");
        for (size_t i = 0; i < ELEMENTSOF(c); i += 2)
                client_stop(c + i);
        for (size_t i = 1; i < ELEMENTSOF(c); i += 2) {
                assert_heard(c + i, "listed:a.slice:attached complete:-:- changed:a.slice:attached ");
                client_stop(c + i);
        }

        /* nobody is there */
        configure(a, "lfu");
        run();
        server_stop();
}

/* More than a user needs are refused, and do not disturb the others. */
static void test_too_many(void **state) {
        Client c[70] = {};
        size_t n_refused = 0;
        Unit *a;

        server_start();
        a = add_unit("a.slice", "lfu", 1);
        for (size_t i = 0; i < ELEMENTSOF(c); i++)
                client_start(c + i, sd_varlink_observe);
        configure(a, "mru");
        run();

        for (size_t i = 0; i < ELEMENTSOF(c); i++) {
                if (c[i].connection.error) {
                        assert_string_equal(c[i].connection.error, SD_VARLINK_ERROR_SYSTEM);
                        n_refused++;
                } else
                        assert_non_null(strstr(c[i].heard->str, "changed:a.slice"));
                client_stop(c + i);
        }
        assert_int_equal(n_refused, geteuid() == 0 ? 0 : ELEMENTSOF(c) - 8); /* root has no limit */
        server_stop();
}

static void test_needs_more(void **state) {
        Client c = {};

        server_start();
        client_start(&c, sd_varlink_invoke);
        assert_string_equal(c.connection.error, SD_VARLINK_ERROR_EXPECTED_MORE);
        client_stop(&c);
        server_stop();
}

/* One that asks, and then reads nothing of what it is sent: the loop ends without it. */
static void test_end_without_reader(void **state) {
        static const char call[] = "{\"method\":\"" CACHEBPF_VARLINK_INTERFACE ".Monitor\",\"more\":true}";
        char buffer[4096];
        sd_varlink *link;
        size_t sum = 0;
        ssize_t n;
        int fds[2];

        server_start();
        for (unsigned i = 0; i < 1000; i++) {
                _cleanup_free_ char *name = NULL;

                assert_true(asprintf(&name, "a%u.slice", i) > 0);
                (void) add_unit(name, "lfu", 0);
        }
        run();

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &(int) { 8192 }, sizeof(int)), 0);
        assert_true(sd_varlink_server_add_connection(varlink->server, fds[0], &link) >= 0);
        assert_int_equal(varlink_clients_add(varlink, link), 0); /* as when it connects to the socket */
        assert_int_equal(write(fds[1], call, sizeof(call)), sizeof(call));
        run();

        (void) alarm(60);
        assert_true(sd_event_exit(fixture->event, 0) >= 0);
        assert_int_equal(sd_event_loop(fixture->event), 0);
        (void) alarm(0);

        while ((n = read(fds[1], buffer, sizeof(buffer))) > 0)
                sum += (size_t) n;
        assert_int_equal(n, 0); /* closed */
        assert_in_range(sum, 1, 64 * 1024);

        (void) safe_close(fds[1]);
        server_stop();
}

/* ---- what is said of a unit */

/* -1: not a word */
static int adopted(Unit *u) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        sd_json_variant *member;

        assert_int_equal(unit_varlink_build(u, &v), 0);
        member = sd_json_variant_by_key(v, "adopted");
        return member ? sd_json_variant_boolean(member) : -1;
}

static void test_adopted(void **state) {
        Unit *a = add_unit("a.slice", "lfu", 1), *plain = add_unit("plain.slice", NULL, 2);

        run();
        assert_int_equal(adopted(a), false);
        assert_int_equal(adopted(plain), -1);

        stop_daemon();
        start_daemon();
        a = add_unit("a.slice", "lfu", 1);
        run();
        assert_int_equal(adopted(a), true);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                FIXTURE_TEST(test_changes),
                FIXTURE_TEST(test_no_change),
                FIXTURE_TEST(test_clients),
                FIXTURE_TEST(test_too_many),
                FIXTURE_TEST(test_needs_more),
                FIXTURE_TEST(test_end_without_reader),
                FIXTURE_TEST(test_adopted),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
