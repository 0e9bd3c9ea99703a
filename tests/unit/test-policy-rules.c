/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test-util.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "config/rules.h"

static char *dir, *etc, *run, *lib;
static const char *dirs[4];

static int setup(void **state) {
        dir = test_dir_make();
        assert_true(asprintf(&etc, "%s/etc", dir) > 0);
        assert_true(asprintf(&run, "%s/run", dir) > 0);
        assert_true(asprintf(&lib, "%s/lib", dir) > 0);
        dirs[0] = etc;
        dirs[1] = run;
        dirs[2] = lib;
        return 0;
}

static int teardown(void **state) {
        test_dir_remove(dir);
        free(etc);
        free(run);
        free(lib);
        return 0;
}

static void write_rule(const char *where, const char *name, const char *content) {
        free(test_file(where, name, content));
}

static void check(const PolicyRules *rules, const char *unit, const char *cgroup, const char *expected) {
        _cleanup_policy_setting_ PolicySetting s = {};
        int r = policy_rules_lookup(rules, unit, cgroup, &s);

        assert_int_equal(r, expected ? 1 : 0);
        if (expected)
                assert_string_equal(s.policy ?: "", expected);
}

static void test_empty(void **state) {
        _cleanup_(policy_rules_done) PolicyRules rules = {};

        rules = policy_rules_load(dirs);
        assert_int_equal(rules.rules->len, 0);
        check(&rules, "a.slice", "/a.slice", NULL);
}

static void test_order(void **state) {
        _cleanup_(policy_rules_done) PolicyRules rules = {};

        write_rule(lib, "20-a.conf", "[Match]\nUnit=a*.slice b.slice\n[Policy]\nCachePolicy=lfu\n");
        write_rule(etc, "10-a.conf", "[Match]\nUnit=*.slice\n[Policy]\nCachePolicy=fifo\n");
        write_rule(run, "30-a.conf", "[Match]\nUnit=ab.slice\n[Policy]\nCachePolicy=\n");

        rules = policy_rules_load(dirs);
        assert_int_equal(rules.rules->len, 3);
        assert_false(rules.by_cgroup);
        /* The name of the file counts, not its directory. */
        check(&rules, "x.slice", NULL, "fifo");
        check(&rules, "a.slice", NULL, "lfu");
        check(&rules, "b.slice", NULL, "lfu");
        check(&rules, "ab.slice", NULL, "");
        check(&rules, "x.service", NULL, NULL);
}

static void test_masks(void **state) {
        _cleanup_(policy_rules_done) PolicyRules rules = {};
        char *link;

        write_rule(lib, "20-a.conf", "[Match]\nUnit=a.slice\n[Policy]\nCachePolicy=lfu\n");
        write_rule(run, "20-a.conf", "[Match]\nUnit=a.slice\n[Policy]\nCachePolicy=mru\n");
        write_rule(lib, "30-b.conf", "[Match]\nUnit=b.slice\n[Policy]\nCachePolicy=lfu\n");
        write_rule(etc, "30-b.conf", "");
        write_rule(lib, "40-c.conf", "[Match]\nUnit=c.slice\n[Policy]\nCachePolicy=lfu\n");
        assert_true(asprintf(&link, "%s/40-c.conf", run) > 0);
        assert_int_equal(symlink("/dev/null", link), 0);
        free(link);
        write_rule(lib, "50-d.conf~", "[Match]\nUnit=d.slice\n[Policy]\nCachePolicy=lfu\n");
        write_rule(lib, ".50-d.conf", "[Match]\nUnit=d.slice\n[Policy]\nCachePolicy=lfu\n");
        write_rule(lib, "60-\xe9.conf", "[Match]\nUnit=d.slice\n[Policy]\nCachePolicy=lfu\n"); /* no UTF-8 */

        rules = policy_rules_load(dirs);
        assert_int_equal(rules.rules->len, 1);
        check(&rules, "a.slice", NULL, "mru");
        check(&rules, "b.slice", NULL, NULL);
        check(&rules, "c.slice", NULL, NULL);
        check(&rules, "d.slice", NULL, NULL);
}

