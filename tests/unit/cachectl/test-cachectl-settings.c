/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The verbs that change and explain what units have: set, reset, show, reload, features. */

#include "harness.h"

/* Runs it, and compares all that comes of it. */
static void check_run(int status, const char *out, const char *err, const char *const *arguments) {
        _cleanup_(outcome_done) Outcome o = {};

        run_with(0, &o, arguments);
        assert_int_equal(o.status, status);
        assert_string_equal(o.out, out);
        assert_string_equal(o.err, err);
}

#define check(status, out, err, ...) check_run(status, out, err, (const char *const[]) { __VA_ARGS__, NULL })

static void test_show(void **state) {
        _cleanup_(outcome_done) Outcome table = {}, json = {}, unknown = {};
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        const char *lfu, *mru;

        play("normal");
        run(&table, "show", "batch.slice");
        assert_int_equal(table.status, EXIT_SUCCESS);
        assert_string_equal(table.err, "");
        assert_contains(table.out, "UNIT        SETTING        VALUE  COUNTS BY         SOURCE\n");
        lfu = strstr(table.out,
                     "batch.slice CachePolicy    lfu    yes    "
                     "unit       /etc/systemd/system/batch.slice.d/");
        mru = strstr(table.out,
                     "batch.slice CachePolicy    mru    no     rule "
                     "      /etc/cachebpf/policies.d/10-a.conf:4");
        assert_non_null(lfu);
        assert_true(mru > lfu); /* the stronger one first */
        assert_contains(table.out, "batch.slice CacheAdmission (none) yes    persistent ");
        assert_contains(table.out, "\n3 lines listed.\n");

        run(&json, "show", "--json=short", "batch.slice", "web.slice");
        assert_one_line(json.out);
        v = parse(json.out);
        assert_int_equal(sd_json_variant_elements(v), 2);
        assert_string_equal(string_at(v, 1, "unit"), "web.slice");
        assert_int_equal(sd_json_variant_elements(sd_json_variant_by_key(sd_json_variant_by_index(v, 0),
                                                                         "settings")), 3);

        run(&unknown, "show", "nosuch.slice", "batch.slice");
        assert_int_equal(unknown.status, EXIT_UNKNOWN);
        assert_string_equal(unknown.err,
                            "Unit \"nosuch.slice\" is not known to cachebpfd, and nothing is set for it.\n");
        assert_contains(unknown.out, "batch.slice");
}

static void test_set(void **state) {
        _cleanup_(outcome_done) Outcome dry = {};

        play("normal");
        check(EXIT_SUCCESS, "Changed /run/file.\n", "", "set", "batch.slice", "lfu", "CacheAdmission=yes");
        check(EXIT_SUCCESS, "Changed /etc/file.\n", "", "set", "batch.slice", "--persistent",
              "CacheAdmission=");
        check(EXIT_SUCCESS, "", "", "set", "-q", "batch.slice", "lfu");

        run(&dry, "set", "-n", "batch.slice", "lfu");
        assert_int_equal(dry.status, EXIT_SUCCESS);
        assert_contains(dry.out, "Would change /run/file.\n");
        assert_contains(dry.out, "batch.slice CachePolicy    lfu ");
}

/* It is set, and the unit does not have it. */
static void test_set_without_effect(void **state) {
        static const char rejected[] = "The policy of batch.slice is not in effect: "
                                       "the kernel rejects its program.\n";
        _cleanup_(outcome_done) Outcome slow = {};

        play("normal");
        check(EXIT_NOT_IN_EFFECT, "Changed /run/file.\n", rejected, "set", "batch.slice", "rejected");
        check(EXIT_NOT_IN_EFFECT, "", rejected, "set", "--quiet", "batch.slice", "rejected");
        check(EXIT_SUCCESS, "Changed /run/file.\n", "", "set", "--no-block", "batch.slice", "rejected");

        run(&slow, "set", "batch.slice", "slow");
        assert_int_equal(slow.status, EXIT_NOT_IN_EFFECT);
        assert_contains(slow.err, "\"cachectl status batch.slice\" shows the result.");
}

