/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CacheCandidates= and CacheAutoMargin=: what they mean, and what is wrong with them. */

#include "test-util.h"

#include <stdio.h>

#include "config/candidates.h"

static const char *const no_directories[] = { "/nowhere", NULL };
static GPtrArray *policies;

static void policy_destroy(void *p) {
        policy_free(p);
}

static void add_policy(const char *name, const char *problem) {
        Policy *p = policy_new(name, "/x.bpf.o");

        p->problem = problem ? strdup(problem) : NULL;
        p->filters = p->plans = true;
        g_array_append_val(p->tunables, ((PolicyTunable) {
                .name = strdup("small_percent"),
                .size = 4,
                .default_value = 10,
                .has_range = true,
                .min = 1,
                .max = 90,
        }));
        g_ptr_array_add(policies, p);
}

static int setup(void **state) {
        policies = g_ptr_array_new_with_free_func(policy_destroy);
        for (size_t i = 0; policy_candidates_default[i]; i++)
                add_policy(policy_candidates_default[i], NULL);
        add_policy("noop", NULL);
        add_policy("mine", NULL);
        add_policy("mlcache", NULL);
        add_policy("broken", "it is not a BPF object file");
        return 0;
}

static int teardown(void **state) {
        g_ptr_array_unref(policies);
        return 0;
}

static void assign(PolicySetting *s, const char *key, const char *value, unsigned line) {
        s->layer = POLICY_LAYER_UNIT;
        assert_int_equal(policy_setting_assign(s, key, value, "/etc/x.slice", line), 0);
}

static PolicySetting setting(const char *key, const char *value) {
        PolicySetting s = {};

        assign(&s, "CachePolicy", "auto", 3);
        if (key)
                assign(&s, key, value, 4);
        return s;
}

/* The names of candidates, with a star behind the first to run, and the margin. */
static void check_candidates(const char *key, const char *value, const char *expected, double margin) {
        _cleanup_policy_setting_ PolicySetting s = setting(key, value);
        _cleanup_policy_candidates_ PolicyCandidates c = {};
        g_autoptr(GString) names = g_string_new(NULL);
        _cleanup_free_ char *problem = NULL;

        assert_true(policy_setting_is_auto(&s));
        assert_int_equal(policy_candidates_make(&s, policies, no_directories, &c, &problem), 0);
        for (guint i = 0; i < c.list->len; i++)
                g_string_append_printf(names, "%s%s%s", i > 0 ? ", " : "",
                                       ((PolicyCandidate *) c.list->pdata[i])->name,
                                       i == c.first ? "*" : "");
        assert_string_equal(names->str, expected);
        assert_true(c.margin == margin);
}

static void check_problem(const char *key, const char *value, const char *expected) {
        _cleanup_policy_setting_ PolicySetting s = setting(key, value);
        _cleanup_policy_candidates_ PolicyCandidates c = {};
        _cleanup_free_ char *problem = NULL, *same = NULL;

        assert_int_equal(policy_candidates_make(&s, policies, no_directories, &c, &problem), -EINVAL);
        assert_string_equal(problem, expected);
        assert_int_equal(policy_setting_check_all(&s, policies, no_directories, &same), -EINVAL);
        assert_string_equal(same, expected);
}

#define DEFAULT "stock, wtinylfu*, s3fifo, lru, lhd, mru"

static void test_names(void **state) {
        check_candidates(NULL, NULL, DEFAULT, 0.5);
        check_candidates("CacheCandidates", "", DEFAULT, 0.5);
        check_candidates("CacheCandidates", "lru s3fifo", "stock, lru*, s3fifo", 0.5);
        check_candidates("CacheCandidates", "lru stock", "stock, lru*", 0.5);
        check_candidates("CacheCandidates", "stock lru", "stock*, lru", 0.5);
        check_candidates("CacheCandidates", "stock", "stock*", 0.5);
        check_candidates("CacheCandidates", "s3fifo s3fifo:small_percent=20",
                         "stock, s3fifo*, s3fifo small_percent=20", 0.5);
}

static void test_margin(void **state) {
        check_candidates("CacheAutoMargin", "0", DEFAULT, 0);
        check_candidates("CacheAutoMargin", "2.5", DEFAULT, 2.5);
        check_candidates("CacheAutoMargin", "", DEFAULT, 0.5);
}

/* Of the default ones, what there is. */
static void test_some_are_missing(void **state) {
        policy_free(g_ptr_array_steal_index(policies, 0));
        ((Policy *) policies_find(policies, "lru"))->problem = strdup("it is broken");
        check_candidates(NULL, NULL, "stock, s3fifo*, lhd, mru", 0.5);
}

/* The setting of the unit, with another policy and its options. */
static void test_settings(void **state) {
        _cleanup_policy_setting_ PolicySetting s = setting("CacheCandidates", "s3fifo:small_percent=20");
        _cleanup_policy_candidates_ PolicyCandidates c = {};
        _cleanup_free_ char *problem = NULL;
        const PolicyCandidate *stock, *other;

        assign(&s, "CacheAdmission", "yes", 5);
        assign(&s, "CacheReadahead", "adaptive", 6);
        assert_int_equal(policy_candidates_make(&s, policies, no_directories, &c, &problem), 0);
        stock = c.list->pdata[0];
        other = c.list->pdata[1];
        assert_string_equal(stock->policy, "stock");
        assert_string_equal(stock->setting.policy, "noop");
        assert_true(policy_setting_wants_filter(&stock->setting));
        assert_true(policy_setting_wants_readahead(&stock->setting));
        assert_string_equal(other->setting.policy, "s3fifo");
        assert_int_equal(other->setting.line, 4);
        assert_string_equal(policy_words_get(other->setting.more + POLICY_KEY_OPTIONS, 0)->text,
                            "small_percent=20");
        assert_true(policy_setting_wants_filter(&other->setting));
        assert_true(policy_setting_wants_readahead(&other->setting));
        assert_string_equal(other->options[0], "small_percent=20");
        assert_null(other->options[1]);
        assert_true(policy_candidates_equal(&c, &c));
}