static void test_cgroup(void **state) {
        _cleanup_(policy_rules_done) PolicyRules rules = {};

        write_rule(etc, "a.conf", "[Match]\nCgroup=/kubepods.slice/*\n[Policy]\nCachePolicy=lfu\n");
        write_rule(etc, "b.conf",
                   "[Match]\nUnit=*.scope\nCgroup=/user.slice/*/* /x\n[Policy]\nCachePolicy=mru\n");

        rules = policy_rules_load(dirs);
        assert_true(rules.by_cgroup);
        check(&rules, "kubepods-burstable.slice", "/kubepods.slice/kubepods-burstable.slice", "lfu");
        check(&rules, "p.slice", "/kubepods.slice/kubepods-burstable.slice/p.slice", NULL);
        check(&rules, "kubepods.slice", "/kubepods.slice", NULL);
        check(&rules, "kubepods.slice", NULL, NULL);
        check(&rules, "s.scope", "/user.slice/u.slice/s.scope", "mru");
        check(&rules, "s.service", "/user.slice/u.slice/s.service", NULL);
}

static void test_broken(void **state) {
        _cleanup_(policy_rules_done) PolicyRules rules = {};

        write_rule(etc, "a.conf", "[Policy]\nCachePolicy=lfu\n");
        write_rule(etc, "b.conf", "[Match]\nUnit=b.slice\n");
        write_rule(etc, "c.conf", "garbage\n\xff\xff\n[Match\nUnit=c.slice\n[Policy]\nCachePolicy=lfu\n");
        write_rule(etc, "d.conf",
                   "[Match]\nUnit=d.slice\nWhat=ever\n[Nonsense]\na=b\n[Policy]\nCachePolicy=lfu\n");
        write_rule(etc, "e.conf", "[Match]\nUnit=x.slice\nUnit=\nUnit=e.slice\n[Policy]\nCachePolicy=lfu\n");

        rules = policy_rules_load(dirs);
        assert_int_equal(rules.rules->len, 2);
        check(&rules, "b.slice", NULL, NULL);
        check(&rules, "c.slice", NULL, NULL);
        check(&rules, "d.slice", NULL, "lfu");
        check(&rules, "x.slice", NULL, NULL);
        check(&rules, "e.slice", NULL, "lfu");
}

/* A list that was made by a program; the daemon does nothing else while it reads it. */
static void test_many(void **state) {
        _cleanup_(policy_rules_done) PolicyRules rules = {};
        g_autoptr(GString) rule = g_string_new("[Match]\n");
        clock_t begin;

        for (unsigned i = 0; i < 20000; i++)
                g_string_append_printf(rule, "Unit=a%u.slice b%u.slice\n", i, i);
        g_string_append(rule, "[Policy]\nCachePolicy=lfu\n");
        write_rule(etc, "a.conf", rule->str);

        begin = clock();
        rules = policy_rules_load(dirs);
        assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
        assert_int_equal(rules.rules->len, 1);
        check(&rules, "a0.slice", NULL, "lfu");
        check(&rules, "b19999.slice", NULL, "lfu");
        check(&rules, "a20000.slice", NULL, NULL);
}

/* Also what lost is known, and why. */
static void test_lines(void **state) {
        _cleanup_(policy_rules_done) PolicyRules rules = {};
        _cleanup_policy_setting_ PolicySetting s = {};

        write_rule(lib, "10-a.conf", "[Match]\nUnit=*\n[Policy]\nCachePolicy=lfu\nCacheAdmission=yes\n");
        write_rule(etc, "20-b.conf", "[Match]\nUnit=b.slice\n[Policy]\nCachePolicy=lhd\n");
        write_rule(etc, "30-c.conf",
                   "[Match]\nUnit=a.slice\n[Policy]\n"
                   "CachePolicyOptions=a=1\nCachePolicyOptions=\nCachePolicyOptions=b=2\n");
        rules = policy_rules_load(dirs);
        assert_int_equal(policy_rules_lookup(&rules, "a.slice", NULL, &s), 1);

        /* The last rule is all that counts, although it names no policy. */
        assert_null(s.policy);
        assert_int_equal(policy_setting_count_lines(&s), 5);
        for (guint i = 0; i < 5; i++) {
                const PolicyLine *l = policy_setting_get_line(&s, i);

                assert_int_equal(l->layer, POLICY_LAYER_RULE);
                assert_int_equal(policy_setting_line_counts(&s, l), i == 4);
        }
        assert_string_equal(policy_setting_get_line(&s, 1)->key, "CacheAdmission");
        assert_string_equal(policy_setting_get_line(&s, 4)->value, "b=2");
        assert_int_equal(policy_setting_get_line(&s, 4)->line, 6);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
                cmocka_unit_test_setup_teardown(test_order, setup, teardown),
                cmocka_unit_test_setup_teardown(test_masks, setup, teardown),
                cmocka_unit_test_setup_teardown(test_cgroup, setup, teardown),
                cmocka_unit_test_setup_teardown(test_broken, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many, setup, teardown),
                cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
