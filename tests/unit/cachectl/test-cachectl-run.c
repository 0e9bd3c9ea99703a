/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "cachectl run": what it makes of its options, and how the command runs. Here nobody listens. */

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#define NOBODY                                                                                       \
        "Nobody listens to what is said of files: the control group of this process has no policy "  \
        "that does, such as acfs.\n"

static void test_command(void **state) {
        _cleanup_(outcome_done) Outcome warned = {}, quiet = {}, killed = {}, library = {};

        stop_manager(); /* nobody is asked */

        run(&warned, "run", "--level=0:mru", "--level=-1:lru", "--", "sh", "-c", "echo \"$@\"; exit 42", "-",
            "--level=9");
        assert_int_equal(warned.status, 42);
        assert_string_equal(warned.out, "--level=9\n");
        assert_string_equal(warned.err, NOBODY);

        run(&quiet, "run", "-q", "--level=0:mru", "--",
            "sh", "-c", "env | grep -c -e LD_PRELOAD -e CACHEBPF_RUN=");
        assert_string_equal(quiet.out, "0\n"); /* where no files are named nothing is to be loaded */
        assert_string_equal(quiet.err, "");

        run(&killed, "run", "-q", "--files=x=0", "--", "sh", "-c", "kill -TERM $$");
        assert_int_equal(killed.status, -SIGTERM);

        /* It is loaded, finds all that it needs, and the command does what it does else. */
        run(&library, "run", "-q", "--files=*=-1", "--done-with=*", "--", "sh", "-c",
            "grep -c libcachebpf-run.so /proc/self/maps >/dev/null && cat /proc/$$/comm && ls /nowhere");
        assert_int_equal(library.status, 2);
        assert_string_equal(library.out, "sh\n");
        assert_contains(library.err, "No such file");
        assert_one_line(library.err);
}

static void test_environment(void **state) {
        _cleanup_(outcome_done) Outcome one = {}, nested = {}, old = {};
        const char *library = getenv("CACHEBPF_RUN_LIBRARY");
        char expected[1024], preloaded[1024];

        run(&one, "run", "-q", "--done-with=*.o", "--files=a=b=-1", "--files=*=3", "--", "sh", "-c",
            "printf '%s|%s' \"$CACHEBPF_RUN\" \"$LD_PRELOAD\"");
        (void) snprintf(expected, sizeof(expected), "-1 a=b\n3 *\ndone *.o|%s", library);
        assert_string_equal(one.out, expected);

        /* The one in the other loads the library, too; sanitizers want to be the first one. */
        run(&nested, "run", "-q", "--files=x=1", "--", "env", "ASAN_OPTIONS=verify_asan_link_order=0",
            cachectl_path, "run", "-q", "--files=x=2", "--",
            "sh", "-c", "printf '%s|%s' \"$CACHEBPF_RUN\" \"$LD_PRELOAD\"");
        (void) snprintf(expected, sizeof(expected), "1 x\n2 x|%s", library);
        assert_string_equal(nested.out, expected);

        /* One of such a name is another one. */
        (void) snprintf(preloaded, sizeof(preloaded), "LD_PRELOAD=%s.old", library);
        run(&old, "run", "--level=0:lru", "--", "env", "ASAN_OPTIONS=verify_asan_link_order=0", preloaded,
            cachectl_path, "run", "--files=x=2", "--", "sh", "-c", "printf %s \"$LD_PRELOAD\"");
        (void) snprintf(expected, sizeof(expected), "%s.old:%s", library, library);
        assert_string_equal(old.out, expected);
}

