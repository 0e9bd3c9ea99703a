/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MANY_UNITS 3000U

/* ---- list */

static void test_list(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        play("normal");
        run(&o, "list", "batch.slice", "web.slice", "odd.slice");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_string_equal(o.err, "");
        assert_contains(o.out, "UNIT        STATE    CONFIGURED EFFECTIVE VERIFIED SINCE");
        assert_contains(o.out, "batch.slice attached lfu        lfu       lfu      ");
        assert_contains(o.out, "odd.slice   attached lfu        lfu       fifo     -");
        assert_contains(o.out, "web.slice   failed   lru2       -         none     ");
        assert_contains(o.out, " /etc/systemd/system/web.slice:4\n");
        assert_contains(o.out, "\n3 units listed.\n");
}

static void test_list_selection(void **state) {
        _cleanup_(outcome_done) Outcome all = {}, pattern = {}, name = {}, one = {}, nothing = {};

        play("normal");

        run(&all, "list", "--no-legend");
        assert_int_equal(all.status, EXIT_SUCCESS);
        assert_contains(all.out, "user.slice ");
        assert_lacks(all.out, "UNIT");
        assert_lacks(all.out, "listed");
        /* Sorted by name, whatever the order of the daemon. */
        assert_int_equal(strncmp(all.out, "batch.slice ", strlen("batch.slice ")), 0);

        run(&pattern, "list", "--no-legend", "*o*.slice");
        assert_int_equal(pattern.status, EXIT_SUCCESS);
        assert_contains(pattern.out, "odd.slice");
        assert_lacks(pattern.out, "batch.slice");

        /* The backslash in a unit name is no escape. */
        run(&name, "list", "--no-legend", "system-foo\\x2dbar.slice");
        assert_contains(name.out, "system-foo\\x2dbar.slice inactive");

        run(&one, "list", "batch.slice");
        assert_contains(one.out, "\n1 unit listed.\n");

        run(&nothing, "list", "nothing*");
        assert_int_equal(nothing.status, EXIT_SUCCESS);
        assert_string_equal(nothing.out, "0 units listed.\n");
}

static void test_list_json(void **state) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        _cleanup_(outcome_done) Outcome o = {};

        play("normal");
        run(&o, "list", "--json=short");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_one_line(o.out);

        v = parse(o.out);
        assert_true(sd_json_variant_is_array(v));
        assert_int_equal(sd_json_variant_elements(v), 6);
        assert_string_equal(string_at(v, 0, "unit"), "batch.slice");
}

static void test_empty(void **state) {
        _cleanup_(outcome_done) Outcome table = {}, json = {}, stats = {}, status = {}, policies = {};

        play("empty");

        run(&table, "list");
        assert_int_equal(table.status, EXIT_SUCCESS);
        assert_string_equal(table.out, "0 units listed.\n");

        run(&json, "list", "--json=short");
        assert_int_equal(json.status, EXIT_SUCCESS);
        assert_string_equal(json.out, "[]\n");

        run(&stats, "stats", "--no-legend");
        assert_int_equal(stats.status, EXIT_SUCCESS);
        assert_string_equal(stats.out, "");

        run(&policies, "policies", "-j");
        assert_string_equal(policies.out, "[]\n");

        run(&status, "status");
        assert_int_equal(status.status, EXIT_SUCCESS);
        assert_contains(status.out, "0 configured, 0 attached, 0 failed");
}

/* More than sd_varlink_collect() would return. */
static void test_many(void **state) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        _cleanup_(outcome_done) Outcome o = {};
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *path = NULL;

        assert_true(asprintf(&path, "%s/many.json", harness_directory) > 0);
        f = fopen(path, "we");
        assert_non_null(f);
        fputs("{\"units\":[", f);
        for (unsigned i = 0; i < MANY_UNITS; i++)
                fprintf(f, "%s{\"unit\":\"u%u.slice\",\"state\":\"attached\"}", i > 0 ? "," : "", i);
        fputs("]}\n", f);
        assert_int_equal(fflush(f), 0);

        play_file(path);
        (void) unlink(path);

        run(&o, "list", "--json=short");
        assert_int_equal(o.status, EXIT_SUCCESS);
        v = parse(o.out);
        assert_int_equal(sd_json_variant_elements(v), MANY_UNITS);

        /* Version order: 2 before 10. */
        assert_string_equal(string_at(v, 2, "unit"), "u2.slice");
}

/* ---- status */

