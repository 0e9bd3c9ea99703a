/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is shown of CacheReplay=. */

#include "harness.h"

static void test_status(void **state) {
        _cleanup_(outcome_done) Outcome o = {}, json = {};

        play("replay");
        run(&o, "status", "--no-pager");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_string_equal(o.err, "");
        assert_contains(o.out, "○ new.service: unconfigured\n"
                               "   Configured: -\n"
                               "       Replay: recording, 0 s left\n");
        assert_contains(o.out, "       Replay: nothing is recorded yet\n");
        assert_contains(o.out, "       Replay: 19.1 MiB in 312 ranges read ahead ");
        assert_contains(o.out, " ago; recording, 0 s left\n");
        assert_contains(o.out, "       Replay: recorded ");
        assert_contains(o.out, " ago, 1.0 MiB in 2 ranges; nothing was read ahead: it has too little room "
                               "for more tasks (TasksMax=)\n");

        run(&json, "status", "--json=short", "new.service");
        assert_contains(json.out, "\"replay\":{\"recordingUntilUSec\":1795262401000000,");
}

static void test_metrics(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        play("replay");
        run(&o, "stats", "--format=openmetrics");
        assert_int_equal(o.status, EXIT_SUCCESS);
        assert_contains(o.out, "# TYPE cachebpf_replay_read_bytes counter\n"
                               "# UNIT cachebpf_replay_read_bytes bytes\n"
                               "# HELP cachebpf_replay_read_bytes Bytes that CacheReplay= read ahead when "
                               "the unit started.\n"
                               "cachebpf_replay_read_bytes_total{unit=\"new.service\"} 0\n");
        assert_contains(o.out, "cachebpf_replay_read_bytes_total{unit=\"read.service\"} 60000000\n");
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_status),
                cmocka_unit_test(test_metrics),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-replay", tests, harness_setup, harness_teardown);
}
