/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who may change the configuration, and what a reload answers. There is no bus here, hence no polkit. */

#include "reconcile-fixture.h"

#include "daemon/control/request.h"
#include "shared/log.h"
#include "shared/string-util.h"

#define NOBODY 65534

static char *dir, *directories[_OVERRIDE_MAX];
static const char *rules[2];

/* What the client was told. */
static unsigned n_replies;
static int last_error;
static char *last_problem;
static UnitState last_state;
static char *last_reason;
static GPtrArray *problems;

static int setup(void **state) {
        dir = test_dir_make();
        assert_true(asprintf(directories + OVERRIDE_PERSISTENT, "%s/etc", dir) > 0);
        assert_true(asprintf(directories + OVERRIDE_RUNTIME, "%s/run", dir) > 0);
        fixture_setup(state);
        rules[0] = dir;
        fixture->manager->paths.overrides = (const char *const *) directories;
        fixture->manager->paths.rules = rules;
        n_replies = 0;
        return 0;
}

static int teardown(void **state) {
        fixture_teardown(state);
        test_dir_remove(dir);
        free(directories[OVERRIDE_PERSISTENT]);
        free(directories[OVERRIDE_RUNTIME]);
        last_problem = mfree(last_problem);
        last_reason = mfree(last_reason);
        if (problems)
                g_ptr_array_unref(problems);
        problems = NULL;
        return 0;
}

static int on_reply(Control *c, sd_bus_message *msg, sd_varlink *link, const ConfigReply *reply) {
        n_replies++;
        last_error = reply->outcome->error;
        free(last_problem);
        last_problem = reply->outcome->problem ? strdup(reply->outcome->problem) : NULL;
        last_state = reply->state;
        g_set_str(&last_reason, reply->reason);

        if (problems)
                g_ptr_array_unref(problems);
        problems = NULL;
        if (reply->problems) {
                problems = g_ptr_array_new_with_free_func(g_free);
                for (char **i = reply->problems; *i; i++)
                        g_ptr_array_add(problems, g_strdup(*i));
        }
        return 0;
}

/* Asks for "CachePolicy=mru", or for nothing to be set any more. */
static int ask(const char *unit, bool set, bool dry_run, uid_t uid) {
        char *assignments[] = { (char *) "CachePolicy=mru", NULL };
        unsigned before = n_replies;

        config_request(fixture->control,
                       &(const ConfigRequestArguments) {
                               .change = {
                                       .unit = unit,
                                       .assignments = set ? assignments : NULL,
                                       .dry_run = dry_run,
                               },
                               .subject = { .pidfd = -EBADF, .uid = uid },
                               .reply = on_reply,
                       });
        run();
        assert_int_equal(n_replies, before + 1);
        return last_error;
}

static void test_who_may(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        assert_int_equal(ask("a.slice", true, false, NOBODY), -EACCES);
        assert_int_equal(ask("a.slice", false, false, NOBODY), -EACCES);
        assert_int_equal(ask(NULL, false, false, NOBODY), -EACCES);
        assert_string_equal(u->effective, "lfu");

        /* Everybody may ask what would be. */
        assert_int_equal(ask("a.slice", true, true, NOBODY), 0);
        assert_string_equal(u->effective, "lfu");

        assert_int_equal(ask("a.slice", true, false, 0), 0);
        assert_string_equal(u->effective, "mru");
        assert_int_equal(ask("a.slice", false, false, 0), 0);
        assert_string_equal(u->effective, "lfu");
        assert_int_equal(g_hash_table_size(fixture->control->pending), 0);
}

static void test_units(void **state) {
        char longer[300];

        assert_int_equal(ask("../a.slice", true, false, 0), -EINVAL);
        assert_string_equal(last_problem, "'../a.slice' is not the name of a slice, service or scope");
        assert_int_equal(ask("", true, true, NOBODY), -EINVAL);
        (void) snprintf(longer, sizeof(longer), "%0245d.slice", 0);
        assert_int_equal(ask(longer, true, true, 0), -EINVAL);
        assert_non_null(strstr(last_problem, "is too long: at most 250 characters"));

        assert_int_equal(ask("unknown.slice", true, false, 0), -EAGAIN);
        assert_string_equal(last_problem, "systemd cannot be asked about the unit, there is no system bus");
}

/* ---- waiting for what comes of it */