static void test_status(void **state) {
        _cleanup_(outcome_done) Outcome o = {}, default_verb = {};

        play("normal");
        run(&o, "status");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_string_equal(o.err, "");
        assert_contains(o.out, "● cachebpfd 0.1.0: running\n"
                               "       Kernel: supports cachebpf, ABI 1 (inherit update)\n"
                               "    In kernel: 2 policies, 5 attached, 3 detached, 1 updated, 0 ejected\n"
                               "        Units: 5 configured, 2 attached, 1 failed\n"
                               "     Policies: /etc/cachebpf/policies /usr/lib/cachebpf/policies\n");
        assert_contains(o.out, "\n● batch.slice: attached\n"
                               "   Configured: lfu (/etc/systemd/system/batch.slice.d/50-cache.conf:2)\n"
                               "    Effective: lfu (adopted from an earlier daemon)\n"
                               "     Verified: lfu (id 3 in the kernel)\n"
                               "        Since: Sat 2026-11-21 12:00:01 UTC; ");
        assert_contains(o.out, "       CGroup: /batch.slice (id 2231)\n");
        assert_contains(o.out, "\n× web.slice: failed\n"
                               "   Configured: lru2 (/etc/systemd/system/web.slice:4)\n"
                               "    Effective: -\n"
                               "     Verified: none\n"
                               "       Reason: unknown policy 'lru2' (/etc/systemd/system/web.slice:4)\n");
        assert_contains(o.out, "     Verified: fifo (the kernel contradicts the daemon)\n");
        assert_contains(o.out, "○ system-foo\\x2dbar.slice: inactive\n");

        /* What another process said does not reach the terminal as it is. */
        assert_contains(o.out, "Reason: \\x1b[2J\\x0afake: line\n");

        run(&default_verb, "--no-pager");
        assert_int_equal(default_verb.status, EXIT_SUCCESS);
        assert_contains(default_verb.out, "○ user.slice: unconfigured\n"
                        "   Configured: the stock policy (/run/cachebpf/units.d/user.slice.conf:3)\n");
}

static void test_status_units(void **state) {
        static const struct {
                const char *units[3];
                int status;
        } cases[] = {
                { { "batch.slice" },                  EXIT_SUCCESS },
                { { "batch.slice" },                        EXIT_SUCCESS },
                { { "bat*", "batch.slice" },                EXIT_SUCCESS },
                { { "batch.slice", "web.slice" },     EXIT_NOT_IN_EFFECT },
                { { "odd.slice" },                    EXIT_NOT_IN_EFFECT },
                { { "user.slice" },                   EXIT_NOT_IN_EFFECT },
                { { "batch.slice", "nosuch.slice" },  EXIT_UNKNOWN },
                { { "web.slice", "nosuch.slice" },    EXIT_UNKNOWN },
                { { "nosuch*" },                      EXIT_UNKNOWN },
        };

        play("normal");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(outcome_done) Outcome loud = {}, quiet = {};

                run(&loud, "status", cases[i].units[0], cases[i].units[1], cases[i].units[2]);
                assert_int_equal(loud.status, cases[i].status);
                assert_lacks(loud.out, "cachebpfd 0.1.0");
                assert_true(loud.out[0] != '\n');

                run(&quiet, "status", "--quiet", cases[i].units[0], cases[i].units[1], cases[i].units[2]);
                assert_int_equal(quiet.status, cases[i].status);
                assert_string_equal(quiet.out, "");
        }
}

static void test_status_unknown(void **state) {
        _cleanup_(outcome_done) Outcome o = {}, twice = {};

        play("normal");
        run(&o, "status", "nosuch.slice", "batch.slice");
        assert_int_equal(o.status, EXIT_UNKNOWN);
        assert_string_equal(o.err, "Unit \"nosuch.slice\" is not known to cachebpfd; "
                                   "\"systemctl list-units --type=slice,service,scope\" "
                                   "shows the units that are loaded.\n");
        assert_contains(o.out, "● batch.slice: attached\n"); /* the others are shown nevertheless */

        run(&twice, "status", "batch.slice", "batch.slice", "b*");
        assert_int_equal(twice.status, EXIT_SUCCESS);
        assert_null(strstr(strstr(twice.out, "● batch.slice") + 1, "● batch.slice"));
}

