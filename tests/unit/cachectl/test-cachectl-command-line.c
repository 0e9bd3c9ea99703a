/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the command line */

static void test_usage(void **state) {
        static const struct {
                const char *arguments[4];
                const char *message;
        } cases[] = {
                { { "frobnicate" },              "Unknown verb \"frobnicate\"" },
                { { "list", "--frobnicate" },    "Unknown or ambiguous option \"--frobnicate\"" },
                { { "list", "-z" },              "Unknown option \"-z\"" },
                { { "list", "--json=xml" },      "Option --json= takes pretty, short or off, not \"xml\"." },
                { { "list", "--json" },          "needs a value" },
                { { "list", "--full=yes" },      "Option --full takes no value." },
                { { "stats", "--quiet" },        "Option --quiet means nothing for \"stats\"" },
                { { "status", "--no-legend" },   "Option --no-legend means nothing for \"status\"" },
                { { "version", "now" },          "\"now\" is one argument too many for \"version\"" },
                { { "show-policy" },             "\"show-policy\" needs NAME..." },
                { { "new-policy" },              "\"new-policy\" needs NAME" },
                { { "new-policy", "a.b" },
                  "A policy is named by at most 15 letters, digits, '-' and '_', not" },
                { { "new-policy", "9lives" },    "begins with a letter" },
                { { "new-policy", "static" },    "A policy cannot be called \"static\"" },
                { { "classify", "scan" },        "\"classify\" needs CLASS PID..." },
                { { "classify", "lazy", "1" },
                  "\"lazy\" is no class of threads: normal, scan and background are." },
                { { "classify", "scan", "0" },   "\"0\" is not the number of a process." },
                { { "threads", "-t", "1x" },     "\"1x\" is not the number of a thread." },
                { { "help", "frobnicate" },      "Unknown verb \"frobnicate\"" },
                { { "record" },                  "\"record\" needs the name of a unit" },
                { { "record", "--duration=0", "x" }, "Option --duration= takes a time such as 30" },
                { { "record", "--duration=1y", "x" }, "not \"1y\"" },
                { { "list", "--readahead" },     "Option --readahead means nothing for \"list\"" },
                { { "record", "--readahead=off", "x" }, "Option --readahead takes no value here." },
                { { "record", "x", "-o" },       "Option \"-o\" needs a value" },
                { { "record", "--text", "-ox.zst", "x" }, "choose another name than x.zst." },
                { { "stats", "--by=thread" },    "Option --by= takes unit or process, not \"thread\"." },
                { { "stats", "--duration=1" },   "Option --duration= is for --by=process." },
                { { "top", "--duration=1" },     "Option --duration means nothing for \"top\"" },
                { { "stats", "--by=process", "a", "b" }, "\"b\" is one too many." },
                { { "stats", "--by=process", "-Hx" }, "--by=process is not for --host=." },
                { { "top", "--by=process", "-Mx" }, "--by=process is not for --machine=." },
                { { "stats", "--by=process", "-ox" }, "Option --output= is not for --by=process." },
                { { "stats", "--by=process", "--format=prometheus" },
                  "Option --format= is not for --by=process." },
                { { "top", "--by=process", "--sort=unit" },
                  "Option --sort= takes pid, name, hits, misses, ratio or bytes with --by=process" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(outcome_done) Outcome o = {};

                run(&o, cases[i].arguments[0], cases[i].arguments[1], cases[i].arguments[2],
                    cases[i].arguments[3]);
                assert_int_equal(o.status, EXIT_USAGE);
                assert_string_equal(o.out, "");
                assert_contains(o.err, cases[i].message);
                assert_one_line(o.err);
        }
}

static void test_help(void **state) {
        _cleanup_(outcome_done) Outcome help = {}, verb = {}, option = {}, version = {};

        stop_manager(); /* nobody is asked */

        run(&help, "--help");
        assert_int_equal(help.status, EXIT_SUCCESS);
        assert_contains(help.out, "\nLook:\n  status      [UNIT...] ");
        assert_contains(help.out, "\nChoose and write policies:\n  advise      [UNIT|CGROUP]   Record ");
        assert_contains(help.out, "  policies    [NAME...]");

        run(&verb, "help", "list");
        run(&option, "list", "-h");
        assert_int_equal(verb.status, EXIT_SUCCESS);
        assert_string_equal(verb.out, option.out);

        run(&version, "--version");
        assert_int_equal(version.status, EXIT_SUCCESS);
        assert_int_equal(strncmp(version.out, "cachectl ", strlen("cachectl ")), 0);
}

/* ---- where the output goes */

static void test_full_disk(void **state) {
        _cleanup_(outcome_done) Outcome o = {};
        char command[512];

        play("normal");
        (void) snprintf(command, sizeof(command), "%s list > /dev/full", cachectl_path);
        run_program((char *const[]) { (char *) "/bin/sh", (char *) "-c", command, NULL }, 0, &o);
        assert_int_equal(o.status, EXIT_FAILURE);
        assert_contains(o.err, "Cannot write the output: No space left on device");
}

/* Nothing stays of a new policy that is too large for the disk, or here for the limit of files. */
static void test_full_disk_for_files(void **state) {
        _cleanup_(outcome_done) Outcome o = {};
        char command[512];

        (void) snprintf(command, sizeof(command),
                        "trap '' XFSZ && ulimit -f 1 && %s new-policy --output=%s/new mine", cachectl_path,
                        harness_directory);
        run_program((char *const[]) { (char *) "/bin/sh", (char *) "-c", command, NULL }, 0, &o);
        assert_int_equal(o.status, EXIT_FAILURE);
        assert_contains(o.err, "Cannot write");
        assert_contains(o.err, ": File too large");

        (void) snprintf(command, sizeof(command), "%s/new", harness_directory);
        assert_int_equal(rmdir(command), 0); /* it is empty */
}

static void test_colors(void **state) {
        _cleanup_(outcome_done) Outcome plain = {}, color = {}, no_color = {}, off = {}, forced = {};
        _cleanup_(outcome_done) Outcome json = {}, paged = {};

        play("normal");
        (void) setenv("TERM", "xterm", true);

        run(&plain, "list");
        assert_lacks(plain.out, "\x1b");

        run_terminal(&color, "list", "--no-pager");
        assert_contains(color.out, "\x1b[0;1;31mfailed\x1b[0m");

        run_terminal(&json, "list", "--json=pretty", "--no-pager");
        assert_contains(json.out, "\x1b[0;");

        (void) setenv("SYSTEMD_PAGERSECURE", "0", true);
        (void) setenv("SYSTEMD_PAGER", "tee", true);
        run_terminal(&paged, "list", "--json=pretty");
        assert_string_equal(paged.out, json.out); /* the pager makes no difference */
        (void) unsetenv("SYSTEMD_PAGER");
        (void) unsetenv("SYSTEMD_PAGERSECURE");

        (void) setenv("NO_COLOR", "1", true);
        run_terminal(&no_color, "list", "--no-pager");
        assert_lacks(no_color.out, "\x1b");

        (void) setenv("SYSTEMD_COLORS", "yes", true); /* the more specific variable wins */
        run(&forced, "list");
        assert_contains(forced.out, "\x1b[0;1;31mfailed\x1b[0m");
        (void) unsetenv("NO_COLOR");

        (void) setenv("SYSTEMD_COLORS", "0", true);
        run_terminal(&off, "list", "--no-pager");
        assert_lacks(off.out, "\x1b");
        (void) unsetenv("SYSTEMD_COLORS");
}

static size_t longest_line(const char *s) {
        size_t longest = 0;

        for (; *s; s += strcspn(s, "\n"), s += *s == '\n')
                longest = MAX(longest, strcspn(s, "\n"));

        return longest;
}

static void test_terminal_width(void **state) {
        _cleanup_(outcome_done) Outcome fitted = {}, full = {};

        play("normal");
        (void) setenv("SYSTEMD_COLORS", "0", true);
        (void) setenv("LC_ALL", "C", true); /* a byte is a column: also tests the ASCII ellipsis */

        run_terminal(&fitted, "list", "--no-pager", "batch.slice", "web.slice");
        assert_true(longest_line(fitted.out) <= 80);
        assert_contains(fitted.out, "...");
        assert_contains(fitted.out, "conf:2\n"); /* the end of the path is what tells where to look */

        run_terminal(&full, "list", "--no-pager", "--full", "batch.slice", "web.slice");
        assert_true(longest_line(full.out) > 80);
        assert_lacks(full.out, "...");

        (void) setenv("LC_ALL", "C.UTF-8", true);
        (void) unsetenv("SYSTEMD_COLORS");
}

static void test_pager(void **state) {
        _cleanup_(outcome_done) Outcome paged = {}, quit = {}, off = {}, not_terminal = {};

        play("normal");
        (void) setenv("SYSTEMD_PAGERSECURE", "0", true);
        (void) setenv("SYSTEMD_PAGER", "sed 's/^/PAGED /'", true);

        run_terminal(&paged, "status", "web.slice");
        assert_contains(paged.out, "PAGED ");
        assert_int_equal(paged.status, EXIT_NOT_IN_EFFECT); /* ours, not that of the pager */

        run_terminal(&off, "list", "--no-pager");
        assert_lacks(off.out, "PAGED ");

        run(&not_terminal, "list");
        assert_lacks(not_terminal.out, "PAGED ");

        /* Somebody leaves before the end. */
        (void) setenv("SYSTEMD_PAGER", "true", true);
        run_terminal(&quit, "list");
        assert_int_equal(quit.status, EXIT_SUCCESS);
        assert_string_equal(quit.err, "");

        (void) unsetenv("SYSTEMD_PAGER");
        (void) unsetenv("SYSTEMD_PAGERSECURE");
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_usage),
                cmocka_unit_test(test_help),
                cmocka_unit_test(test_full_disk),
                cmocka_unit_test(test_full_disk_for_files),
                cmocka_unit_test(test_colors),
                cmocka_unit_test(test_terminal_width),
                cmocka_unit_test(test_pager),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-command-line", tests, harness_setup, harness_teardown);
}
