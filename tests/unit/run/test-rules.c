/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What "cachectl run" says in the environment, and what it means for a path. */

#include <locale.h>
#include <stdio.h>

#include "../test-util.h"
#include "run/rules.h"

static RunRules rules;

static void assert_match(const char *path, bool has_priority, int priority, bool done) {
        RunMatch m = run_rules_match(&rules, path);

        assert_int_equal(m.has_priority, has_priority);
        assert_int_equal(m.priority, priority);
        assert_int_equal(m.done, done);
}

static void test_match(void **state) {
        assert_true(run_rules_parse(&rules, "0 *\n-1 *.[ao]\n3 cscope.out\n2 data/*.db\ndone *.o\n1 a b=c"));
        assert_int_equal(rules.n_rules, 6);

        assert_match("x", true, 0, false);
        assert_match("x.o", true, -1, true);
        assert_match("/usr/lib/x.a", true, -1, false);
        assert_match("../cscope.out", true, 3, false); /* without a slash: the name */
        assert_match("cscope.out/x", true, 0, false);
        assert_match("data/x.db", true, 2, false); /* with one: the path as it is given, */
        assert_match("data/x/y.db", true, 2, false); /* and stars stand for slashes, too */
        assert_match("/data/x.db", true, 0, false);
        assert_match("/dir/a b=c", true, 1, false);
        assert_match("", true, 0, false);

        assert_true(run_rules_parse(&rules, "3 *.db\n-1 *"));
        assert_match("x.db", true, -1, false); /* the last one counts */
        assert_true(run_rules_parse(&rules, "3 *.db"));
        assert_match("x", false, 0, false);
}

/* It may have been changed on the way. */
static void test_garbage(void **state) {
        static const char *const garbage[] = {
                "", "\n\n", "1", "1 ", " x", "one x", "1x x", "done", "done ", " ",
        };

        for (size_t i = 0; i < ELEMENTSOF(garbage); i++) {
                char text[64];

                assert_true(run_rules_parse(&rules, garbage[i]));
                assert_int_equal(rules.n_rules, 0);
                (void) snprintf(text, sizeof(text), "%s\n2 x", garbage[i]);
                assert_true(run_rules_parse(&rules, text));
                assert_int_equal(rules.n_rules, 1);
                assert_match("x", true, 2, false);
        }
}

static void test_limits(void **state) {
        char text[RUN_TEXT_MAX + 8] = "";
        size_t n = 0;

        for (size_t i = 0; i < RUN_RULES_MAX; i++)
                n += (size_t) snprintf(text + n, sizeof(text) - n, "1 x%zu\n", i);
        assert_true(run_rules_parse(&rules, text));
        assert_int_equal(rules.n_rules, RUN_RULES_MAX);
        (void) snprintf(text + n, sizeof(text) - n, "1 y");
        assert_false(run_rules_parse(&rules, text));
        assert_match("x63", true, 1, false);
        assert_match("y", false, 0, false);

        text[0] = '1';
        text[1] = ' ';
        memset(text + 2, 'x', RUN_TEXT_MAX - 3);
        text[RUN_TEXT_MAX - 1] = 0;
        assert_true(run_rules_parse(&rules, text));
        assert_match(text + 2, true, 1, false);
        text[RUN_TEXT_MAX - 1] = 'x';
        text[RUN_TEXT_MAX] = 0;
        assert_false(run_rules_parse(&rules, text));
        assert_int_equal(rules.n_rules, 0);
}

/* Names are bytes, and the program's locale stays what it is. */
static void test_locale(void **state) {
        locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t) 0);

        assert_true(locale != (locale_t) 0);
        (void) uselocale(locale);
        assert_true(run_rules_parse(&rules, "1 \xc3\xbc*\n2 ?\xff"));
        assert_match("\xc3\xbc" "ber", true, 1, false);
        assert_match("x\xff", true, 2, false);
        assert_true(uselocale((locale_t) 0) == locale);
        (void) uselocale(LC_GLOBAL_LOCALE);
        freelocale(locale);
}

static void test_patterns(void **state) {
        static const char *const good[] = {
                "x", "*", "[ab]", "[]a]", "[!]]", "[^]a]x", "\\[", "a\\\\", "x]", "[a[]",
        };
        static const char *const bad[] = { "", "[", "[a", "x[]", "[!]", "[]", "\\", "a\\\\\\", "[a]b[" };

        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                assert_true(run_pattern_is_valid(good[i]));
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_false(run_pattern_is_valid(bad[i]));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_match),
                cmocka_unit_test(test_garbage),
                cmocka_unit_test(test_limits),
                cmocka_unit_test(test_locale),
                cmocka_unit_test(test_patterns),
        };

        return cmocka_run_group_tests_name("run-rules", tests, NULL, NULL);
}
