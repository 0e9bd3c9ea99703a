/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Settings, and what becomes of them when they meet a policy. */

#include "test-util.h"

#include <stdio.h>

#include "config/policy-config.h"
#include "shared/readahead-setting.h"

static Policy *policy;

static void add_tunable(const char *name, const char *unit, size_t size, bool is_signed, int64_t value,
                        bool has_range, int64_t min, int64_t max) {
        PolicyTunable t = {
                .name = strdup(name),
                .unit = unit ? strdup(unit) : NULL,
                .size = size,
                .is_signed = is_signed,
                .default_value = value,
                .has_range = has_range,
                .min = min,
                .max = max,
        };

        g_array_append_val(policy->tunables, t);
}

static int setup(void **state) {
        policy = calloc(1, sizeof(Policy));
        policy->name = strdup("lfu");
        policy->path = strdup("/usr/lib/lfu.bpf.o");
        policy->tunables = g_array_new(FALSE, TRUE, sizeof(PolicyTunable));
        policy->filters = policy->plans = policy->knows_threads = true;
        policy->n_globs = 2;
        policy->glob_size = 16;
        add_tunable("nr_scan", "folios", 4, false, 512, true, 32, 65536);
        add_tunable("bias", NULL, 1, true, -3, false, 0, 0);
        add_tunable("seed", NULL, 8, false, 0, false, 0, 0);
        return 0;
}

static int teardown(void **state) {
        for (guint i = 0; i < policy->tunables->len; i++) {
                free(g_array_index(policy->tunables, PolicyTunable, i).name);
                free(g_array_index(policy->tunables, PolicyTunable, i).unit);
        }
        policy_free(policy);
        return 0;
}

static void assign(PolicySetting *s, const char *key, const char *value, unsigned line) {
        assert_true(policy_setting_is_key(key));
        assert_int_equal(policy_setting_assign(s, key, value, "/etc/x.slice", line), 0);
}

/* What one value of one key makes of the default configuration; the problem, or NULL. */
static char *make(const char *key, const char *value, PolicyConfig *ret) {
        _cleanup_policy_setting_ PolicySetting s = {};
        char *problem = NULL;
        int r;

        assign(&s, key, value, 3);
        r = policy_config_make(policy, &s, ret, &problem);
        assert_int_equal(r, problem ? -EINVAL : 0);
        return problem;
}

static void check_problem(const char *key, const char *value, const char *expected) {
        _cleanup_policy_config_ PolicyConfig c = {};
        _cleanup_free_ char *problem = make(key, value, &c);

        assert_non_null(problem);
        assert_string_equal(problem, expected);
}

static int64_t value_of(const PolicyConfig *c, const char *name, int64_t otherwise) {
        for (guint i = 0; c->values && i < c->values->len; i++) {
                const PolicyValue *v = &g_array_index(c->values, PolicyValue, i);

                if (streq(v->tunable->name, name))
                        return v->value;
        }

        return otherwise;
}

static void test_default(void **state) {
        _cleanup_policy_setting_ PolicySetting s = {};
        _cleanup_policy_config_ PolicyConfig c = {};
        _cleanup_free_ char *problem = NULL;

        assert_int_equal(policy_config_make(policy, &s, &c, &problem), 0);
        assert_string_equal(c.fingerprint, "");
        assert_false(c.filter);
        assert_null(c.scan_threads);
        assert_false(policy_setting_wants_filter(&s));
}

static void test_options(void **state) {
        _cleanup_policy_config_ PolicyConfig a = {}, b = {}, same = {};
        _cleanup_policy_setting_ PolicySetting s = {};
        _cleanup_free_ char *problem = NULL;

        /* The last one of a name counts, from whatever line; an empty one empties. */
        assign(&s, "CachePolicyOptions", "nr_scan=1 what=ever", 1);
        assign(&s, "CachePolicyOptions", "", 2);
        assign(&s, "X-CachePolicyOptions", "nr_scan=64\tbias=-128", 3);
        assign(&s, "CachePolicyOptions", "nr_scan=65536", 4);
        assert_int_equal(policy_config_make(policy, &s, &a, &problem), 0);
        assert_int_equal(value_of(&a, "nr_scan", 0), 65536);
        assert_int_equal(value_of(&a, "bias", 0), -128);
        assert_int_equal(a.values->len, 2);
        assert_int_equal(strlen(a.fingerprint), POLICY_FINGERPRINT_LENGTH);

        /* The order makes no difference, values do, and the default is as good as nothing. */
        policy_setting_done(&s);
        assign(&s, "CachePolicyOptions", "bias=-128 seed=0 nr_scan=65536", 9);
        assert_int_equal(policy_config_make(policy, &s, &b, &problem), 0);
        assert_string_equal(a.fingerprint, b.fingerprint);
        assert_null(make("CachePolicyOptions", "nr_scan=512 bias=-3", &same));
        assert_string_equal(same.fingerprint, "");
        policy_config_done(&same);
        assert_null(make("CachePolicyOptions", "nr_scan=513", &same));
        assert_string_not_equal(same.fingerprint, a.fingerprint);
        assert_string_not_equal(same.fingerprint, "");
}

