/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "cachectl hold": a command that runs while a unit is held, and how it ends. */

#include "harness.h"

#include <signal.h>

#define HELD_AGAIN "batch.slice is held again.\n"
#define LOST                                    \
        "The connection to cachebpfd is gone, " \
        "and batch.slice is not held any more; trying to get it back.\n"

static void test_command(void **state) {
        _cleanup_(outcome_done) Outcome plain = {}, options = {}, dashes = {}, status = {};

        play("normal");
        run(&plain, "hold", "batch.slice", "lfu", "--", "echo", "-n", "--help", "--");
        assert_int_equal(plain.status, EXIT_SUCCESS);
        assert_string_equal(plain.out, "--help --");
        assert_string_equal(plain.err, "");

        run(&options, "hold", "--reason=every night", "batch.slice", "-q", "CachePolicy=lfu",
            "CacheAdmission=yes", "--",
            "sh", "-c", "exit 42");
        assert_int_equal(options.status, 42);
        assert_string_equal(options.err, "");

        /* The value of an option is not what the command comes after. */
        run(&dashes, "hold", "--reason", "--", "batch.slice", "lfu", "--", "echo", "yes");
        assert_int_equal(dashes.status, EXIT_SUCCESS);
        assert_string_equal(dashes.out, "yes\n");

        run(&status, "status", "odd.slice");
        assert_contains(status.out, "Held: CachePolicy=lfu CacheAdmission=yes by backup (PID 123), ");
        assert_contains(status.out, " ago: every\\x07night\n");
}

static void test_signals(void **state) {
        _cleanup_(outcome_done) Outcome killed = {}, forwarded = {}, own = {};

        play("normal");
        run(&killed, "hold", "batch.slice", "lfu", "--", "sh", "-c", "kill -KILL $$");
        assert_int_equal(killed.status, -SIGKILL);

        /* What we get the command gets, and may take its time. */
        run(&forwarded, "hold", "batch.slice", "lfu", "--", "sh", "-c",
            "trap 'echo got it; exit 7' TERM; kill -TERM $PPID; while :; do sleep 0.01; done");
        assert_int_equal(forwarded.status, 7);
        assert_string_equal(forwarded.out, "got it\n");

        /* No mask of ours is left. */
        run(&own, "hold", "batch.slice", "lfu", "--", "sh", "-c", "kill -TERM $$; echo alive");
        assert_int_equal(own.status, -SIGTERM);
        assert_string_equal(own.out, "");
}

static void check_not_started(int status, const char *message, const char *unit, const char *setting,
                              const char *command) {
        _cleanup_(outcome_done) Outcome o = {};

        run(&o, "hold", unit, setting, "--", command, "started");
        assert_int_equal(o.status, status);
        assert_string_equal(o.out, "");
        assert_string_equal(o.err, message);
}

static void test_not_started(void **state) {
        _cleanup_(outcome_done) Outcome none = {}, no_settings = {}, reason = {}, setting = {};

        play("normal");
        check_not_started(EXIT_NOT_STARTED, "Nothing was changed: unknown policy 'nosuch'.\n",
                          "batch.slice",
                          "nosuch", "echo");
        check_not_started(EXIT_NOT_STARTED, "There is no unit \"nosuch.service\".\n", "nosuch.service",
                          "lfu", "echo");
        check_not_started(EXIT_NO_COMMAND, "Cannot run \"no-such-command\": No such file or directory\n",
                          "batch.slice", "lfu", "no-such-command");
        check_not_started(EXIT_CANNOT_EXECUTE, "Cannot run \"/dev/null\": Permission denied\n",
                          "batch.slice", "lfu", "/dev/null");

        run(&none, "hold", "batch.slice", "lfu", "echo", "started");
        assert_int_equal(none.status, EXIT_USAGE);
        assert_contains(none.err, "\"--\" before the command");
        run(&no_settings, "hold", "batch.slice", "--", "echo", "started");
        assert_int_equal(no_settings.status, EXIT_USAGE);
        assert_string_equal(no_settings.out, "");
        run(&reason, "hold", "--reason=\xff", "batch.slice", "lfu", "--", "echo", "started");
        assert_int_equal(reason.status, EXIT_USAGE);
        run(&setting, "hold", "batch.slice", "\xff", "--", "echo", "started");
        assert_int_equal(setting.status, EXIT_USAGE);
        assert_string_equal(setting.err, "A setting is not valid UTF-8.\n");

        stop_manager();
        {
                _cleanup_(outcome_done) Outcome o = {};

                run(&o, "hold", "batch.slice", "lfu", "--", "echo", "started");
                assert_int_equal(o.status, EXIT_NOT_STARTED);
                assert_string_equal(o.out, "");
                assert_contains(o.err, "cachebpfd is not running");
        }
}

static void test_not_in_effect(void **state) {
        _cleanup_(outcome_done) Outcome failed = {}, absent = {}, quiet = {};

        play("normal");
        run(&failed, "hold", "web.slice", "lfu", "--", "echo", "started");
        assert_int_equal(failed.status, EXIT_SUCCESS);
        assert_string_equal(failed.out, "started\n");
        assert_contains(failed.err, "The hold of web.slice is not in effect: failed, ");

        play("empty");
        run(&absent, "hold", "batch.slice", "lfu", "--", "echo", "started");
        assert_string_equal(absent.err,
                            "batch.slice is not active: it gets the held settings when it is started.\n");
        run(&quiet, "hold", "-q", "batch.slice", "lfu", "--", "echo", "started");
        assert_string_equal(quiet.err, "");
}

/* A command that ends when we have said something: its stderr is ours. */
#define UNTIL_SAID(text) "until grep -q '" text "' /proc/self/fd/2; do sleep 0.05; done; "

/* The daemon is restarted, or goes for good: the command goes on. */
static void test_lost(void **state) {
        _cleanup_(outcome_done) Outcome again = {}, gone = {};

        play("normal");
        run(&again, "hold", "batch.slice", "drop", "--", "sh", "-c", UNTIL_SAID("is held again") "exit 3");
        assert_int_equal(again.status, 3);
        assert_string_equal(again.err, LOST HELD_AGAIN);

        run(&gone, "hold", "batch.slice", "gone", "--", "sh", "-c", UNTIL_SAID("is gone") "exit 4");
        assert_int_equal(gone.status, 4);
        assert_string_equal(gone.err, LOST);
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_command),
                cmocka_unit_test(test_signals),
                cmocka_unit_test(test_not_started),
                cmocka_unit_test(test_not_in_effect),
                cmocka_unit_test(test_lost),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-hold", tests, harness_setup, harness_teardown);
}
