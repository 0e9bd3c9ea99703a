/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "harness.h"

static void test_text(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        play("normal");
        run(&o, "monitor");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_string_equal(o.err, "");
        /* what there was is not told */
        assert_lacks(o.out, "lfu");
        assert_contains(o.out, " UTC added web.slice: failed lru2: unknown policy 'lru2'\n");
        assert_contains(o.out, " UTC changed batch.slice: attached mru\n");
        assert_contains(o.out, " UTC removed web.slice\n");
        /* a line a change, whatever is in it */
        assert_contains(o.out, " UTC changed evil.service: lost x: \\x1b[2J\\x0afake: line\n");
}

static void test_patterns(void **state) {
        _cleanup_(outcome_done) Outcome name = {}, pattern = {}, nothing = {};

        play("normal");
        run(&name, "monitor", "batch.slice");
        assert_int_equal(name.status, EXIT_SUCCESS);
        assert_one_line(name.out);
        assert_contains(name.out, "changed batch.slice");

        run(&pattern, "monitor", "w*", "e*");
        assert_lacks(pattern.out, "batch.slice");
        assert_contains(pattern.out, "evil.service");

        run(&nothing, "monitor", "nothing");
        assert_int_equal(nothing.status, EXIT_SUCCESS);
        assert_string_equal(nothing.out, "");
}

static void test_json(void **state) {
        static const char *const changes[] = { "listed", "complete", "added", "changed", "changed",
                                               "removed" };
        _cleanup_(outcome_done) Outcome o = {};
        char *rest, *line;
        size_t n = 0;

        play("normal");
        run(&o, "monitor", "--json=short");
        assert_int_equal(o.status, EXIT_SUCCESS);

        for (rest = o.out; (line = strsep(&rest, "\n")) && *line; n++) {
                _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = parse(line);

                assert_true(n < ELEMENTSOF(changes));
                assert_string_equal(sd_json_variant_string(sd_json_variant_by_key(v, "change")), changes[n]);
        }
        assert_int_equal(n, ELEMENTSOF(changes));
}

/* The daemon ends, or is an older one. */
static void test_failures(void **state) {
        _cleanup_(outcome_done) Outcome drop = {}, none = {};

        play("drop");
        run(&drop, "monitor");
        assert_int_equal(drop.status, EXIT_FAILURE);
        assert_contains(drop.err, "cachebpfd closed the connection");
        assert_one_line(drop.err);

        stop_manager();
        run(&none, "monitor");
        assert_int_equal(none.status, EXIT_FAILURE);
        assert_contains(none.err, "cachebpfd is not running");
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_text),
                cmocka_unit_test(test_patterns),
                cmocka_unit_test(test_json),
                cmocka_unit_test(test_failures),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-monitor", tests, harness_setup, harness_teardown);
}
