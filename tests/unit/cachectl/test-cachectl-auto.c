/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is shown of CachePolicy=auto. */

#include "harness.h"

#include "cachectl/unit-policy.h"

static void test_status(void **state) {
        _cleanup_(outcome_done) Outcome chosen = {}, new = {};

        play("auto");
        run(&chosen, "status", "db.slice");
        assert_int_equal(chosen.status, EXIT_SUCCESS);
        assert_string_equal(chosen.err, "");
        assert_contains(chosen.out, "● db.slice: attached\n"
                                    "   Configured: auto (/etc/systemd/system/db.slice:4)\n"
                                    "    Effective: auto (s3fifo small_percent=20)\n"
                                    "     Verified: s3fifo (id 5 in the kernel)\n"
                                    "       Window: stays with s3fifo small_percent=20: no other policy "
                                    "gains more than the margin\n"
                                    "       Switch: from stock to s3fifo small_percent=20: figures; ");
        assert_contains(chosen.out, " ago, 3 so far\n");
        assert_contains(chosen.out,
                        "\n"
                        "  CANDIDATE               MISSES NOTE\n"
                        "  stock                    50.0% \n"
                        "  lru                      48.0% banned for 1 window\n"
                        "  s3fifo small_percent=20  30.1% chosen\n"
                        "  mru                          - \n"
                        "  lhd                      47.0% banned for 4 windows\n"
                        "  wtinylfu                 10.0% the kernel does not take it\n");

        run(&new, "status", "--no-pager", "new.slice");
        assert_int_equal(new.status, EXIT_SUCCESS);
        assert_contains(new.out, "    Effective: auto (stock)\n"
                                 "     Verified: noop (id 6 in the kernel)\n"
                                 "       Window: none is over yet\n");
        assert_lacks(new.out, "Switch:");
}

static void test_lists(void **state) {
        _cleanup_(outcome_done) Outcome list = {}, top = {}, json = {};

        play("auto");
        run(&list, "list", "--no-legend");
        assert_int_equal(list.status, EXIT_SUCCESS);
        assert_contains(list.out, "auto (s3fifo small_percent=20) s3fifo");
        assert_contains(list.out, "auto (stock) ");

        run(&top, "top", "--no-legend");
        assert_int_equal(top.status, EXIT_SUCCESS);
        assert_contains(top.out, "db.slice  auto (s3fifo small_percent=20) attached");

        run(&json, "list", "--json=short", "db.slice");
        assert_contains(json.out, "{\"name\":\"s3fifo small_percent=20\",\"missRatio\":3.014");
}

/* What "advise" says that a unit has. */
static void test_chosen(void **state) {
        _cleanup_free_ char *db = NULL, *new = NULL;

        play("auto");
        db = unit_chosen_policy("db.slice");
        assert_string_equal(db, "auto (s3fifo small_percent=20)");
        new = unit_chosen_policy("new.slice");
        assert_string_equal(new, "auto (stock)");
        assert_null(unit_chosen_policy("nosuch.slice"));
        play("normal");
        assert_null(unit_chosen_policy("web.slice"));
        stop_manager();
        assert_null(unit_chosen_policy("db.slice"));
}

static void test_metrics(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        play("auto");
        run(&o, "stats", "--format=openmetrics");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_contains(o.out,
                        "# TYPE cachebpf_candidate_miss_ratio gauge\n"
                        "# UNIT cachebpf_candidate_miss_ratio ratio\n"
                        "# HELP cachebpf_candidate_miss_ratio What a candidate of CachePolicy=auto would "
                        "miss of all requests.\n"
                        "cachebpf_candidate_miss_ratio{unit=\"db.slice\",candidate=\"stock\"} 0.500000\n");
        assert_contains(o.out, "{unit=\"db.slice\",candidate=\"s3fifo small_percent=20\"} 0.301400\n");
        assert_lacks(o.out, "candidate=\"mru\"");
        assert_contains(o.out, "# TYPE cachebpf_switches counter\n");
        assert_contains(o.out, "cachebpf_switches_total{unit=\"db.slice\"} 3\n"
                               "cachebpf_switches_total{unit=\"new.slice\"} 0\n");
}

/* Without a word of the daemon's. */
static void test_show_policy(void **state) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        _cleanup_(outcome_done) Outcome text = {}, json = {};

        play("auto");
        run(&text, "show-policy", "auto");
        assert_int_equal(text.status, EXIT_SUCCESS);
        assert_string_equal(text.err, "");
        assert_contains(text.out, "auto\n");
        assert_contains(text.out, "   Candidates: wtinylfu s3fifo lru lhd mru, and stock, unless "
                                  "CacheCandidates= names others\n");
        assert_contains(text.out, "       Margin: a switch has to gain 0.5% of all requests, ");

        run(&json, "show-policy", "--json=short", "auto");
        assert_int_equal(json.status, EXIT_SUCCESS);
        v = parse(json.out);
        assert_string_equal(string_at(v, 0, "name"), "auto");
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_status),
                cmocka_unit_test(test_lists),
                cmocka_unit_test(test_metrics),
                cmocka_unit_test(test_chosen),
                cmocka_unit_test(test_show_policy),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-auto", tests, harness_setup, harness_teardown);
}