static void test_wrong_options(void **state) {
        static const char *const out_of_range[] = { "nr_scan=31", "nr_scan=65537", "nr_scan=", "nr_scan=64k",
                                                    "nr_scan=-64", "nr_scan=18446744073709551616" };
        static const char *const out_of_type[] = { "bias=128", "bias=-129", "bias=x" };

        for (size_t i = 0; i < ELEMENTSOF(out_of_range); i++) {
                _cleanup_free_ char *expected = NULL;

                assert_true(asprintf(&expected,
                                     "'%s' (/etc/x.slice:3): tunable "
                                     "'nr_scan' of policy 'lfu' takes "
                                     "a number from 32 to 65536 (folios)", out_of_range[i]) > 0);
                check_problem("CachePolicyOptions", out_of_range[i], expected);
        }
        for (size_t i = 0; i < ELEMENTSOF(out_of_type); i++) {
                _cleanup_free_ char *expected = NULL;

                assert_true(asprintf(&expected,
                                     "'%s' (/etc/x.slice:3): tunable 'bias' of policy 'lfu' takes a number "
                                     "from -128 to 127", out_of_type[i]) > 0);
                check_problem("CachePolicyOptions", out_of_type[i], expected);
        }

        check_problem("CachePolicyOptions", "nr_scna=64",
                      "policy 'lfu' has no tunable 'nr_scna' (/etc/x.slice:3); it has nr_scan, bias, seed");
        check_problem("CachePolicyOptions", "nr_scan",
                      "'nr_scan' (/etc/x.slice:3) is no option, which is NAME=VALUE");
        check_problem("CachePolicyOptions", "=4", "'=4' (/etc/x.slice:3) is no option, which is NAME=VALUE");
        check_problem("CachePolicyOptions", "seed=-1",
                      "'seed=-1' (/etc/x.slice:3): tunable 'seed' of policy 'lfu' takes a number from 0 to "
                      "9223372036854775807");
}

static void test_threads(void **state) {
        _cleanup_policy_config_ PolicyConfig c = {}, longest = {};

        assert_null(make("CacheScanThreads", "rocksdb:low* a?b", &c));
        assert_string_equal(c.scan_threads[0], "rocksdb:low*");
        assert_string_equal(c.scan_threads[1], "a?b");
        assert_null(c.scan_threads[2]);
        assert_int_equal(strlen(c.fingerprint), POLICY_FINGERPRINT_LENGTH);

        assert_null(make("CacheScanThreads", "123456789012345", &longest));
        check_problem("CacheScanThreads", "1234567890123456",
                      "the pattern '1234567890123456' (/etc/x.slice:3) is longer "
                      "than the 15 characters that a thread's name can have");
        check_problem("CacheScanThreads", "a b c",
                      "'c' (/etc/x.slice:3) is more than the 2 patterns that policy 'lfu' has room for");
        policy->n_globs = 0;
        check_problem("CacheScanThreads", "a",
                      "policy 'lfu' does not tell threads by their names, as 'a' (/etc/x.slice:3) asks for");
        policy->n_globs = 2;
}

static void test_admission(void **state) {
        static const char *const off[] = { "", "no", "off", "FALSE", "0" };
        _cleanup_policy_config_ PolicyConfig yes = {}, classes = {};

        for (size_t i = 0; i < ELEMENTSOF(off); i++) {
                _cleanup_policy_config_ PolicyConfig c = {};

                assert_null(make("CacheAdmission", off[i], &c));
                assert_false(c.filter);
                assert_string_equal(c.fingerprint, "");
        }

        assert_null(make("CacheAdmission", "yes", &yes));
        assert_true(yes.filter);
        assert_int_equal(yes.reject_classes, 0);
        assert_null(make("CacheAdmission", "background", &classes));
        assert_true(classes.filter);
        assert_int_equal(classes.reject_classes, 4);
        assert_string_not_equal(yes.fingerprint, classes.fingerprint);

        check_problem("CacheAdmission", "maybe",
                      "'maybe' (/etc/x.slice:3) is neither yes nor no nor "
                      "a class of threads, such as 'scan' or 'background'");
        check_problem("CacheAdmission", "scan yes",
                      "'yes' (/etc/x.slice:3) is neither yes nor no nor "
                      "a class of threads, such as 'scan' or 'background'");
        policy->filters = false;
        check_problem("CacheAdmission", "yes",
                      "policy 'lfu' has no admission filter, which 'yes' (/etc/x.slice:3) asks for");
        policy->filters = true;
}

