/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests that wait for polkit and systemd, which are played here: how many may, which unit is meant. */

#include "played-systemd.h"

#include <stdio.h>

#include "daemon/control/lookup.h"
#include "daemon/control/request.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

#define NOBODY 65534

static char *directories[_OVERRIDE_MAX];

/* What clients were told. */
static unsigned n_busy, n_denied, n_done;
static GString *names;

/* ---- polkit */

static unsigned n_asked;
/* NULL: it does not. */
static const char *polkit_answer;
static GString *subjects;

/* kind and what says who it is: KEY=VALUE, of a descriptor that it is one */
static void note_subject(sd_bus_message *m) {
        const char *text, *type;
        int number;

        assert_true(sd_bus_message_enter_container(m, 'r', "sa{sv}") > 0);
        assert_true(sd_bus_message_read(m, "s", &text) > 0);
        g_string_append(subjects, text);
        assert_true(sd_bus_message_enter_container(m, 'a', "{sv}") > 0);
        while (sd_bus_message_enter_container(m, 'e', "sv") > 0) {
                assert_true(sd_bus_message_read(m, "s", &text) > 0);
                g_string_append_printf(subjects, " %s=", text);
                assert_true(sd_bus_message_peek_type(m, NULL, &type) > 0);
                if (streq(type, "s")) {
                        assert_true(sd_bus_message_read(m, "v", type, &text) > 0);
                        g_string_append(subjects, text);
                } else {
                        assert_true(sd_bus_message_read(m, "v", type, &number) > 0);
                        g_string_append_printf(subjects, "%s%d", type, streq(type, "h") ? 0 : number);
                }
                assert_true(sd_bus_message_exit_container(m) >= 0);
        }
        g_string_append(subjects, "; ");
}

static int on_check(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        n_asked++;
        note_subject(m);
        if (!polkit_answer)
                return 1;
        if (streq(polkit_answer, REFUSED))
                return sd_bus_reply_method_errorf(m, REFUSED, "not now");
        if (streq(polkit_answer, MALFORMED))
                return sd_bus_reply_method_return(m, "(bs)", true, polkit_answer);
        return sd_bus_reply_method_return(m, "(bba{ss})", streq(polkit_answer, "yes"),
                                          streq(polkit_answer, "challenge"), 0);
}