static void test_status_json(void **state) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        sd_json_variant *manager;
        _cleanup_(outcome_done) Outcome o = {};

        play("normal");
        run(&o, "status", "--json=short", "web.slice");
        assert_int_equal(o.status, EXIT_NOT_IN_EFFECT);

        v = parse(o.out);
        manager = sd_json_variant_by_key(v, "manager");
        assert_string_equal(sd_json_variant_string(sd_json_variant_by_key(manager, "version")), "0.1.0");
        assert_int_equal(sd_json_variant_elements(sd_json_variant_by_key(v, "units")), 1);
}

static void test_unsupported(void **state) {
        _cleanup_(outcome_done) Outcome status = {}, unit = {}, stats = {};

        play("unsupported");
        run(&status, "status");
        assert_int_equal(status.status, EXIT_SUCCESS);
        assert_contains(status.out, "○ cachebpfd 0.1.0: running, read-only\n"
                                    "       Kernel: kernel 6.12.0 has no cachebpf");

        run(&unit, "status", "batch.slice");
        assert_int_equal(unit.status, EXIT_NOT_IN_EFFECT);
        assert_contains(unit.out, "kernel 6.12.0 has no cachebpf"); /* the reason for it all */

        run(&stats, "stats");
        assert_int_equal(stats.status, EXIT_FAILURE);
        assert_string_equal(stats.out, "");
        assert_contains(stats.err, "There are no counters without cachebpf in the kernel: kernel 6.12");
}

/* ---- stats */

static void test_stats(void **state) {
        _cleanup_(outcome_done) Outcome summary = {}, unit = {}, json = {}, unknown = {};
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;

        play("normal");
        run(&summary, "stats");
        assert_int_equal(summary.status, EXIT_SUCCESS);
        assert_string_equal(
                        summary.out,
                        "UNIT        POLICY PAGES  HITS MISSES  HIT% REFAULTS EVICTED REFUSED FALLBACK\n"
                        "batch.slice lfu      800 12345    678 94.7%       90     400       7        2\n"
                        "odd.slice   fifo       0     0      0     -        -       -       -        -\n"
                        "\n"
                        "2 units with a policy listed.\n");

        run(&unit, "stats", "odd.slice", "web.slice");
        assert_int_equal(unit.status, EXIT_SUCCESS);
        assert_string_equal(unit.out,
                            "odd.slice: fifo\n"
                            "  managed_folios 0\n"
                            "  managed_pages  0\n"
                            "  hits           0\n"
                            "  misses         0\n"
                            "\n"
                            "web.slice: no policy\n");

        run(&json, "stats", "--json=short", "batch.slice");
        assert_int_equal(json.status, EXIT_SUCCESS);
        v = parse(json.out);
        assert_int_equal(sd_json_variant_elements(v), 1);

        run(&unknown, "stats", "nosuch.slice");
        assert_int_equal(unknown.status, EXIT_UNKNOWN);
}

/* ---- policies */

static void test_policies(void **state) {
        _cleanup_(outcome_done) Outcome list = {}, one = {}, broken = {}, unknown = {};

        play("normal");
        run(&list, "policies");
        assert_int_equal(list.status, EXIT_SUCCESS);
        assert_string_equal(list.out,
                            "NAME   DESCRIPTION                       SOURCE               TUNABLES\n"
                            "broken not an ELF file                   -                    -\n"
                            "fifo   First in, first out               -                    -\n"
                            "lfu    Least frequently used of a sample cache_ext, SOSP 2025 nr_scan bias\n"
                            "\n"
                            "3 policies listed.\n");

        run(&one, "policies", "lfu");
        assert_int_equal(one.status, EXIT_SUCCESS);
        assert_string_equal(one.out,
                            "lfu\n"
                            "  Description: Least frequently used of a sample\n"
                            "       Source: cache_ext, SOSP 2025\n"
                            "       Object: /usr/lib/cachebpf/policies/lfu.bpf.o\n"
                            "    Abilities: admission readahead threads\n"
                            "\n"
                            "  TUNABLE TYPE DEFAULT MIN  MAX UNIT   MEANING\n"
                            "  nr_scan u32      512   1 4096 folios "
                            "How many folios are scored for a batch (4.2.5)\n"
                            "  bias    s64       -5   -    - -      -\n");

        run(&broken, "policies", "broken");
        assert_int_equal(broken.status, EXIT_SUCCESS);
        assert_contains(broken.out, "      Problem: not an ELF file\n");

        /* Names of policies are taken as they are: no suffix. */
        run(&unknown, "policies", "lru");
        assert_int_equal(unknown.status, EXIT_UNKNOWN);
        assert_string_equal(unknown.err, "Policy \"lru\" is not known to cachebpfd; "
                                         "\"cachectl policies\" shows the policies that are installed.\n");
}

