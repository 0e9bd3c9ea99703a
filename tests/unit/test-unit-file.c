/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test-util.h"

#include "config/unit-file.h"

static char *dir;

static int setup(void **state) {
        dir = test_dir_make();
        return 0;
}

static int teardown(void **state) {
        test_dir_remove(dir);
        return 0;
}

static void test_section(void **state) {
        assert_string_equal(unit_name_to_section("system.slice"), "Slice");
        assert_string_equal(unit_name_to_section("-.slice"), "Slice");
        assert_string_equal(unit_name_to_section("a@b.service"), "Service");
        assert_string_equal(unit_name_to_section("session-1.scope"), "Scope");
        assert_null(unit_name_to_section("dbus.socket"));
        assert_null(unit_name_to_section("slice"));
}

static void test_precedence(void **state) {
        char *fragment = test_file(dir, "a.slice", "[Unit]\nDescription=x\n[Slice]\nCachePolicy=lfu\n"),
             *d1 = test_file(dir, "a.slice.d/10.conf", "[Slice]\nX-CachePolicy=mru\nMemoryMax=1G\n"),
             *d2 = test_file(dir, "a.slice.d/20.conf", "[Slice]\nMemoryMax=2G\n"),
             *d3 = test_file(dir, "a.slice.d/30.conf", "[Slice]\n\nCachePolicy=\n");
        _cleanup_policy_setting_ PolicySetting s = {};

        assert_int_equal(unit_file_read_setting("a.slice", fragment, NULL, &s), 0);
        assert_true(s.set);
        assert_string_equal(s.policy, "lfu");
        assert_string_equal(s.file, fragment);
        assert_int_equal(s.line, 4);
        policy_setting_done(&s);

        /* The last assignment wins, under either name. */
        assert_int_equal(unit_file_read_setting("a.slice", fragment, (char *[]) { d1, d2, NULL }, &s), 0);
        assert_string_equal(s.policy, "mru");
        assert_string_equal(s.file, d1);
        assert_int_equal(s.line, 2);
        policy_setting_done(&s);

        /* An empty one resets, and that is a decision too. */
        assert_int_equal(unit_file_read_setting("a.slice", fragment, (char *[]) { d1, d2, d3, NULL }, &s),
                         0);
        assert_true(s.set);
        assert_null(s.policy);
        assert_string_equal(s.file, d3);
        assert_int_equal(s.line, 3);

        free(fragment);
        free(d1);
        free(d2);
        free(d3);
}

static void test_nothing(void **state) {
        char *fragment = test_file(dir, "b.slice", "[Slice]\nMemoryMax=1G\n");
        _cleanup_policy_setting_ PolicySetting s = {};

        assert_int_equal(unit_file_read_setting("b.slice", fragment, NULL, &s), 0);
        assert_false(s.set);
        /* Perpetual slices have no fragment; a file may be gone before systemd notices. */
        assert_int_equal(unit_file_read_setting("-.slice", "", NULL, &s), 0);
        assert_false(s.set);
        assert_int_equal(unit_file_read_setting("b.slice", "/nonexistent/b.slice", NULL, &s), 0);
        assert_false(s.set);
        assert_int_equal(unit_file_read_setting("b.socket", fragment, NULL, &s), -EINVAL);

        free(fragment);
}

static void test_wrong_section(void **state) {
        char *fragment = test_file(dir, "c.service", "[Unit]\nCachePolicy=lfu\n[Slice]\nCachePolicy=mru\n");
        _cleanup_policy_setting_ PolicySetting s = {};

        assert_int_equal(unit_file_read_setting("c.service", fragment, NULL, &s), 0);
        assert_false(s.set);

        free(fragment);
}

static void test_garbage(void **state) {
        static const char text[] = "\x7f" "ELF\0\1\2\3\n[Slice\nCachePolicy=a\n[Slice]\nCachePolicy lfu\n"
                                   "CachePolicy=\xff\xff\nCachePolicy=fifo\n=\n[[[\n";
        char *fragment = test_file_write(dir, "g.slice", text, sizeof(text) - 1);
        _cleanup_policy_setting_ PolicySetting s = {};

        assert_int_equal(unit_file_read_setting("g.slice", fragment, NULL, &s), 0);
        assert_string_equal(s.policy, "fifo");

        free(fragment);
}

static void check_name(const char *name, const char *expected) {
        _cleanup_free_ char *s = unit_name_mangle(name);

        assert_string_equal(s, expected);
}

/* As systemctl(1) has it. */
static void test_names(void **state) {
        check_name("nginx", "nginx.service");
        check_name("nginx.conf", "nginx.conf.service");
        check_name("getty@tty1", "getty@tty1.service");
        check_name("a.slice", "a.slice");
        check_name("a.timer", "a.timer");
        check_name("a.socket", "a.socket");
        check_name("a-*", "a-*");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_section),       cmocka_unit_test(test_precedence),
                cmocka_unit_test(test_nothing),       cmocka_unit_test(test_wrong_section),
                cmocka_unit_test(test_garbage),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