static void test_errors(void **state) {
        static const struct {
                const char *arguments[6];
                int status;
                const char *message;
        } cases[] = {
                { { "--", "true" }, EXIT_USAGE, "\"run\" needs --files=, --level= or --done-with=;" },
                { { "--files=x=0" }, EXIT_USAGE, "\"run\" needs a command, behind \"--\";" },
                { { "--files=x=0", "--" }, EXIT_USAGE, "\"run\" needs a command" },
                { { "--files=x=0", "true" }, EXIT_USAGE, "\"run\" needs a command" },
                { { "--files=x=0", "true", "--", "x" }, EXIT_USAGE, "\"run\" needs a command" },
                { { "--files=x", "--", "true" }, EXIT_USAGE, "takes PATTERN=PRIORITY, not \"x\"." },
                { { "--files=x=4", "--", "true" }, EXIT_USAGE, "numbers from -1 to 3, not \"4\"." },
                { { "--files=x=-2", "--", "true" }, EXIT_USAGE, "not \"-2\"." },
                { { "--files=x=", "--", "true" }, EXIT_USAGE, "not \"\"." },
                { { "--files==1", "--", "true" }, EXIT_USAGE, "\"\" is no pattern" },
                { { "--files=[x=1", "--", "true" }, EXIT_USAGE, "\"[x\" is no pattern" },
                { { "--done-with=x\\", "--", "true" }, EXIT_USAGE, "\"x\\\" is no pattern" },
                { { "--done-with=a\nb", "--", "true" }, EXIT_USAGE, "is no pattern" },
                { { "--level=0", "--", "true" }, EXIT_USAGE, "takes LEVEL:lru or LEVEL:mru, not \"0\"." },
                { { "--level=0:fifo", "--", "true" }, EXIT_USAGE, "not \"0:fifo\"." },
                { { "--level=top:mru", "--", "true" }, EXIT_USAGE, "not \"top\"." },
                { { "--json=short", "--", "true" }, EXIT_USAGE, "means nothing for \"run\"" },
                { { "-q", "--level=0:lru", "--", "/nowhere/x" }, 127, "Cannot run \"/nowhere/x\": No such" },
                { { "-q", "--level=0:lru", "--", "/" }, 126, "Cannot run \"/\": Permission denied" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(outcome_done) Outcome o = {};
                const char *const *a = cases[i].arguments;

                run(&o, "run", a[0], a[1], a[2], a[3], a[4], a[5]);
                assert_int_equal(o.status, cases[i].status);
                assert_string_equal(o.out, "");
                assert_contains(o.err, cases[i].message);
        }
}

/* What cannot be said to the command is not passed over. */
static void test_not_started(void **state) {
        _cleanup_(outcome_done) Outcome missing = {}, blank = {}, colon = {}, many = {};
        _cleanup_free_ char *library = strdup(getenv("CACHEBPF_RUN_LIBRARY"));
        char rules[64 * 4 + 1] = "";

        (void) setenv("CACHEBPF_RUN_LIBRARY", "/nowhere/x.so", true);
        run(&missing, "run", "--files=x=0", "--", "echo", "yes");
        assert_int_equal(missing.status, EXIT_NOT_STARTED);
        assert_string_equal(missing.out, "");
        assert_contains(missing.err, "Cannot make programs load \"/nowhere/x.so\": No such file");
        assert_one_line(missing.err);

        (void) setenv("CACHEBPF_RUN_LIBRARY", "/nowhere/a b.so", true);
        run(&blank, "run", "--files=x=0", "--", "echo", "yes");
        (void) setenv("CACHEBPF_RUN_LIBRARY", "/nowhere/a:b.so", true);
        run(&colon, "run", "--files=x=0", "--", "echo", "yes");
        assert_int_equal(blank.status, EXIT_NOT_STARTED);
        assert_string_equal(blank.out, "");
        assert_contains(blank.err, "Cannot make programs load \"/nowhere/a b.so\": for ld.so the name ends");
        assert_one_line(blank.err);
        assert_contains(colon.err, "for ld.so the name ends");
        (void) setenv("CACHEBPF_RUN_LIBRARY", library, true);

        for (size_t i = 0; i < 64; i++)
                strcat(rules, "1 x\n");
        rules[strlen(rules) - 1] = 0;
        (void) setenv("CACHEBPF_RUN", rules, true);
        run(&many, "run", "--files=x=0", "--", "true");
        (void) unsetenv("CACHEBPF_RUN");
        assert_int_equal(many.status, EXIT_NOT_STARTED);
        assert_contains(many.err, "There are too many patterns: at most 64");
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_command),
                cmocka_unit_test(test_environment),
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_not_started),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-run", tests, harness_setup, harness_teardown);
}