static void test_set_errors(void **state) {
        _cleanup_(outcome_done) Outcome few = {};

        play("normal");
        /* The name of a policy alone is short for CachePolicy=. */
        check(EXIT_USAGE, "", "Nothing was changed: unknown policy 'nosuch'.\n", "set", "batch.slice",
              "nosuch");
        check(EXIT_USAGE, "", "Nothing was changed: unknown policy 'nosuch'.\n", "set", "batch.slice",
              "CachePolicy=nosuch");
        check(EXIT_FAILURE, "", "Nothing was changed: cannot write '/run/file': full.\n",
              "set", "batch.slice", "CacheAdmission=full");
        check(EXIT_UNKNOWN, "", "There is no unit \"nosuch.service\".\n", "set", "nosuch.service", "lfu");
        check(EXIT_USAGE, "", "A setting is not valid UTF-8.\n", "set", "batch.slice", "\xff");
        check(EXIT_FAILURE, "",
              "cachebpfd does not permit you to call org.cachebpf.Manager.SetUnitSettings.\n",
              "set", "batch.slice", "CacheAdmission=root");

        run(&few, "set", "batch.slice");
        assert_int_equal(few.status, EXIT_USAGE);
        assert_contains(few.err, "\"set\" needs UNIT SETTING...");
}

static void test_reset(void **state) {
        _cleanup_(outcome_done) Outcome unknown = {};

        play("normal");
        check(EXIT_SUCCESS,
              "Removed /run/file.\n"
              "The persistent settings of batch.slice are still in effect; "
              "\"cachectl reset --persistent batch.slice\" removes them.\n",
              "", "reset", "batch.slice");
        check(EXIT_SUCCESS, "Removed /etc/file.\n", "", "reset", "--persistent", "web.slice");

        run(&unknown, "reset", "nosuch.slice", "web.slice");
        assert_int_equal(unknown.status, EXIT_UNKNOWN);
        assert_string_equal(unknown.out, "Removed /run/file.\n");
}

static void test_forget(void **state) {
        _cleanup_(outcome_done) Outcome unknown = {};

        play("normal");
        check(EXIT_SUCCESS, "Removed /var/lib/file.\nNothing is kept for web.slice.\n", "",
              "forget", "batch.slice", "web.slice");
        check(EXIT_SUCCESS, "", "", "forget", "--quiet", "batch.slice");

        run(&unknown, "forget", "nosuch.slice", "batch.slice");
        assert_int_equal(unknown.status, EXIT_UNKNOWN);
        assert_string_equal(unknown.out, "Removed /var/lib/file.\n");
        assert_contains(unknown.err, "There is no unit \"nosuch.slice\".");
}

static void test_reload(void **state) {
        _cleanup_(outcome_done) Outcome good = {};

        play("normal");
        check(EXIT_NOT_IN_EFFECT, "", "/etc/x.conf:3: Unknown key\nweb.slice: unknown policy 'lru2'\n",
              "reload");

        play("empty");
        run(&good, "reload");
        assert_int_equal(good.status, EXIT_SUCCESS);
        assert_contains(good.out, "no problems");
}

static void test_features(void **state) {
        _cleanup_(outcome_done) Outcome some = {}, none = {}, json = {};

        play("normal");
        run(&some, "features");
        assert_int_equal(some.status, EXIT_SUCCESS);
        assert_contains(some.out, "watchdog       no ");
        assert_contains(some.out, "inherit        yes   -\n"); /* this program does not know it */

        run(&json, "features", "--json=short");
        assert_one_line(json.out);
        assert_contains(json.out, "\"kernelFeatures\":[\"inherit\",\"update\"]");

        play("unsupported");
        run(&none, "features");
        assert_int_equal(none.status, EXIT_NOT_IN_EFFECT);
        assert_contains(none.err, "No cache policy can be attached: ");
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_show),
                cmocka_unit_test(test_set),
                cmocka_unit_test(test_set_without_effect),
                cmocka_unit_test(test_set_errors),
                cmocka_unit_test(test_reset),
                cmocka_unit_test(test_forget),
                cmocka_unit_test(test_reload),
                cmocka_unit_test(test_features),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-settings", tests, harness_setup, harness_teardown);
}
