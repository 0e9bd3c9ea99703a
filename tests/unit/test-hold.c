/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Holds: what they are stronger than, what ends them, who may, and what clients of varlink are told. */

#include "varlink-fixture.h"

#include <stdio.h>

#include "daemon/control/hold.h"
#include "daemon/control/request.h"
#include "daemon/core/messages.h"
#include "daemon/varlink/unit.h"
#include "shared/log.h"
#include "shared/varlink-org.cachebpf.Manager.h"

#define NOBODY 65534

static char *dir, *directories[_OVERRIDE_MAX];

static void start(void) {
        fixture->manager->paths.overrides = (const char *const *) directories;
        server_start();
}

static int setup(void **state) {
        dir = test_dir_make();
        assert_true(asprintf(directories + OVERRIDE_PERSISTENT, "%s/etc", dir) > 0);
        assert_true(asprintf(directories + OVERRIDE_RUNTIME, "%s/run", dir) > 0);
        fixture_setup(state);
        start();
        return 0;
}

static int teardown(void **state) {
        server_stop();
        fixture_teardown(state);
        test_dir_remove(dir);
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                free(directories[k]);
        return 0;
}

/* ---- clients */

typedef struct Client {
        Connection connection;
        unsigned n_replies;
        uint32_t cookie;
        char *state, *effective; /* of the unit in the reply */
} Client;

static void on_reply(sd_json_variant *parameters, void *userdata) {
        sd_json_variant *unit = sd_json_variant_by_key(parameters, "unit");
        Client *c = ASSERT_PTR(userdata);

        c->n_replies++;
        c->cookie = (uint32_t) sd_json_variant_unsigned(sd_json_variant_by_key(parameters, "cookie"));
        if (unit && !sd_json_variant_is_null(unit)) {
                g_set_str(&c->state, member_string(unit, "state"));
                g_set_str(&c->effective, member_string(unit, "effective"));
        }
}

static void client_done(Client *c) {
        connection_done(&c->connection);
        free(c->state);
        free(c->effective);
        *c = (Client) {};
}

#define _cleanup_client_ _cleanup_(client_done)

static void send_hold(Client *c, const char *unit, const char *setting, send_t send) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL;

        assert_true(sd_json_buildo(&parameters,
                                   SD_JSON_BUILD_PAIR_STRING("unit", unit),
                                   SD_JSON_BUILD_PAIR_STRV("settings",
                                                           ((char *[]) { (char *) setting, NULL })),
                                   SD_JSON_BUILD_PAIR_STRING("program", "backup"),
                                   SD_JSON_BUILD_PAIR_STRING("reason", "every night")) >= 0);
        connection_call(&c->connection, send, CACHEBPF_VARLINK_INTERFACE ".HoldUnit", parameters, on_reply,
                        c);
}

static void hold(Client *c, const char *unit, const char *setting) {
        send_hold(c, unit, setting, sd_varlink_observe);
}

static void assert_held(const Client *c, const char *effective) {
        assert_null(c->connection.error);
        assert_false(c->connection.ended);
        assert_int_equal(c->n_replies, 1);
        assert_string_equal(c->state, "attached");
        assert_string_equal(c->effective, effective);
}

/* ---- tests */

static void test_as_long_as_the_client(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        _cleanup_client_ Client c = {};
        _cleanup_free_ char *source = NULL, *expected = NULL;
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *holds = NULL;
        Hold *h;

        run();
        hold(&c, "a.slice", "CachePolicy=mru");
        assert_held(&c, "mru"); /* it was in effect when the answer came */
        assert_int_equal(fixture->kernel.n_update, 1);
        assert_lines("a.slice", true, "CachePolicy=mru hold");

        h = manager_find_hold(fixture->manager, c.cookie);
        assert_non_null(h);
        assert_int_equal(h->pid, getpid());
        source = unit_source(u);
        assert_true(asprintf(&expected, "hold %u by backup (PID %i): every night", c.cookie, getpid()) > 0);
        assert_string_equal(source, expected);

        assert_int_equal(unit_varlink_build_holds(u, &holds), 0);
        assert_int_equal(sd_json_variant_elements(holds), 1);
        assert_string_equal(sd_json_variant_string(sd_json_variant_by_key(sd_json_variant_by_index(holds, 0),
                                                                          "reason")),
                            "every night");

        client_done(&c);
        assert_string_equal(u->effective, "lfu");
        assert_int_equal(fixture->kernel.n_update, 2); /* in place both times */
        assert_int_equal(fixture->kernel.n_detach, 0);
        assert_lines("a.slice", true, "CachePolicy=lfu unit");
        assert_int_equal(fixture->manager->holds->len, 0);
}

