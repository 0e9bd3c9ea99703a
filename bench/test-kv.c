/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The parts of kv on which its figures rest: the request distribution and the percentiles. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above */
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "bench-util.h"
#include "histogram.h"
#include "zipf.h"

static void test_zeta(void **state) {
        double sum = 0.0;

        /* the constant that YCSB carries for its 10^10 items */
        assert_float_equal(zipf_zeta(UINT64_C(10000000000), 0.99), 26.46902820178302, 1e-9);

        /* on both sides of the number of terms that are added one by one */
        for (unsigned i = 1; i <= 300000; i++) {
                sum += pow(i, -0.8);
                if (i == 1 || i == 1000 || i == 100000 || i == 100001 || i == 300000)
                        assert_float_equal(zipf_zeta(i, 0.8), sum, 1e-9);
        }
}

/* The most popular record gets its share, 1/zeta, and the second one 2^-theta of that. */
static void test_zipf_shares(void **state) {
        const uint64_t records = 1000, draws = 1000000;
        _cleanup_free_ uint64_t *count = calloc(records, sizeof(uint64_t));
        uint64_t first = 0, second = 0;
        Zipf z;

        assert_non_null(count);
        zipf_init(&z, records, records, 0.99, 42);
        for (uint64_t i = 0; i < draws; i++) {
                uint64_t record = zipf_next(&z);

                assert_true(record < records);
                count[record]++;
        }

        for (uint64_t i = 0; i < records; i++)
                if (count[i] > first) {
                        second = first;
                        first = count[i];
                } else if (count[i] > second)
                        second = count[i];

        /* Scrambling lets other ranks fall on the same records, so a little more is allowed. */
        assert_float_equal((double) first / (double) draws, 1.0 / z.zeta, 0.01);
        assert_float_equal((double) second / (double) draws, pow(0.5, 0.99) / z.zeta, 0.01);
}

static void test_zipf_repeats(void **state) {
        Zipf a, b, c;
        unsigned same = 0;

        zipf_init(&a, 100000, 100000, 0.99, 7);
        zipf_init(&b, 100000, 100000, 0.99, 7);
        zipf_init(&c, 100000, 100000, 0.99, 8);
        for (unsigned i = 0; i < 1000; i++) {
                uint64_t x = zipf_next(&a);

                assert_int_equal(x, zipf_next(&b));
                same += x == zipf_next(&c);
        }
        assert_true(same < 200);
}

static void test_histogram_quantile(void **state) {
        _cleanup_free_ Histogram *h = calloc(1, sizeof(Histogram)), *other = calloc(1, sizeof(Histogram));

        assert_non_null(h);
        assert_non_null(other);
        assert_int_equal(histogram_quantile(h, 0.5), 0);

        for (uint64_t v = 1; v <= 1000000; v++)
                histogram_add(v % 2 ? h : other, v);
        histogram_merge(h, other);

        assert_int_equal(h->n, 1000000);
        assert_int_equal(h->max, 1000000);
        assert_float_equal((double) histogram_quantile(h, 0.5), 500000.0, 500000.0 * 0.016);
        assert_float_equal((double) histogram_quantile(h, 0.99), 990000.0, 990000.0 * 0.016);
        assert_int_equal(histogram_quantile(h, 1.0), 1000000);
}

static void test_histogram_ends(void **state) {
        _cleanup_free_ Histogram *h = calloc(1, sizeof(Histogram));

        assert_non_null(h);
        histogram_add(h, 0);
        assert_int_equal(histogram_quantile(h, 0.5), 0);
        histogram_add(h, UINT64_MAX);   /* beyond the last bucket: counted there */
        assert_int_equal(h->n, 2);
        assert_true(histogram_quantile(h, 1.0) >= (UINT64_C(1) << 40) - 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_zeta),
                cmocka_unit_test(test_zipf_shares),
                cmocka_unit_test(test_zipf_repeats),
                cmocka_unit_test(test_histogram_quantile),
                cmocka_unit_test(test_histogram_ends),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