static void test_problems(void **state) {
        check_problem("CacheCandidates", "nonesuch",
                      "unknown policy 'nonesuch' (/etc/x.slice:4): no nonesuch.bpf.o in /nowhere; 'cachectl "
                      "policies' lists what there is");
        check_problem("CacheCandidates", "broken", "policy 'broken' (/etc/x.slice:4) cannot be used: it is "
                                                   "not a BPF object file");
        check_problem("CacheCandidates", "mine", "policy 'mine' (/etc/x.slice:4) cannot be a candidate: the "
                                                 "simulator does not have it");
        check_problem("CacheCandidates", "auto", "'auto' (/etc/x.slice:4) cannot be a candidate of itself");
        check_problem("CacheCandidates", "stock:a=1",
                      "'stock:a=1' (/etc/x.slice:4): the stock policy has no options");
        check_problem("CacheCandidates", "lru lru", "candidate 'lru' (/etc/x.slice:4) is there twice");
        check_problem("CacheCandidates", "lru:small_percent=0",
                      "'small_percent=0' (/etc/x.slice:4): tunable 'small_percent' of policy 'lru' takes a "
                      "number from 1 to 90");
        check_problem("CacheCandidates", "s3fifo:small_percent=20,",
                      "'s3fifo:small_percent=20,' (/etc/x.slice:4): after each colon and comma an option is "
                      "wanted, as NAME=VALUE");
        check_problem("CacheCandidates", "lru:",
                      "'lru:' (/etc/x.slice:4): after each colon and comma an option is wanted, as "
                      "NAME=VALUE");
        check_problem("CacheCandidates", "mlcache",
                      "policy 'mlcache' (/etc/x.slice:4) cannot be a candidate: a sample of pages does not "
                      "tell what it decides by");
        check_problem("CacheCandidates", "a/b", "'a/b' (/etc/x.slice:4) is not a policy name (at most 15 "
                                                "letters, digits, '-' and '_')");
        check_problem("CachePolicyOptions", "a=1", "policy 'auto' takes no CachePolicyOptions= "
                      "(/etc/x.slice:4); CacheCandidates=POLICY:NAME=VALUE gives options to a candidate");
        check_problem("CacheScanThreads", "x*", "policy 'auto' takes no CacheScanThreads= (/etc/x.slice:4)");
        check_problem("CacheFiles", "1 /a", "policy 'auto' takes no CacheFiles= (/etc/x.slice:4)");
}

static void test_wrong_margins(void **state) {
        static const char *const values[] = { "-1", "x", "1x", "101", "nan", "inf" };

        for (size_t i = 0; i < ELEMENTSOF(values); i++) {
                char expected[128];

                (void) snprintf(expected, sizeof(expected),
                                "'%s' (/etc/x.slice:4): CacheAutoMargin= takes a number of percent from 0 "
                                "to 100", values[i]);
                check_problem("CacheAutoMargin", values[i], expected);
        }
        check_problem("CacheAutoMargin", "1 2", "'2' (/etc/x.slice:4): CacheAutoMargin= takes a number of "
                                                "percent from 0 to 100");
}

/* Sixteen, with the stock policy. */
static void test_too_many(void **state) {
        g_autoptr(GString) s = g_string_new(NULL);

        for (unsigned i = 1; i <= 15; i++)
                g_string_append_printf(s, " lru:small_percent=%u", i);
        {
                _cleanup_policy_setting_ PolicySetting x = setting("CacheCandidates", s->str);
                _cleanup_free_ char *problem = NULL;

                assert_int_equal(policy_setting_check_all(&x, policies, no_directories, &problem), 0);
        }
        g_string_append(s, " mru");
        check_problem("CacheCandidates", s->str,
                      "'mru' (/etc/x.slice:4) is more than the 16 candidates that there can be, 'stock' "
                      "among them");
}

/* Without it they may stay: another layer asks for another policy. */
static void test_other_policy(void **state) {
        _cleanup_policy_setting_ PolicySetting s = {};
        _cleanup_free_ char *problem = NULL;

        assign(&s, "CachePolicy", "lru", 1);
        assign(&s, "CacheCandidates", "mru", 2);
        assert_false(policy_setting_is_auto(&s));
        assert_int_equal(policy_setting_check_all(&s, policies, no_directories, &problem), 0);
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_names, setup, teardown),
                cmocka_unit_test_setup_teardown(test_margin, setup, teardown),
                cmocka_unit_test_setup_teardown(test_some_are_missing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_settings, setup, teardown),
                cmocka_unit_test_setup_teardown(test_problems, setup, teardown),
                cmocka_unit_test_setup_teardown(test_wrong_margins, setup, teardown),
                cmocka_unit_test_setup_teardown(test_too_many, setup, teardown),
                cmocka_unit_test_setup_teardown(test_other_policy, setup, teardown),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
