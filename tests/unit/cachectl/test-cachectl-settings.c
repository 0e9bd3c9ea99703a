/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The verbs that change and explain what units have: set, reset, show, reload, features. */

#include "harness.h"

static void test_show(void **state) {
        _cleanup_(outcome_done) Outcome table = {}, json = {}, unknown = {};
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        const char *lfu, *mru;

        play("normal");
        run(&table, "show", "batch");
        assert_int_equal(table.status, EXIT_SUCCESS);
        assert_string_equal(table.err, "");
        assert_contains(table.out, "UNIT        SETTING        VALUE  COUNTS BY         SOURCE\n");
        lfu = strstr(table.out, "batch.slice CachePolicy    lfu    yes    unit       /etc/systemd/system/batch.slice.d/");
        mru = strstr(table.out, "batch.slice CachePolicy    mru    no     rule       /etc/cachebpf/policies.d/10-a.conf:4");
        assert_non_null(lfu);
        assert_true(mru > lfu); /* the stronger one first */
        assert_contains(table.out, "batch.slice CacheAdmission (none) yes    persistent ");
        assert_contains(table.out, "\n3 lines listed.\n");

        run(&json, "show", "--json=short", "batch", "web.slice");
        assert_one_line(json.out);
        v = parse(json.out);
        assert_int_equal(sd_json_variant_elements(v), 2);
        assert_string_equal(string_at(v, 1, "unit"), "web.slice");
        assert_int_equal(sd_json_variant_elements(sd_json_variant_by_key(sd_json_variant_by_index(v, 0), "settings")), 3);

        run(&unknown, "show", "nosuch", "batch");
        assert_int_equal(unknown.status, EXIT_UNKNOWN);
        assert_string_equal(unknown.err, "Unit \"nosuch.slice\" is not known to cachebpfd, and nothing is set for it.\n");
        assert_contains(unknown.out, "batch.slice");
}

static void test_set(void **state) {
        _cleanup_(outcome_done) Outcome runtime = {}, persistent = {}, quiet = {}, dry = {};

        play("normal");
        run(&runtime, "set", "batch", "lfu", "CacheAdmission=yes");
        assert_int_equal(runtime.status, EXIT_SUCCESS);
        assert_string_equal(runtime.out, "Changed /run/file.\n");

        run(&persistent, "set", "batch.slice", "--persistent", "CacheAdmission=");
        assert_string_equal(persistent.out, "Changed /etc/file.\n");

        run(&quiet, "set", "-q", "batch.slice", "lfu");
        assert_int_equal(quiet.status, EXIT_SUCCESS);
        assert_string_equal(quiet.out, "");

        run(&dry, "set", "-n", "batch", "lfu");
        assert_int_equal(dry.status, EXIT_SUCCESS);
        assert_contains(dry.out, "Would change /run/file.\n");
        assert_contains(dry.out, "batch.slice CachePolicy    lfu ");
}

/* It is set, and the unit does not have it. */
static void test_set_without_effect(void **state) {
        _cleanup_(outcome_done) Outcome rejected = {}, quiet = {}, slow = {}, not_waited_for = {};

        play("normal");
        run(&rejected, "set", "batch", "rejected");
        assert_int_equal(rejected.status, EXIT_NOT_IN_EFFECT);
        assert_string_equal(rejected.out, "Changed /run/file.\n");
        assert_string_equal(rejected.err, "The policy of batch.slice is not in effect: the kernel rejects its program.\n");

        run(&quiet, "set", "--quiet", "batch", "rejected");
        assert_int_equal(quiet.status, EXIT_NOT_IN_EFFECT);
        assert_string_equal(quiet.out, "");

        run(&slow, "set", "batch", "slow");
        assert_int_equal(slow.status, EXIT_NOT_IN_EFFECT);
        assert_contains(slow.err, "\"cachectl status batch.slice\" tells");

        run(&not_waited_for, "set", "--no-block", "batch", "rejected");
        assert_int_equal(not_waited_for.status, EXIT_SUCCESS);
        assert_string_equal(not_waited_for.err, "");
        assert_string_equal(not_waited_for.out, "Changed /run/file.\n");
}

static void check_error(int status, const char *message, const char *unit, const char *setting) {
        _cleanup_(outcome_done) Outcome o = {};

        run(&o, "set", unit, setting);
        assert_int_equal(o.status, status);
        assert_string_equal(o.out, "");
        assert_string_equal(o.err, message);
}

static void test_set_errors(void **state) {
        _cleanup_(outcome_done) Outcome few = {};

        play("normal");
        /* The name of a policy alone is short for CachePolicy=. */
        check_error(EXIT_USAGE, "Nothing was changed: unknown policy 'nosuch'.\n", "batch", "nosuch");
        check_error(EXIT_USAGE, "Nothing was changed: unknown policy 'nosuch'.\n", "batch", "CachePolicy=nosuch");
        check_error(EXIT_FAILURE, "Nothing was changed: cannot write '/run/file': full.\n", "batch", "CacheAdmission=full");
        check_error(EXIT_UNKNOWN, "There is no unit \"nosuch.service\".\n", "nosuch.service", "lfu");
        check_error(EXIT_USAGE, "A setting is not valid UTF-8.\n", "batch", "\xff");
        check_error(EXIT_FAILURE, "cachebpfd does not permit you to call org.cachebpf.Manager.SetUnitSettings.\n", "batch",
                    "CacheAdmission=root");

        run(&few, "set", "batch");
        assert_int_equal(few.status, EXIT_USAGE);
        assert_contains(few.err, "\"set\" needs UNIT SETTING...");
}

static void test_reset(void **state) {
        _cleanup_(outcome_done) Outcome o = {}, web = {}, unknown = {};

        play("normal");
        run(&o, "reset", "batch");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_string_equal(o.out, "Removed /run/file.\n"
                                   "What is set for batch.slice to stay still holds; "
                                   "\"cachectl reset --persistent batch.slice\" takes it back.\n");

        run(&web, "reset", "--persistent", "web");
        assert_string_equal(web.out, "Removed /etc/file.\n");

        run(&unknown, "reset", "nosuch", "web");
        assert_int_equal(unknown.status, EXIT_UNKNOWN);
        assert_string_equal(unknown.out, "Removed /run/file.\n");
}

static void test_reload(void **state) {
        _cleanup_(outcome_done) Outcome bad = {}, good = {};

        play("normal");
        run(&bad, "reload");
        assert_int_equal(bad.status, EXIT_NOT_IN_EFFECT);
        assert_string_equal(bad.err, "/etc/x.conf:3: Unknown key\nweb.slice: unknown policy 'lru2'\n");
        assert_string_equal(bad.out, "");

        play("empty");
        run(&good, "reload");
        assert_int_equal(good.status, EXIT_SUCCESS);
        assert_contains(good.out, "nothing is wrong");
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
                cmocka_unit_test(test_reload),
                cmocka_unit_test(test_features),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-settings", tests, harness_setup, harness_teardown);
}