/* ---- no daemon, or a bad one */

static void test_no_daemon(void **state) {
        _cleanup_(outcome_done) Outcome o = {}, version = {};

        stop_manager();
        run(&o, "status");
        assert_int_equal(o.status, EXIT_FAILURE);
        assert_string_equal(o.out, "");
        assert_contains(o.err, "cachebpfd is not running: there is no socket");
        assert_contains(o.err, "Start it with \"systemctl start cachebpfd.service\".\n");

        run(&version, "version");
        assert_int_equal(version.status, EXIT_SUCCESS);
        assert_contains(version.out, "cachebpfd not running\n");
}

static void test_bad_daemon(void **state) {
        _cleanup_(outcome_done) Outcome drop = {}, garbage = {}, hang = {};

        play("drop");
        run(&drop, "list");
        assert_int_equal(drop.status, EXIT_FAILURE);
        assert_contains(drop.err, "cachebpfd closed the connection before it answered");

        play("garbage");
        run(&garbage, "list");
        assert_int_equal(garbage.status, EXIT_FAILURE);
        assert_contains(garbage.err, "does not speak varlink.\n");

        play("hang");
        assert_int_equal(setenv("CACHEBPF_VARLINK_TIMEOUT_SEC", "1", true), 0);
        run(&hang, "list");
        assert_int_equal(unsetenv("CACHEBPF_VARLINK_TIMEOUT_SEC"), 0);
        assert_int_equal(hang.status, EXIT_FAILURE);
        assert_contains(hang.err, "cachebpfd did not answer org.cachebpf.Manager.ListUnits within 1 s");
}

/* One that tells less than ours, or nothing at all. */
static void test_sparse_daemon(void **state) {
        _cleanup_(outcome_done) Outcome status = {}, policies = {};

        play("sparse");
        run(&status, "status");
        assert_int_equal(status.status, EXIT_SUCCESS);
        assert_string_equal(status.out,
                            "● cachebpfd 0.0.9: running\n"
                            "       Kernel: supports cachebpf\n"
                            "\n"
                            "● a.slice: attached\n"
                            "   Configured: lfu\n"
                            "         Held: CachePolicy=lfu by backup (PID 5), n/a\n"
                            "    Effective: lfu\n"
                            "     Verified: lfu\n"
                            "       CGroup: /a.slice\n");

        /* A reply without content is the end of a list. */
        run(&policies, "policies", "--json=short");
        assert_int_equal(policies.status, EXIT_SUCCESS);
        assert_string_equal(policies.out, "[]\n");
}

static void test_unusable_answers(void **state) {
        _cleanup_(outcome_done) Outcome list = {}, hold = {}, thread = {};

        play("unusable");
        run(&list, "list");
        assert_int_equal(list.status, EXIT_FAILURE);
        assert_string_equal(list.err,
                            "cachebpfd answered org.cachebpf.Manager.ListUnits without a \"unit\".\n");

        run(&hold, "status", "a.slice");
        assert_int_equal(hold.status, EXIT_FAILURE);
        assert_string_equal(hold.err, "cachebpfd sent a hold with an unusable field \"program\".\n");

        run(&thread, "threads", "5");
        assert_int_equal(thread.status, EXIT_FAILURE);
        assert_string_equal(thread.err, "cachebpfd sent a thread with an unusable field \"thread\".\n");
}

/* ---- threads */

static void test_threads(void **state) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        _cleanup_(outcome_done) Outcome table = {}, json = {}, unknown = {};

        play("normal");
        run(&table, "threads", "100");
        assert_int_equal(table.status, EXIT_SUCCESS);
        assert_contains(table.out, "THREAD NAME         CLASS");
        assert_contains(table.out, "   100 rocks        -");
        assert_contains(table.out, "   117 rocksdb:low0 background");
        assert_contains(table.out, "\n2 threads listed.\n");

        run(&json, "threads", "--json=short", "7", "100");
        assert_int_equal(json.status, EXIT_SUCCESS);
        v = parse(json.out);
        assert_int_equal(sd_json_variant_elements(v), 3);
        assert_string_equal(string_at(v, 0, "class"), "scan");

        /* The others are listed nevertheless. */
        run(&unknown, "threads", "--no-legend", "8", "7");
        assert_int_equal(unknown.status, EXIT_UNKNOWN);
        assert_contains(unknown.err, "There is no process 8.");
        assert_contains(unknown.out, "7 cat scan");
}