static void test_without_configuration(void **state) {
        Unit *u = add_unit("a.slice", NULL, 1);
        _cleanup_client_ Client c = {}, early = {};

        run();
        hold(&c, "a.slice", "CachePolicy=mru");
        assert_held(&c, "mru");
        client_done(&c);
        assert_state(u, UNIT_UNCONFIGURED);
        assert_null(u->link);

        /* A unit that is not active gets it when it starts. */
        u = add_unit("b.slice", NULL, 0);
        u->active = true; /* nobody can be asked here whether there is such a unit */
        run();
        hold(&early, "b.slice", "CachePolicy=mru");
        assert_int_equal(early.n_replies, 1);
        assert_string_equal(early.state, "inactive");
        set_cgroup(u, 2);
        run();
        assert_string_equal(u->effective, "mru");
}

static void test_several(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        _cleanup_client_ Client first = {}, second = {}, third = {};

        run();
        hold(&first, "a.slice", "CachePolicy=mru");
        hold(&second, "a.slice", "CachePolicy=get-scan");
        hold(&third, "a.slice", "CacheAdmission=yes");
        assert_held(&third, "get-scan");
        assert_lines("a.slice", true, "CachePolicy=get-scan hold, CacheAdmission=yes hold");

        client_done(&second);
        assert_string_equal(u->effective, "mru");
        assert_lines("a.slice", true, "CachePolicy=mru hold, CacheAdmission=yes hold");
        client_done(&first);
        assert_string_equal(u->effective, "lfu");
        assert_lines("a.slice", true, "CachePolicy=lfu unit, CacheAdmission=yes hold");
        client_done(&third);
        assert_lines("a.slice", true, "CachePolicy=lfu unit");
}

/* What is set meanwhile is checked by itself, and counts afterwards. */
static void test_set_meanwhile(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        _cleanup_(config_outcome_done) ConfigOutcome o = {}, bad = {};
        char *good[] = { (char *) "CachePolicy=get-scan", NULL },
                        *wrong[] = { (char *) "CachePolicy=nosuch", NULL };
        _cleanup_client_ Client c = {};

        run();
        hold(&c, "a.slice", "CachePolicy=mru");

        config_change(fixture->manager, &(const ConfigChange) { .unit = "a.slice", .assignments = wrong },
                      &bad);
        assert_int_equal(bad.error, -EINVAL);
        config_change(fixture->manager, &(const ConfigChange) { .unit = "a.slice", .assignments = good },
                      &o);
        assert_int_equal(o.error, 0);
        assert_string_equal(o.setting.policy, "mru"); /* what holds now */
        run();
        assert_string_equal(u->effective, "mru");

        client_done(&c);
        assert_string_equal(u->effective, "get-scan");
}

static void assert_refused(const char *setting, const char *problem) {
        _cleanup_client_ Client c = {};

        hold(&c, "a.slice", setting);
        assert_int_equal(c.n_replies, 0);
        assert_string_equal(c.connection.error, CACHEBPF_VARLINK_ERROR_INVALID_SETTING);
        assert_string_equal(c.connection.problem, problem);
}