static void start_change(const char *unit, const char *policy) {
        g_autofree char *assignment = g_strdup_printf("CachePolicy=%s", policy);
        char *assignments[] = { assignment, NULL };

        config_request(fixture->control,
                       &(const ConfigRequestArguments) {
                               .change = { .unit = unit, .assignments = assignments },
                               .subject = { .pidfd = -EBADF },
                               .wait = true,
                               .reply = on_reply,
                       });
}

static void check_change(const char *policy, UnitState state) {
        unsigned before = n_replies;

        start_change("a.slice", policy);
        assert_int_equal(n_replies, before); /* not before the reconcile */
        run();
        assert_int_equal(n_replies, before + 1);
        assert_int_equal(last_error, 0);
        assert_int_equal(last_state, state);
}

static void test_wait(void **state) {
        Unit *u = add_unit("a.slice", NULL, 1);

        run();
        check_change("lfu", UNIT_ATTACHED);
        assert_string_equal(fixture->kernel.cgroups[1].policy, "lfu");
        assert_null(last_reason);
        check_change("mru", UNIT_ATTACHED);

        /* What the kernel refuses stays configured. */
        fixture->kernel.update_error = -EINVAL;
        check_change("lfu", UNIT_FAILED);
        assert_string_equal(last_reason, "update failed; the policy attached before keeps running");
        assert_string_equal(u->setting.policy, "lfu");
        fixture->kernel.update_error = 0;

        check_change("", UNIT_UNCONFIGURED);
        fixture->manager->kernel.supported = false;
        g_set_str(&fixture->manager->kernel.reason, "none");
        check_change("lfu", UNIT_UNSUPPORTED);
        assert_string_equal(last_reason, "none");

        /* The bus goes meanwhile: nobody waits for ever. */
        start_change("a.slice", "mru");
        control_disconnect(fixture->control);
        assert_int_equal(last_error, 0);
        assert_int_equal(last_state, UNIT_PENDING);
        run();

        set_cgroup(u, 0);
        u->active = false;
        check_change("lfu", UNIT_UNSUPPORTED);
        assert_int_equal(g_hash_table_size(fixture->control->pending), 0);

        /* Without being asked to, nobody waits. */
        assert_int_equal(ask("a.slice", true, false, 0), 0);
        assert_true(last_state < 0);
        start_change("a.slice", "mru"); /* fixture_teardown() frees the manager */
}

/* systemd has loaded it to answer a question: nothing is known of it but that it does not run. */
static void test_wait_announced(void **state) {
        Unit *u = add_unit("a.slice", NULL, 0);

        u->files_known = false;
        run();
        check_change("lfu", UNIT_INACTIVE);
        check_change("", UNIT_UNCONFIGURED);
}

static void test_reload(void **state) {
        static const char rule[] = "[Match]\nUnit=a.slice\nUnti=x\n[Policy]\nCachePolicy=lfu\n";
        Unit *u = add_unit("a.slice", NULL, 1);

        run();
        assert_int_equal(ask(NULL, false, false, 0), 0);
        assert_non_null(problems);
        assert_int_equal(problems->len, 0);

        /* The line that is none, and the unit that does not
         * get what it asks for: no policies are installed here. */
        free(test_file(dir, "10.conf", rule));
        assert_int_equal(ask(NULL, false, false, 0), 0);
        assert_int_equal(problems->len, 2);
        assert_non_null(strstr(problems->pdata[0], "/10.conf:3: Unknown key Unti= in section [Match]"));
        assert_non_null(strstr(problems->pdata[1], "a.slice: unknown policy 'lfu' ("));
        assert_state(u, UNIT_FAILED);

        /* Told to everybody who asks, also if nothing is new. */
        assert_int_equal(ask(NULL, false, false, 0), 0);
        assert_int_equal(problems->len, 2);

        /* And not to those who did not ask. */
        log_warning("This is for the journal.");
        assert_null(fixture->control->problems);
}