static void test_classify(void **state) {
        _cleanup_(outcome_done) Outcome two = {}, one = {}, quiet = {}, unknown = {}, thread = {};

        play("normal");
        run(&two, "classify", "scan", "100");
        assert_int_equal(two.status, EXIT_SUCCESS);
        assert_string_equal(two.out, "2 threads are now of class scan.\n");
        run(&one, "classify", "normal", "7");
        assert_string_equal(one.out, "1 thread is now of class normal.\n");
        run(&quiet, "classify", "-q", "background", "7", "100");
        assert_int_equal(quiet.status, EXIT_SUCCESS);
        assert_string_equal(quiet.out, "");

        run(&unknown, "classify", "scan", "8", "100");
        assert_int_equal(unknown.status, EXIT_UNKNOWN);
        assert_contains(unknown.err, "There is no process 8.");
        assert_string_equal(unknown.out, "2 threads are now of class scan.\n");

        /* The stand-in knows processes only. */
        run(&thread, "classify", "-t", "scan", "117");
        assert_int_equal(thread.status, EXIT_FAILURE);
        assert_contains(thread.err, "This is the number of a thread, not of a process");
}

static void test_settings(void **state) {
        _cleanup_(outcome_done) Outcome status = {}, policy = {}, same = {}, missing = {};

        play("normal");
        run(&status, "status", "odd.slice");
        assert_contains(status.out, "Options: nr_scan=64 bias=2\n");
        assert_contains(status.out, "Scan threads: rocksdb:low*\n");
        assert_contains(status.out, "Admission: yes\n");
        assert_contains(status.out, "Readahead: adaptive\n");

        run(&policy, "show-policy", "lfu");
        run(&same, "policies", "lfu");
        assert_int_equal(policy.status, EXIT_SUCCESS);
        assert_string_equal(policy.out, same.out);
        assert_contains(policy.out, "Abilities: admission readahead threads\n");
        assert_contains(policy.out, "How many folios are scored for a batch (4.2.5)\n");

        run(&missing, "show-policy", "nothing");
        assert_int_equal(missing.status, EXIT_UNKNOWN);
}

/* ---- files */

static void test_files(void **state) {
        _cleanup_(outcome_done) Outcome all = {}, none = {}, unknown = {}, json = {}, status = {};
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;

        play("normal");
        run(&all, "files");
        assert_int_equal(all.status, EXIT_SUCCESS);
        assert_string_equal(all.out,
                            "fool.service: revoked\n"
                            "    Decisions: 512, of which 200 were wrong\n"
                            "     Level -1: 3 pages, lru\n"
                            "      Level 2: 4096 pages, mru\n"
                            "  Priority -1: /data/\\x1b[2Jlog (5 pages are cached)\n"
                            "   Priority 0: /data/index\n"
                            "   Priority 2: device 8:1, inode 14\n"
                            "\n"
                            "a control group that is gone: decides\n"
                            "    Decisions: 7, of which 1 were wrong\n");

        run(&none, "files", "web.slice");
        assert_int_equal(none.status, EXIT_SUCCESS);
        assert_string_equal(none.out, "No manager has said anything of files.\n");

        run(&unknown, "files", "nosuch");
        assert_int_equal(unknown.status, EXIT_UNKNOWN);
        assert_contains(unknown.err, "Unit \"nosuch.service\" is not known to cachebpfd");

        run(&json, "files", "--json=short", "batch*");
        assert_one_line(json.out);
        v = parse(json.out);
        assert_int_equal(sd_json_variant_elements(v), 1);
        assert_string_equal(string_at(v, 0, "unit"), "batch.slice");

        run(&status, "status", "odd.slice");
        assert_contains(status.out, "Revoked: fool.service b.service\n");
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_list),
                cmocka_unit_test(test_list_selection),
                cmocka_unit_test(test_list_json),
                cmocka_unit_test(test_empty),
                cmocka_unit_test(test_many),
                cmocka_unit_test(test_status),
                cmocka_unit_test(test_status_units),
                cmocka_unit_test(test_status_unknown),
                cmocka_unit_test(test_status_json),
                cmocka_unit_test(test_unsupported),
                cmocka_unit_test(test_stats),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_policies),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_classify),
                cmocka_unit_test(test_settings),
                cmocka_unit_test(test_no_daemon),
                cmocka_unit_test(test_bad_daemon),
                cmocka_unit_test(test_sparse_daemon),
                cmocka_unit_test(test_unusable_answers),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-verbs", tests, harness_setup, harness_teardown);
}
