/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The parts of kv on which its figures rest: the request distribution, the percentiles, and the proportion
 * of what runs beside the reads. */

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
#include "pool.h"
#include "random.h"
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

/* A generator that is seeded anew goes on like a new one: each scan has a seed of its own. */
static void test_zipf_seed(void **state) {
        Zipf a, b;

        zipf_init(&a, 100000, 100000, 0.99, 7);
        (void) zipf_next(&a);
        zipf_seed(&a, 8);
        zipf_init(&b, 100000, 100000, 0.99, 8);
        for (unsigned i = 0; i < 1000; i++)
                assert_int_equal(zipf_next(&a), zipf_next(&b));
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
        assert_float_equal((double) histogram_quantile(h, 0.5), 500000.0, 500000.0 * 0.008);
        assert_float_equal((double) histogram_quantile(h, 0.99), 990000.0, 990000.0 * 0.008);
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

typedef struct Work {
        atomic_uint done[100];  /* by number */
        sem_t *permission;      /* of each task to end, or NULL */
} Work;

/* A task; every tenth fails. */
static bool work_main(void *context, uint64_t number) {
        Work *work = context;

        if (work->permission)
                (void) sem_wait(work->permission);
        work->done[number % ELEMENTSOF(work->done)]++;
        return number % 10 != 9;
}

static void *read_1000(void *pool) {
        for (unsigned i = 0; i < 1000; i++)
                pool_before_read(pool);
        return NULL;
}

/* Whatever threads read and work: each task is done once, one for so many reads. */
static void test_pool_proportion(void **state) {
        Work work = {};
        Pool pool = {
                .name = "test", .work = work_main, .context = &work, .threads = 3, .depth = 4, .every = 20,
        };
        pthread_t readers[2];
        PoolCounters c;

        assert_int_equal(pool_start(&pool), 0);
        for (unsigned i = 0; i < ELEMENTSOF(readers); i++)
                assert_int_equal(pthread_create(&readers[i], NULL, read_1000, &pool), 0);
        for (unsigned i = 0; i < ELEMENTSOF(readers); i++)
                (void) pthread_join(readers[i], NULL);
        pool_drain(&pool);

        c = pool_counters(&pool);
        assert_int_equal(c.done, 100);
        assert_int_equal(c.errors, 10);
        for (unsigned i = 0; i < ELEMENTSOF(work.done); i++)
                assert_int_equal(work.done[i], 1);

        for (unsigned i = 0; i < 19; i++)
                pool_before_read(&pool);
        pool_drain(&pool);
        assert_int_equal(pool_counters(&pool).done, 100);
        pool_stop(&pool);
}

/* A reader gets ahead of the pool by the depth of the queue, and waits then. */
static void test_pool_waits(void **state) {
        sem_t permission;
        Work work = { .permission = &permission };
        Pool pool = {
                .name = "test", .work = work_main, .context = &work, .threads = 1, .depth = 2, .every = 500,
        };
        pthread_t reader;

        (void) sem_init(&permission, 0, 0);
        assert_int_equal(pool_start(&pool), 0);
        assert_null(read_1000(&pool));
        assert_int_equal(pool_counters(&pool).waits, 0);
        assert_int_equal(pool_counters(&pool).done, 0);

        assert_int_equal(pthread_create(&reader, NULL, read_1000, &pool), 0);
        while (pool_counters(&pool).waits == 0)
                (void) sched_yield();
        assert_int_equal(pool.reads, 1500);

        for (unsigned i = 0; i < 4; i++)
                (void) sem_post(&permission);
        (void) pthread_join(reader, NULL);
        pool_drain(&pool);
        assert_int_equal(pool_counters(&pool).done, 4);
        assert_true(pool_counters(&pool).busy_ns > 0);
        pool_stop(&pool);
        (void) sem_destroy(&permission);
}

/* Without a proportion the threads work on their own, and reads never wait for them. */
static void test_pool_free(void **state) {
        sem_t permission;
        Work work = { .permission = &permission };
        Pool pool = {
                .name = "test", .work = work_main, .context = &work, .threads = 1, .depth = 1, .every = 0,
        };

        (void) sem_init(&permission, 0, 0);
        assert_int_equal(pool_start(&pool), 0);
        assert_null(read_1000(&pool));
        pool_drain(&pool);      /* does not wait either: no task can end yet */
        assert_int_equal(pool_counters(&pool).done, 0);

        for (unsigned i = 0; i < 50; i++)
                (void) sem_post(&permission);
        while (pool_counters(&pool).done < 50)
                (void) sched_yield();
        assert_int_equal(pool_counters(&pool).waits, 0);
        assert_int_equal(pool_counters(&pool).errors, 5);
        for (unsigned i = 0; i < 50; i++)
                assert_int_equal(work.done[i], 1);

        pool.stop = true;
        for (unsigned i = 0; i < pool.threads; i++)
                (void) sem_post(&permission);
        pool_stop(&pool);
        (void) sem_destroy(&permission);
}

static void test_random_numbered(void **state) {
        unsigned quarter[4] = {};

        for (uint64_t i = 0; i < 40000; i++) {
                assert_true(random_numbered(1, i) == random_numbered(1, i));
                assert_true(random_numbered(1, i) != random_numbered(2, i));
                quarter[random_numbered(1, i) % 4]++;
        }
        for (unsigned i = 0; i < 4; i++)
                assert_in_range(quarter[i], 9600, 10400);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_zeta),
                cmocka_unit_test(test_zipf_shares),
                cmocka_unit_test(test_zipf_repeats),
                cmocka_unit_test(test_zipf_seed),
                cmocka_unit_test(test_histogram_quantile),
                cmocka_unit_test(test_histogram_ends),
                cmocka_unit_test(test_pool_proportion),
                cmocka_unit_test(test_pool_waits),
                cmocka_unit_test(test_pool_free),
                cmocka_unit_test(test_random_numbered),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
