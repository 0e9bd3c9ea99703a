/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-test.h"

/* A key whose bucket is that part of the array. */
static uint64_t key_at(double part) {
        return (uint64_t) (part * 4294967296.0) << 32;
}

static void test_create(void **state) {
        _test_host_ h = test_host_begin(100);
        struct cachebpf_policy *p = &host.instance;

        host.callback = CALLBACK_ADDED;
        assert_null(bpf_cachebpf_bucket(p, 0, 64));
        assert_host_fails((void) bpf_cachebpf_buckets_create(p, 4), "bpf_cachebpf_buckets_create()");

        host.callback = CALLBACK_INIT;
        assert_int_equal(bpf_cachebpf_buckets_create(p, 0), -EINVAL);
        assert_int_equal(bpf_cachebpf_buckets_create(p, 65), -EINVAL);
        assert_int_equal(bpf_cachebpf_buckets_create(p, 4), 0);
        assert_int_equal(bpf_cachebpf_buckets_create(p, 4), -EEXIST);
        assert_int_equal(host.buckets.n, 100 * 4 / 64);
        assert_host_fails((void) bpf_cachebpf_bucket(p, 0, 64), "must not be called in policy_init");

        host.callback = CALLBACK_EVICT;
        assert_null(bpf_cachebpf_bucket(p, 0, 65));
        for (unsigned i = 0; i < 64; i++)
                assert_int_equal(bpf_cachebpf_bucket(p, UINT64_MAX, 64)[i], 0);
}

/* The upper half of the key decides, evenly; the lower one does not matter. */
static void test_index(void **state) {
        _test_host_ h = test_host_begin(1600);
        struct cachebpf_policy *p = &host.instance;

        assert_int_equal(bpf_cachebpf_buckets_create(p, 4), 0);
        assert_int_equal(host.buckets.n, 100);
        host.callback = CALLBACK_ACCESSED;
        for (unsigned i = 0; i < 100; i++) {
                uint64_t key = key_at((i + 0.5) / 100);

                assert_ptr_equal(bpf_cachebpf_bucket(p, key, 64), host.buckets.array[i]);
                assert_ptr_equal(bpf_cachebpf_bucket(p, key | UINT32_MAX, 64), host.buckets.array[i]);
        }
        assert_ptr_equal(bpf_cachebpf_bucket(p, UINT64_MAX, 1), host.buckets.array[99]);
}

static void test_growth(void **state) {
        _test_host_ h = test_host_begin(10000);
        struct cachebpf_policy *p = &host.instance;

        /* 10000 pages are worth 625 buckets: 78, 156, 312, 624 */
        host.n_cached = 0;
        assert_int_equal(bpf_cachebpf_buckets_create(p, 4), 0);
        assert_int_equal(host.buckets.n, 78);
        /* what is not used does not grow, and then does at once */
        host.n_cached = 79 * 16;
        buckets_check();
        assert_int_equal(host.buckets.n, 78);
        host.n_cached = 0;

        host.callback = CALLBACK_ADDED;
        for (unsigned i = 0; i < 78; i++)
                bpf_cachebpf_bucket(p, key_at((i + 0.5) / 78), 64)[63] = i + 1;

        host.n_cached = 78 * 16;
        buckets_check();
        assert_int_equal(host.buckets.n, 78);
        host.n_cached = 79 * 16 - 1;
        buckets_check();
        assert_int_equal(host.buckets.n, 78);
        host.n_cached = 79 * 16;
        buckets_check();
        assert_int_equal(host.buckets.n, 156);
        for (unsigned i = 0; i < 156; i++)
                assert_int_equal(host.buckets.array[i][63], i / 2 + 1);

        host.n_cached = 10000;
        buckets_check();
        assert_int_equal(host.buckets.n, 624);
        for (unsigned i = 0; i < 78; i++)
                for (unsigned j = 0; j < 8; j++)
                        assert_int_equal(bpf_cachebpf_bucket(p, key_at((i + (j + 0.5) / 8) / 78), 64)[63],
                                         i + 1);

        host.n_cached = 0;
        buckets_check();
        assert_int_equal(host.buckets.n, 624);
}

/* Whatever the number of bytes is, and however the cache fills: as the kernel computes it. */
static void test_growth_page_by_page(void **state) {
        for (uint32_t bytes = 1; bytes <= 64; bytes++) {
                _test_host_ h = test_host_begin(5000);
                uint32_t most = MAX(5000 * bytes / 64, 1U), n;

                assert_int_equal(bpf_cachebpf_buckets_create(&host.instance, bytes), 0);
                n = host.buckets.n;
                host.callback = CALLBACK_ADDED;
                host.n_cached = 0;
                bpf_cachebpf_bucket(&host.instance, 0, 64);
                for (host.n_cached = 1; host.n_cached <= 5000; host.n_cached++) {
                        while (n <= most / 2 && n < MAX(host.n_cached * bytes / 64, 1U))
                                n *= 2;
                        buckets_check();
                        assert_int_equal(host.buckets.n, n);
                }
                assert_true(n > most / 2 && n <= most);
        }
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_create),
                cmocka_unit_test(test_index),
                cmocka_unit_test(test_growth),
                cmocka_unit_test(test_growth_page_by_page),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
