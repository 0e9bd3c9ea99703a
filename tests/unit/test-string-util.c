/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test-util.h"

#include "daemon/kernel/backend.h"
#include "shared/string-util.h"
#include "shared/unit-state.h"

static void test_numbers(void **state) {
        uint64_t u;
        int64_t i;

        assert_int_equal(safe_atou64("18446744073709551615", &u), 0);
        assert_true(u == UINT64_MAX);
        assert_int_equal(safe_atou64("18446744073709551616", &u), -ERANGE);
        assert_int_equal(safe_atou64("", &u), -EINVAL);
        assert_int_equal(safe_atou64("-1", &u), -EINVAL);
        assert_int_equal(safe_atou64(" 1", &u), -EINVAL);
        assert_int_equal(safe_atou64("1x", &u), -EINVAL);

        assert_int_equal(safe_atoi64("-9223372036854775808", &i), 0);
        assert_true(i == INT64_MIN);
        assert_int_equal(safe_atoi64("9223372036854775808", &i), -ERANGE);
        assert_int_equal(safe_atoi64("--1", &i), -EINVAL);
}

static void test_strings(void **state) {
        char s[] = " \t a b \r\n", empty[] = " \n";

        assert_string_equal(strstrip(s), "a b");
        assert_string_equal(strstrip(empty), "");
        assert_string_equal(endswith("lfu.bpf.o", ".bpf.o"), ".bpf.o");
        assert_null(endswith("o", ".bpf.o"));
        assert_string_equal(startswith("map-x", "map-"), "x");
        assert_null(startswith("ma", "map-"));
}

static void test_policy_names(void **state) {
        char s[POLICY_NAME_MAX + 1];

        assert_true(policy_name_is_valid("lfu"));
        assert_true(policy_name_is_valid("get-scan_2"));
        assert_true(policy_name_is_valid("123456789012345"));
        assert_false(policy_name_is_valid("1234567890123456"));
        assert_false(policy_name_is_valid(""));
        assert_false(policy_name_is_valid("a/b"));
        assert_false(policy_name_is_valid(".."));
        assert_false(policy_name_is_valid("a b"));

        policy_kernel_name("get-scan", s);
        assert_string_equal(s, "get_scan");
        assert_true(policy_kernel_name_equal("get-scan", "get_scan"));
        assert_false(policy_kernel_name_equal("lfu", "mru"));
        assert_false(policy_kernel_name_equal(NULL, "mru"));
        assert_false(policy_kernel_name_equal("lfu", NULL));
}

static void test_states(void **state) {
        for (UnitState i = 0; i < _UNIT_STATE_MAX; i++)
                assert_int_equal(unit_state_from_string(unit_state_to_string(i)), i);
        assert_int_equal(unit_state_from_string("x"), _UNIT_STATE_INVALID);
        assert_null(unit_state_to_string(_UNIT_STATE_MAX));
        assert_null(unit_state_to_string(_UNIT_STATE_INVALID));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_numbers),
                cmocka_unit_test(test_strings),
                cmocka_unit_test(test_policy_names),
                cmocka_unit_test(test_states),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