/* Whoever asks is told in UTF-8, whatever files are called and wherever a long line is cut. */
static void test_reload_not_utf8(void **state) {
        g_autofree char *text = NULL;
        GString *rule = g_string_new("[Match]\nUnit=a.slice\n");

        fixture->manager->paths.policies = rules;
        free(test_file(dir, "\xe9.bpf.o", ""));
        free(test_file(dir, "run/\xe9.slice.conf", "[Slice]\nCachePolicy=lfu\n"));
        for (unsigned i = 0; i < 2; i++) { /* one of the two is cut in the middle of a character */
                g_string_append(rule, i == 0 ? "" : "x");
                for (unsigned k = 0; k < 1500; k++)
                        g_string_append(rule, "é");
                g_string_append(rule, "=x\n");
        }
        g_string_append(rule, "[Policy]\nCachePolicy=lfu\n");
        free(test_file(dir, "10.conf", rule->str));
        g_string_free(rule, TRUE);

        assert_int_equal(ask(NULL, false, false, 0), 0);
        assert_int_equal(problems->len, 4);
        for (guint i = 0; i < problems->len; i++)
                if (!g_utf8_validate(problems->pdata[i], -1, NULL))
                        fail_msg("not UTF-8: %s", (char *) problems->pdata[i]);

        g_ptr_array_add(problems, NULL);
        text = g_strjoinv("\n", (char **) problems->pdata);
        assert_non_null(strstr(text, "/\xef\xbf\xbd.bpf.o': a policy is named by"));
        assert_non_null(strstr(text, "/run/\xef\xbf\xbd.slice.conf': "));
}

/* What was set before is in files, which are read, too. */
static void test_reload_keeps(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        assert_int_equal(ask("a.slice", true, false, 0), 0);
        assert_int_equal(ask(NULL, false, false, 0), 0);
        assert_string_equal(u->setting.policy, "mru");
        assert_lines("a.slice", true, "CachePolicy=mru runtime");
}

static void check_wrong(char **assignments, const char *problem) {
        unsigned before = n_replies;

        config_request(fixture->control,
                       &(const ConfigRequestArguments) {
                               .change = {
                                       .unit = "a.slice",
                                       .assignments = assignments,
                                       .dry_run = true,
                               },
                               .subject = { .pidfd = -EBADF, .uid = NOBODY },
                               .reply = on_reply,
                       });
        assert_int_equal(n_replies, before + 1);
        assert_int_equal(last_error, -EINVAL);
        assert_non_null(strstr(last_problem, problem));
}

/* Everybody may ask what would be: not at any length, and nothing that the journal would complain about. */
static void test_limits(void **state) {
        const char *wrong[] = { "CachePolicy=lfu\ngarbage", "CachePolicy=lfu\\", "CachePolicy=\xff" };
        g_autofree char *many = g_strnfill(70000, 'a');
        char *assignments[70001] = { many };

        (void) add_unit("a.slice", "lfu", 1);
        run();
        check_wrong(assignments, "longer than 64 KiB");
        for (size_t i = 0; i < 70000; i++)
                assignments[i] = (char *) "";
        check_wrong(assignments, "longer than 64 KiB");

        for (size_t i = 0; i < ELEMENTSOF(wrong); i++)
                check_wrong((char *[]) { (char *) wrong[i], NULL }, "cannot hold");
}

/* systemd is being asked for all of its units: reconciles before that is over answer nobody. */
static void test_reload_waits(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        run();
        control_connect(fixture->control, NULL, (SystemdWatch *) fixture); /* not looked into */
        manager_set_settled(fixture->manager, false);
        config_request(fixture->control,
                       &(const ConfigRequestArguments) {
                               .subject = { .pidfd = -EBADF },
                               .reply = on_reply,
                       });
        run();
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_int_equal(n_replies, 0);

        manager_set_settled(fixture->manager, true);
        run();
        assert_int_equal(n_replies, 1);
        assert_int_equal(last_error, 0);
}

/* The daemon ends, or the bus goes, before the answer is there. */
static void test_unfinished(void **state) {
        add_unit("a.slice", "lfu", 1);
        config_request(fixture->control,
                       &(const ConfigRequestArguments) {
                               .subject = { .pidfd = -EBADF },
                               .reply = on_reply,
                       });
        assert_int_equal(n_replies, 0);
        control_disconnect(fixture->control);
        assert_int_equal(n_replies, 1);
        assert_int_equal(last_error, 0);

        config_request(fixture->control,
                       &(const ConfigRequestArguments) {
                               .subject = { .pidfd = -EBADF },
                               .reply = on_reply,
                       });
        assert_int_equal(n_replies, 1); /* fixture_teardown() frees the manager */
}

/* The manager goes on for a moment without those who ask. */
static void test_end(void **state) {
        Unit *u = add_unit("a.slice", "lfu", 1);

        fixture->control = control_free(fixture->control);
        run();
        assert_string_equal(u->effective, "lfu");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_who_may),
                TEST(test_units),
                TEST(test_wait),
                TEST(test_wait_announced),
                TEST(test_reload),
                TEST(test_reload_not_utf8),
                TEST(test_reload_keeps),
                TEST(test_reload_waits),
                TEST(test_limits),
                TEST(test_unfinished),
                TEST(test_end),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