static void test_readahead_values(void **state) {
        static const struct {
                const char *text;
                uint32_t expected;
        } values[] = {
                { "stock", READAHEAD_SETTING_STOCK }, { "adaptive", READAHEAD_SETTING_ADAPTIVE },
                { "off",   0                       }, { "4096",     1                          },
                { "4096B", 1                       }, { "4K",       1                          },
                { "12K",   3                       }, { "128K",     32                         },
                { "1M",    256                     }, { "2048K",    512                        },
                { "2M",    512                     },
        };
        static const char *const wrong[] = {
                "", "on", "Stock", "0", "0K", "K", "1", "4095", "6K", "4k", "-4K", "+4K", " 4K", "4 K",
                "4KB", "1.5M", "10%", "2052K", "3M", "1G", "2097152T", "18446744073709551616",
                "18014398509481988K",
        };
        uint32_t value = 7;

        for (size_t i = 0; i < ELEMENTSOF(values); i++) {
                assert_int_equal(readahead_setting_from_string(values[i].text, 4096, &value), 0);
                assert_int_equal(value, values[i].expected);
        }

        value = 7;
        for (size_t i = 0; i < ELEMENTSOF(wrong); i++)
                assert_int_equal(readahead_setting_from_string(wrong[i], 4096, &value), -EINVAL);
        assert_int_equal(value, 7);

        /* machines with larger pages */
        assert_int_equal(readahead_setting_from_string("128K", 65536, &value), 0);
        assert_int_equal(value, 2);
        assert_int_equal(readahead_setting_from_string("4K", 65536, &value), -EINVAL);
}

static void test_readahead(void **state) {
        static const char *const stock[] = { "", "stock" };
        _cleanup_policy_config_ PolicyConfig off = {}, adaptive = {}, most = {};

        for (size_t i = 0; i < ELEMENTSOF(stock); i++) {
                _cleanup_policy_config_ PolicyConfig c = {};

                assert_null(make("CacheReadahead", stock[i], &c));
                assert_false(c.plans);
                assert_string_equal(c.fingerprint, "");
        }

        assert_null(make("CacheReadahead", "off", &off));
        assert_true(off.plans);
        assert_int_equal(off.readahead, 0);
        assert_null(make("CacheReadahead", "adaptive", &adaptive));
        assert_true(adaptive.plans);
        assert_int_equal(adaptive.readahead, READAHEAD_SETTING_ADAPTIVE);
        assert_null(make("CacheReadahead", "2M", &most));
        assert_true(most.plans);
        assert_int_equal(most.readahead, (2 << 20) / sysconf(_SC_PAGESIZE));
        assert_string_not_equal(off.fingerprint, adaptive.fingerprint);
        assert_string_not_equal(off.fingerprint, most.fingerprint);
        assert_string_not_equal(off.fingerprint, "");

        check_problem("CacheReadahead", "much",
                      "'much' (/etc/x.slice:3) is neither stock, adaptive nor off nor "
                      "a multiple of the page size from 4K to 2M");
        check_problem("CacheReadahead", "stock off",
                      "'off' (/etc/x.slice:3) is neither stock, adaptive nor off nor "
                      "a multiple of the page size from 4K to 2M");
        policy->plans = false;
        check_problem("CacheReadahead", "128K",
                      "policy 'lfu' does not take settings for readahead, such as '128K' (/etc/x.slice:3)");
        policy->plans = true;
}

/* The last value counts, and any policy can have it. */
static void test_readahead_layers(void **state) {
        _cleanup_policy_setting_ PolicySetting s = {}, stronger = {};

        assert_false(policy_setting_wants_readahead(&s));
        assign(&s, "CacheReadahead", "off", 1);
        assign(&s, "X-CacheReadahead", "adaptive", 2);
        assert_int_equal(policy_words_count(s.more + POLICY_KEY_READAHEAD), 1);
        assert_true(policy_setting_wants_readahead(&s));
        assign(&stronger, "CachePolicy", "mru", 3);
        policy_setting_overlay(&s, &stronger);
        assert_true(policy_setting_wants_readahead(&s));
        assign(&stronger, "CacheReadahead", "stock", 4);
        policy_setting_overlay(&s, &stronger);
        assert_false(policy_setting_wants_readahead(&s));
        assign(&stronger, "CacheReadahead", "stock stock", 5);
        assert_true(policy_setting_wants_readahead(&stronger));
}

