/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-test.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/run.h"

CACHEBPF_TUNABLE(__u32, t_small, "1..5", "folios", "of no use") = 3;
CACHEBPF_TUNABLE(__s64, t_signed, "-9..9", "", "of no use either") = -1;
CACHEBPF_TUNABLE(__u8, t_byte, "any", "", "without a range") = 255;

static __u32 n_calls, queue;

__s32 CACHEBPF_SLEEPABLE_OP(t_init, struct cachebpf_policy *policy)
{
        /* a second run in the same process would find it changed */
        if (n_calls++ > 0)
                return -EBUSY;
        return list_create(policy, &queue, CACHEBPF_LIST_NEW_TAIL);
}

void CACHEBPF_OP(t_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
        struct cachebpf_folio *f;

        if (t_small == 4)
                (void) raise(SIGUSR1);
        if (t_small == 5)
                bpf_cachebpf_list_create(policy, 0);

        for_each_folio(f, evict, queue, 0, CACHEBPF_ITER_ROTATE)
                if (bpf_cachebpf_evict(evict, f))
                        break;
}

CACHEBPF_POLICY(t_policy, "A description", "a source",
                .policy_init = (void *) t_init,
                .evict_folios = (void *) t_evict);

CACHEBPF_POLICY(another_one, "", "", .flags = CACHEBPF_F_STOCK_RECLAIM);

static void test_registry(void **state) {
        static const struct cachebpf_ops ops = { .name = "t_file" };
        static SimPolicy of_file = { .name = "t_file", .file = "../bpf/t-file.bpf.c", .ops = &ops };
        const SimPolicy *p = sim_policy_find("t_policy");
        const SimTunable *t;
        int64_t min, max;

        assert_non_null(p);
        assert_null(sim_policy_find("t_polic"));
        assert_null(sim_policy_find("t_policy2"));
        assert_null(sim_policy_find(""));
        assert_string_equal(p->description, "A description");
        assert_string_equal(p->source, "a source");
        assert_null(p->reconfigure);
        assert_string_equal(sim_policies()->name, "another_one"); /* sorted */

        /* one that is in a file is called as that is, or as its variable */
        sim_policy_register(&of_file);
        assert_ptr_equal(sim_policy_find("t-file"), &of_file);
        assert_ptr_equal(sim_policy_find("t_file"), &of_file);
        assert_string_equal(of_file.name, "t-file");

        t = *p->tunables;
        assert_string_equal(t->name, "t_small"); /* in the order of the source */
        assert_string_equal(t->type, "__u32");
        assert_string_equal(t->unit, "folios");
        assert_string_equal(t->doc, "of no use");
        assert_ptr_equal(t->value, &t_small);
        assert_int_equal(t->size, sizeof(t_small));
        assert_false(t->is_signed);
        assert_int_equal(sim_tunable_set(t, 0), -ERANGE);
        assert_int_equal(sim_tunable_set(t, 6), -ERANGE);
        assert_int_equal(t_small, 3);
        assert_int_equal(sim_tunable_set(t, 5), 0);
        assert_int_equal(t_small, 5);
        assert_int_equal(sim_tunable_set(t, 3), 0);

        t = sim_tunable_find(p, "t_signed");
        assert_ptr_equal(t->value, &t_signed);
        assert_true(t->is_signed);
        assert_int_equal(t_signed, -1);
        assert_int_equal(sim_tunable_set(t, -9), 0);
        assert_int_equal(t_signed, -9);
        assert_int_equal(sim_tunable_set(t, -10), -ERANGE);

        t = sim_tunable_find(p, "t_byte");
        assert_int_equal(t_byte, 255);
        sim_tunable_range(t, &min, &max);
        assert_int_equal(min, 0);
        assert_int_equal(max, 255);
        assert_null(sim_tunable_find(p, "t_bit"));
}

static void test_batch(void **state) {
        assert_int_equal(sim_clamp_batch(32, 100000), 32);
        assert_int_equal(sim_clamp_batch(32, 512), 32);
        assert_int_equal(sim_clamp_batch(32, 511), 31);
        assert_int_equal(sim_clamp_batch(32, 1), 1);
        assert_int_equal(sim_clamp_batch(1, 100000), 1);
}

#define N_RUNS 40

/* Each begins with fresh globals, and more of them than run at a time end in their places. */
static void test_many(void **state) {
        _cleanup_(trace_freep) Trace *trace = trace_of("abcdefghabcdefgh");
        SimResult results[N_RUNS] = {};
        SimRun runs[N_RUNS];

        for (unsigned parallel = 0; parallel <= 3; parallel += 3) {
                for (unsigned i = 0; i < N_RUNS; i++)
                        runs[i] = (SimRun) {
                                .policy = i % 4 ? sim_policy_find("t_policy") : NULL,
                                .capacity = 1 + i % 9,
                                .batch = 1,
                        };

                assert_int_equal(sim_run_all(trace, runs, N_RUNS, parallel, results), 0);
                for (unsigned i = 0; i < N_RUNS; i++) {
                        assert_true(results[i].done);
                        assert_int_equal(results[i].stats.requests, 16);
                        if (i % 4)
                                assert_int_equal(results[i].stats.misses, i % 9 < 7 ? 16 : 8);
                }
        }
        assert_int_equal(n_calls, 0);
        assert_int_equal(sim_run_all(trace, NULL, 0, 0, NULL), 0);
}

/* What one run does, even if it crashes, is said, and does not touch the others. */
static void test_failures(void **state) {
        _cleanup_(trace_freep) Trace *trace = trace_of("abcdefgh");
        const SimPolicy *p = sim_policy_find("t_policy");
        SimSetting settings[] = {
                { sim_tunable_find(p, "t_small"), 3 },
                { sim_tunable_find(p, "t_small"), 4 },
                { sim_tunable_find(p, "t_small"), 5 },
        };
        SimRun runs[5] = {};
        SimResult results[5];

        for (unsigned i = 0; i < 5; i++)
                runs[i] = (SimRun) { .policy = p, .capacity = 4, .batch = 1 };
        for (unsigned i = 0; i < 3; i++) {
                runs[i].settings = settings + i;
                runs[i].n_settings = 1;
        }
        /* settings of others are passed over */
        runs[4].policy = sim_policy_find("another_one");
        runs[4].settings = settings + 1;
        runs[4].n_settings = 1;

        assert_int_equal(sim_run_all(trace, runs, 5, 2, results), 0);
        assert_true(results[0].done);
        assert_int_equal(results[0].stats.misses, 8);
        assert_false(results[1].done);
        assert_string_equal(results[1].message, "it was ended by signal 10 (User defined signal 1)");
        assert_false(results[2].done);
        assert_string_equal(results[2].message,
                            "bpf_cachebpf_list_create() must not be called in evict_folios, and "
                            "the kernel would refuse to load the policy");
        assert_true(results[3].done);
        assert_true(results[4].done);
        assert_int_equal(t_small, 3);

        /* refuses to start */
        n_calls = 1;
        assert_int_equal(sim_run_all(trace, runs, 1, 1, results), 0);
        n_calls = 0;
        assert_false(results[0].done);
        assert_string_equal(results[0].message, "it refuses to start: Device or resource busy");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_registry),
                cmocka_unit_test(test_batch),
                cmocka_unit_test(test_many),
                cmocka_unit_test(test_failures),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