static const sd_bus_vtable polkit_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("CheckAuthorization", "(sa{sv})sa{ss}us", "(bba{ss})", on_check,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

/* ---- systemd: sshd.service is another name of ssh.service, gone.service is in no file */

static void play_others(void) {
        assert_true(sd_bus_add_object_vtable(client, NULL, "/org/freedesktop/PolicyKit1/Authority",
                                             "org.freedesktop.PolicyKit1.Authority", polkit_vtable,
                                             NULL) >= 0);
        assert_true(sd_bus_request_name(client, "org.freedesktop.PolicyKit1", 0) >= 0);
        play_unit("ssh.service", "inactive", 0, NULL)->alias = "sshd.service";
        (void) play_unit("cron.service", "inactive", 0, NULL);
        play_unit("gone.service", "inactive", 0, NULL)->load = "not-found";
}

static int setup(void **state) {
        n_busy = n_denied = n_done = n_asked = 0;
        polkit_answer = NULL;
        (void) play_setup(state);
        if (!fixture)
                return 0;
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                assert_true(asprintf(directories + k, "%s/%u", play_dir, (unsigned) k) > 0);
        fixture->manager->paths.overrides = (const char *const *) directories;
        names = g_string_new(NULL);
        subjects = g_string_new(NULL);
        play_others();
        return 0;
}

static int teardown(void **state) {
        if (!fixture)
                return 0;
        (void) play_teardown(state);
        g_string_free(names, TRUE);
        g_string_free(subjects, TRUE);
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                free(directories[k]);
        return 0;
}

static const char *names_text(void) {
        return names->str;
}

/* ---- requests */

static const char *unique_name(void) {
        const char *name;

        assert_true(sd_bus_get_unique_name(client, &name) >= 0);
        return name;
}

static int on_reply(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        int error = reply->outcome->error;

        n_busy += error == -EBUSY;
        n_denied += error == -EACCES;
        n_done += error == 0;
        g_string_append_printf(names, "%s:%d ", reply->unit, error);
        return 0;
}

static void ask_as(const char *unit, const char *setting, const PolkitSubject *subject) {
        char *assignments[] = { (char *) setting, NULL };

        config_request(fixture->control,
                       &(const ConfigRequestArguments) {
                               .change = {
                                       .unit = unit,
                                       .assignments = setting ? assignments : NULL,
                               },
                               .subject = *subject,
                               .reply = on_reply,
                       });
}

static void ask(const char *unit, const char *setting, uid_t uid) {
        ask_as(unit, setting, &(PolkitSubject) { .bus_name = unique_name(), .pidfd = -EBADF, .uid = uid });
}

/* A user who asks and asks is refused; root and others are not kept out. */
static void test_one_user(void **state) {
        need_bus();
        (void) add_unit("a.slice", "lfu", 1);
        run();

        for (unsigned i = 0; i < 300; i++)
                ask("a.slice", "CachePolicy=mru", NOBODY);
        assert_int_equal(n_busy, 300 - 16);

        ask("a.slice", "CachePolicy=mru", 0);
        assert_int_equal(n_done, 1);
        for (unsigned i = 0; i < 16; i++)
                ask("a.slice", "CachePolicy=mru", NOBODY - 1);
        assert_int_equal(n_busy, 300 - 16);

        /* Nor do many users together take all the calls that the bus allows us. */
        for (unsigned i = 0; i < 100; i++)
                ask("a.slice", "CachePolicy=mru", 1000 + i);
        assert_int_equal(n_busy, 300 - 16 + 100 - 32);
        ask("a.slice", "CachePolicy=lfu", 0);
        assert_int_equal(n_done, 2);

        for (unsigned i = 0; i < 300 && n_asked < 64; i++)
                assert_true(sd_event_run(fixture->event, 100 * USEC_PER_MSEC) >= 0);
        assert_int_equal(n_asked, 64);
        control_disconnect(fixture->control);
        assert_int_equal(n_denied, 64);
        assert_int_equal(g_hash_table_size(fixture->control->pending), 0);
}

static const char *subjects_text(void) {
        return subjects->str;
}

/* polkit is told who asks: a client of the bus, or a process that cannot become another one meanwhile. */
static void test_subjects(void **state) {
        _cleanup_free_ char *expected = NULL;

        need_bus();
        (void) add_unit("a.slice", "lfu", 1);
        run();

        ask("a.slice", "CachePolicy=mru", NOBODY);
        assert_true(asprintf(&expected, "system-bus-name name=%s; ", unique_name()) > 0);
        run_until(expected, subjects_text);

        /* any descriptor will do here */
        ask_as("a.slice", "CachePolicy=mru", &(PolkitSubject) { .pidfd = STDERR_FILENO, .uid = NOBODY });
        run_until("unix-process pidfd=h0 uid=i65534; ", subjects_text);
}

/* Nothing but a yes is one. */
static void test_answers(void **state) {
        static const struct {
                const char *answer;
                int error;
        } answers[] = {
                { "no", -EACCES }, { "challenge", -ENOKEY }, { REFUSED, -EACCES }, { MALFORMED, -EACCES },
                { "yes", 0 },
        };
        Unit *u;

        need_bus();
        u = add_unit("a.slice", "lfu", 1);
        run();
        for (size_t i = 0; i < ELEMENTSOF(answers); i++) {
                _cleanup_free_ char *expected = NULL;

                polkit_answer = answers[i].answer;
                assert_true(asprintf(&expected, "a.slice:%d ", answers[i].error) > 0);
                assert_string_equal(u->setting.policy, "lfu");
                ask("a.slice", "CachePolicy=mru", NOBODY);
                run_until(expected, names_text);
                assert_string_equal(names->str, expected);
                g_string_truncate(names, 0);
        }
        run();
        assert_string_equal(u->setting.policy, "mru");
}

/* ---- names */

static void test_alias(void **state) {
        Unit *u;

        need_bus();
        u = add_unit("ssh.service", NULL, 1);
        run();

        ask("sshd.service", "CachePolicy=mru", 0);
        run_until("ssh.service:0 ", names_text);
        run();
        assert_string_equal(u->effective, "mru");
        assert_lines("ssh.service", true, "CachePolicy=mru runtime");

        ask("sshd.service", NULL, 0);
        run_until("ssh.service:0 ssh.service:0 ", names_text);
        run();
        assert_null(u->effective);

        /* Nothing is set any more; it is there nevertheless. */
        g_string_truncate(names, 0);
        ask("sshd.service", NULL, 0);
        run_until("ssh.service:0 ", names_text);

        /* That only systemd knows it is no reason to refuse. */
        g_string_truncate(names, 0);
        ask("cron.service", NULL, 0);
        run_until("cron.service:0 ", names_text);

        g_string_truncate(names, 0);
        ask("gone.service", "CachePolicy=mru", 0);
        run_until("gone.service:-3 ", names_text);
        ask("gone.service", NULL, 0);
        run_until("gone.service:-3 gone.service:-3 ", names_text);
        play_oddly("LoadUnit", SD_BUS_ERROR_INVALID_ARGS);
        ask("refused.service", "CachePolicy=mru", 0);
        run_until("refused.service:-22 ", names_text);
}

static int on_found(Control *c, sd_bus_message *msg, sd_varlink *link, const char *unit, bool exists) {
        g_string_append_printf(names, "%s%s ", exists ? "" : "no ", unit);
        return 0;
}

static void look_up(const char *name) {
        control_lookup(fixture->control, &(const LookupArguments) {
                                                 .uid = NOBODY,
                                                 .name = name,
                                                 .reply = on_found,
                                         });
}

static void test_lookup(void **state) {
        need_bus();
        (void) add_unit("ssh.service", "lfu", 1);
        run();

        look_up("ssh.service");
        assert_string_equal(names->str, "ssh.service "); /* at once */
        look_up("../x");
        assert_string_equal(names->str, "ssh.service ../x ");
        g_string_truncate(names, 0);

        look_up("sshd.service");
        run_until("ssh.service ", names_text);
        look_up("gone.service");
        run_until("no gone.service ", names_text);

        /* A user who asks and asks is told that, and not that there is no such unit. */
        for (unsigned i = 0; i < 16; i++)
                look_up("gone.service");
        assert_int_equal(g_hash_table_size(fixture->control->pending), 16);
        g_string_truncate(names, 0);
        look_up("sshd.service");
        assert_string_equal(names->str, "");
        look_up("ssh.service");
        assert_string_equal(names->str, "ssh.service "); /* that one is known */
        for (unsigned i = 0; i < 100 && g_hash_table_size(fixture->control->pending) > 0; i++)
                (void) sd_event_run(fixture->event, 100 * USEC_PER_MSEC);

        /* The bus goes meanwhile: what is known has to do. */
        look_up("sshd.service");
        control_disconnect(fixture->control);
        run_until("sshd.service ", names_text);
        assert_int_equal(g_hash_table_size(fixture->control->pending), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_one_user),
                TEST(test_subjects),
                TEST(test_answers),
                TEST(test_alias),
                TEST(test_lookup),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, start_bus, stop_bus);
}