static void test_refused(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        _cleanup_client_ Client once = {};

        run();
        assert_refused("CachePolicy=nosuch", "unknown policy 'nosuch': no nosuch.bpf.o in ; "
                       "'cachectl policies' lists what there is");
        assert_refused("CachePolicyOptions=nosuch=1",
                       "policy 'lfu' has no tunable 'nosuch'; it has nr_scan");
        assert_refused("lfu", "'lfu' is no assignment, which is KEY=VALUE");
        assert_string_equal(u->effective, "lfu");

        /* One answer and no stream: nothing would tell the end. */
        send_hold(&once, "a.slice", "CachePolicy=mru", sd_varlink_invoke);
        assert_string_equal(once.connection.error, SD_VARLINK_ERROR_EXPECTED_MORE);
        assert_int_equal(fixture->manager->holds->len, 0);
}

/* ---- the journal */

static void note_message(int level, const LogFields *fields, const char *message, void *userdata) {
        if (fields && fields->cookie > 0)
                g_string_append_printf(userdata, "%s %s by %s for %s; ", fields->message_id, fields->unit,
                                       fields->program, fields->reason);
}

/* The fields that say more than the message. */
static void test_journal(void **state) {
        g_autoptr(GString) heard = g_string_new(NULL);
        _cleanup_client_ Client c = {};

        (void) add_unit("a.slice", "lfu", 1);
        run();
        log_set_hook(note_message, heard);
        hold(&c, "a.slice", "CachePolicy=mru");
        assert_string_equal(heard->str, MESSAGE_HOLD_BEGUN " a.slice by backup for every night; ");

        g_string_truncate(heard, 0);
        client_done(&c);
        assert_string_equal(heard->str, MESSAGE_HOLD_ENDED " a.slice by backup for every night; ");
        log_set_hook(NULL, NULL);
}

/* ---- who may, and the end of the daemon */

static int last_error;

static int note_error(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        last_error = reply->outcome->error;
        assert_true(last_error < 0 || reply->hold);
        return 0;
}

static int ask(uid_t uid, const char *reason) {
        char *assignments[] = { (char *) "CachePolicy=mru", NULL };

        last_error = 1;
        config_request(fixture->control,
                       &(const ConfigRequestArguments) {
                               .change = { .unit = "a.slice", .assignments = assignments },
                               .hold = true,
                               .reason = reason,
                               .subject = { .pidfd = -EBADF, .uid = uid },
                               .reply = note_error,
                       });
        run();
        assert_int_not_equal(last_error, 1);
        return last_error;
}

static void test_who_may(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        assert_int_equal(ask(NOBODY, NULL), -EACCES);
        assert_int_equal(ask(0, "two\nlines"), -EINVAL);
        assert_int_equal(ask(0, "\xff"), -EINVAL);
        assert_string_equal(u->effective, "lfu");
        assert_int_equal(ask(0, NULL), 0);
        assert_string_equal(u->effective, "mru");
}

static void test_end_of_the_daemon(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);
        _cleanup_client_ Client c = {};

        run();
        hold(&c, "a.slice", "CachePolicy=mru");

        /* Killed: what was held goes on until the next one comes, and not longer. That one does not
         * see the client go. */
        assert_true(sd_varlink_server_bind_disconnect(varlink->server, NULL) >= 0);
        connection_close(&c.connection);
        run();
        server_stop();
        stop_daemon();
        assert_string_equal(fixture->kernel.cgroups[1].policy, "mru");
        start_daemon();
        start();
        u = add_unit("a.slice", "lfu", 1);
        run();
        assert_string_equal(u->effective, "lfu");
        assert_int_equal(fixture->kernel.n_detach, 0);

        /* An orderly end leaves what is configured. */
        holds_end_all(fixture->control);
        assert_int_equal(ask(0, NULL), 0);
        assert_string_equal(u->effective, "mru");
        holds_end_all(fixture->control);
        (void) manager_reconcile(fixture->manager, UINT64_MAX);
        assert_string_equal(u->effective, "lfu");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_as_long_as_the_client),
                TEST(test_without_configuration),
                TEST(test_several),
                TEST(test_set_meanwhile),
                TEST(test_refused),
                TEST(test_journal),
                TEST(test_who_may),
                TEST(test_end_of_the_daemon),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
