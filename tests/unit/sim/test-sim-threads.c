/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Classes of threads, by their names: bpf/lib/threads.bpf.h. */

#include "sim-test.h"

#include "cachebpf.bpf.h"

/* the definition that threads.bpf.h declares */
const volatile char cachebpf_scan_threads[8][16] = {
        "report",
        "rocksdb:low*",
        "*-scan",
        "w?rk-*-*x",
        "exactly fifteen",
        "a**b",
};

#include "lib/threads.bpf.h"

static bool matches(unsigned nr, const char *name) {
        struct cachebpf_named named = {};

        strncpy((char *) named.comm, name, sizeof(named.comm) - 1);
        return glob_matches(nr, &named);
}

static void test_globs(void **state) {
        static const struct {
                unsigned nr;
                const char *name;
                bool matches;
        } cases[] = {
                { 0, "report",          true  },
                { 0, "repor",           false },
                { 0, "reports",         false },
                { 0, "",                false },
                { 1, "rocksdb:low",     true  },
                { 1, "rocksdb:low0",    true  },
                { 1, "rocksdb:low1234", true  },
                { 1, "rocksdb:high0",   false },
                { 1, "rocksdb:lo",      false },
                { 2, "-scan",           true  },
                { 2, "pg-scan",         true  },
                { 2, "-scan-scan",      true  },
                { 2, "pg-scanner",      false },
                { 2, "scan",            false },
                { 3, "work-1-x",        true  },
                { 3, "wurk---x",        true  },
                { 3, "work--x",         true  },
                { 3, "work-x",          false },
                { 3, "wrk-1-x",         false },
                { 3, "work-1-xy",       false },
                { 4, "exactly fifteen", true  },
                { 4, "exactly fiftee",  false },
                { 5, "ab",              true  },
                { 5, "a123456789abcdb", true  },
                { 5, "a123456789abcdc", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                if (matches(cases[i].nr, cases[i].name) != cases[i].matches)
                        fail_msg("'%s' %s '%s'", cases[i].name,
                                 cases[i].matches ? "does not match" : "matches",
                                 (const char *) cachebpf_scan_threads[cases[i].nr]);
}

static void test_rename(void **state) {
        _test_host_ host_ = test_host_begin(1);
        struct task_struct task = { .comm = "server" };

        assert_int_equal(class_by_name(&task), CACHEBPF_THREAD_NORMAL);
        assert_int_equal(class_by_name(&task), CACHEBPF_THREAD_NORMAL);
        strcpy(task.comm, "server-scan");
        assert_int_equal(class_by_name(&task), CACHEBPF_THREAD_SCAN);
        strcpy(task.comm, "server-scan2");
        assert_int_equal(class_by_name(&task), CACHEBPF_THREAD_NORMAL);
}

/* What user space says goes before the name, which is "scan" here. */
static void test_given(void **state) {
        _test_host_ host_ = test_host_begin(1);

        host.task_class = CACHEBPF_THREAD_BACKGROUND;
        assert_int_equal(thread_class(), CACHEBPF_THREAD_BACKGROUND);
        host.task_class = CACHEBPF_THREAD_SCAN;
        assert_int_equal(thread_class(), CACHEBPF_THREAD_SCAN);
        host.task_class = CACHEBPF_THREAD_NORMAL;
        assert_int_equal(thread_class(), CACHEBPF_THREAD_NORMAL);
}

static void test_comm(void **state) {
        _test_host_ host_ = test_host_begin(1);
        char name[3];

        assert_int_equal(bpf_get_current_comm(name, sizeof(name)), 0);
        assert_string_equal(name, "no"); /* "normal", as far as there is room */
        assert_int_equal(bpf_get_current_comm(name, 0), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_globs),
                cmocka_unit_test(test_rename),
                cmocka_unit_test(test_given),
                cmocka_unit_test(test_comm),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