/* What is stronger: a policy replaces everything, other keys only themselves. */
static void test_overlay(void **state) {
        _cleanup_policy_setting_ PolicySetting rule = {}, unit = {}, copy = {};

        assign(&rule, "CachePolicy", "lfu", 1);
        assign(&rule, "CachePolicyOptions", "nr_scan=64", 2);
        assign(&rule, "CacheAdmission", "yes", 3);
        policy_setting_overlay(&copy, &rule);
        assert_true(policy_setting_equal(&copy, &rule));

        assign(&unit, "CacheAdmission", "no", 7);
        assert_true(policy_setting_is_set(&unit));
        policy_setting_overlay(&copy, &unit);
        assert_string_equal(copy.policy, "lfu");
        assert_string_equal(policy_words_get(copy.more + POLICY_KEY_OPTIONS, 0)->text, "nr_scan=64");
        assert_false(policy_setting_wants_filter(&copy));
        assert_false(policy_setting_equal(&copy, &rule));

        assign(&unit, "CachePolicy", "mru", 8);
        policy_setting_overlay(&copy, &unit);
        assert_string_equal(copy.policy, "mru");
        assert_int_equal(policy_words_count(copy.more + POLICY_KEY_OPTIONS), 0);

        /* What is for files is for policies of another kind. */
        assign(&unit, "CacheFiles", "1 /a", 9);
        assign(&unit, "CacheLevel", "1 mru", 10);
        policy_setting_overlay(&copy, &unit);
        policy_setting_overlay(&copy, &unit);
        assert_int_equal(policy_words_count(copy.more + POLICY_KEY_FILES), 2);
        policy_setting_overlay(&copy, &rule);
        assert_int_equal(policy_words_count(copy.more + POLICY_KEY_FILES), 0);
        assert_int_equal(policy_words_count(copy.more + POLICY_KEY_LEVELS), 0);

        assert_false(policy_setting_is_key("CacheDirectory"));
        assert_true(policy_setting_is_key("X-CacheScanThreads"));
        assert_false(policy_setting_is_mentioned("CacheDirectory=x", STRLEN("CacheDirectory=x")));
        assert_true(policy_setting_is_mentioned("X-CacheAdmission=x", STRLEN("X-CacheAdmission=x")));
}

/* A unit that was a manager gets a policy of its own, which has no levels. */
static void test_levels(void **state) {
        _cleanup_policy_setting_ PolicySetting s = {}, hold = {};
        _cleanup_policy_config_ PolicyConfig c = {};
        _cleanup_free_ char *problem = NULL;

        check_problem("CacheFiles", "1 /a",
                      "policy 'lfu' has no levels for files, which CacheFiles= (/etc/x.slice:3) is about");

        s.layer = POLICY_LAYER_UNIT;
        assign(&s, "CacheFiles", "1 /a", 1);
        hold.layer = POLICY_LAYER_HOLD;
        assign(&hold, "CachePolicy", "lfu", 2);
        policy_setting_overlay(&s, &hold);
        assert_int_equal(policy_config_make(policy, &s, &c, &problem), 0);
        assert_int_equal(policy_words_count(s.more + POLICY_KEY_FILES), 2);
}

static bool mentioned(const char *text) {
        return policy_setting_is_mentioned(text, strlen(text));
}

/* What begins as ours do is meant to be one, but for what systemd knows itself. */
static void test_misspelt(void **state) {
        assert_true(policy_setting_is_misspelt("CachePolcy"));
        assert_true(policy_setting_is_misspelt("X-CachePolicies"));
        assert_false(policy_setting_is_misspelt("CachePolicy"));
        assert_false(policy_setting_is_misspelt("X-CacheAdmission"));
        assert_false(policy_setting_is_misspelt("CacheDirectory"));
        assert_false(policy_setting_is_misspelt("CacheDirectoryMode"));
        assert_false(policy_setting_is_misspelt("MemoryMax"));

        assert_true(mentioned("CachePolcy=lfu"));
        assert_true(mentioned("[Service]\n \tX-CachePolcy=lfu\n"));
        assert_false(mentioned("[Unit]\nDescription=Cache\n[Service]\n# CachePolcy=x\nCacheDirectory=x\n"));
        assert_false(mentioned(""));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_default),       cmocka_unit_test(test_options),
                cmocka_unit_test(test_wrong_options), cmocka_unit_test(test_threads),
                cmocka_unit_test(test_admission),     cmocka_unit_test(test_overlay),
                cmocka_unit_test(test_readahead_values), cmocka_unit_test(test_readahead),
                cmocka_unit_test(test_readahead_layers),
                cmocka_unit_test(test_levels),
                cmocka_unit_test(test_misspelt),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
