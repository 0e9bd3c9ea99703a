/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cachectl/model.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"

static sd_json_variant *parse(const char *text) {
        sd_json_variant *v;

        assert_int_equal(sd_json_parse(text, 0, &v, NULL, NULL), 0);
        return v;
}

static void test_unit_full(void **state) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        UnitInfo u;

        v = parse("{\"unit\":\"a.slice\",\"cgroup\":\"/a.slice\",\"cgroupId\":18446744073709551615,"
                  "\"configured\":\"lfu\",\"effective\":\"lfu\",\"verified\":\"lfu\",\"state\":\"attached\","
                  "\"reason\":null,\"source\":\"/etc/a:3\",\"sinceUSec\":5,\"policyId\":3,\"adopted\":true,"
                  "\"ofANewerDaemon\":[1]}");
        assert_int_equal(unit_info_parse(v, &u), 0);
        assert_string_equal(u.unit, "a.slice");
        assert_string_equal(u.source, "/etc/a:3");
        assert_null(u.reason);
        assert_int_equal(u.since_usec, 5);
        assert_int_equal(u.policy_id, 3);
        assert_int_equal(u.adopted, 1);
        assert_true(unit_info_in_effect(&u));
        assert_false(unit_info_contradicted(&u));
}

static void test_unit_sparse(void **state) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        UnitInfo u;

        v = parse("{\"unit\":\"a.slice\",\"state\":\"unconfigured\",\"cgroupId\":null}");
        assert_int_equal(unit_info_parse(v, &u), 0);
        assert_null(u.configured);
        assert_null(u.cgroup);
        assert_true(u.cgroup_id == UINT64_MAX);
        assert_true(u.since_usec == UINT64_MAX);
        assert_true(u.adopted < 0);
        assert_false(unit_info_in_effect(&u));
        assert_false(unit_info_contradicted(&u));
}

static void test_unit_unusable(void **state) {
        static const char *const texts[] = {
                "{}",
                "{\"unit\":\"a.slice\"}",
                "{\"unit\":5,\"state\":\"attached\"}",
                "{\"unit\":\"a.slice\",\"state\":\"attached\",\"policyId\":-1}",
                "[]",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = parse(texts[i]);
                UnitInfo u;

                assert_true(unit_info_parse(v, &u) < 0);
        }
}

/* "In effect" needs the word of the kernel. */
static void test_in_effect(void **state) {
        static const struct {
                const char *effective, *verified, *unit_state;
                bool in_effect, contradicted;
        } cases[] = {
                { "lfu", "lfu",  "attached", true,  false },
                { "lfu", "fifo", "attached", false, true  },
                { "lfu", "none", "attached", false, true  },
                { "lfu", NULL,   "attached", false, false },
                { NULL,  "none", "failed",   false, false },
                { NULL,  "lfu",  "unconfigured", false, false }, /* inherited */
                { NULL,  "lfu",  "failed",   false, false },
                { "lfu", "lfu",  "pending",  false, false },
                { NULL,  "none", "attached", false, false },
                { "lfu", "lfu",  "of a newer daemon", false, false },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                UnitInfo u = {
                        .unit = "a.slice",
                        .effective = cases[i].effective,
                        .verified = cases[i].verified,
                        .state = cases[i].unit_state,
                };

                assert_int_equal(unit_info_in_effect(&u), cases[i].in_effect);
                assert_int_equal(unit_info_contradicted(&u), cases[i].contradicted);
        }
}

static void test_states(void **state) {
        assert_string_equal(state_glyph("attached"), "●");
        assert_int_equal(state_color("failed"), COLOR_BAD);
        assert_string_equal(state_glyph("of a newer daemon"), "?");
        assert_int_equal(state_color("of a newer daemon"), COLOR_NONE);
}

static void test_stats(void **state) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        StatsInfo s;

        v = parse("{\"unit\":\"a.slice\",\"policy\":\"lfu\",\"counters\":"
                  "{\"hits\":999,\"misses\":1,\"reject_unevictable\":2,\"reject_foreign\":3,"
                  "\"rejection\":100}}");
        assert_int_equal(stats_info_parse(v, &s), 0);
        assert_int_equal(stats_info_counter(&s, "hits"), 999);
        assert_true(stats_info_counter(&s, "unknown") == UINT64_MAX);
        assert_int_equal(stats_info_sum(&s, "reject_"), 5);
        assert_true(stats_info_sum(&s, "nothing_") == UINT64_MAX);
        assert_int_equal(stats_info_hit_permille(&s), 999);
}

static void test_hit_ratio(void **state) {
        static const struct {
                const char *counters;
                int permille;
        } cases[] = {
                { "{}", -ENODATA },
                { "{\"hits\":0,\"misses\":0}", -ENODATA },
                { "{\"hits\":5}", -ENODATA },
                { "{\"hits\":0,\"misses\":7}", 0 },
                { "{\"hits\":7,\"misses\":0}", 1000 },
                { "{\"hits\":2,\"misses\":1}", 666 },
                { "{\"hits\":99999,\"misses\":1}", 999 }, /* never rounded up to a perfect one */
                { "{\"hits\":9223372036854775807,\"misses\":9223372036854775807}", 500 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = parse(cases[i].counters);
                StatsInfo s = { .unit = "a.slice", .counters = v };

                assert_int_equal(stats_info_hit_permille(&s), cases[i].permille);
        }
}

static void test_join(void **state) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = parse("[\"a\",5,\"b\",\"\",\"c\"]");
        _cleanup_free_ char *s = json_join_strings(v, ", "), *none = json_join_strings(NULL, ", ");

        assert_string_equal(s, "a, b, , c");
        assert_string_equal(none, "");
}

static int setup(void **state) {
        log_set_target(LOG_TARGET_NULL);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_unit_full),
                cmocka_unit_test(test_unit_sparse),
                cmocka_unit_test(test_unit_unusable),
                cmocka_unit_test(test_in_effect),
                cmocka_unit_test(test_states),
                cmocka_unit_test(test_stats),
                cmocka_unit_test(test_hit_ratio),
                cmocka_unit_test(test_join),
        };

        return cmocka_run_group_tests_name("cachectl-model", tests, setup, NULL);
}
