/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The workloads of kv that have the statistics of Twitter's caches do have them: a week of requests gives
 * what was published of each cluster, in github.com/twitter/cache-trace, stat/2020Mar.md. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above */
#include <cmocka.h>
#include <math.h>

#include "bench-util.h"
#include "kv-workload.h"

#define RECORDS 40000

typedef struct Cluster {
        const char *name;
        /* columns of the table: get and gets, mean freq, one-hit-wonder ratio, Zipf alpha */
        double reads, frequency, once, alpha;
        /* No column: the part of the records that a week asks for.  Where few requests go to the last ranks,
         * many of these get none. */
        double asked;
} Cluster;

static const Cluster clusters[] = {
        { "twitter-17", 0.99, 60.8,  0.3887, 2.1106, 0.4587 },
        { "twitter-18", 0.97, 660.5, 0.0071, 2.0994, 0.9986 },
        { "twitter-24", 0.99, 134.8, 0.0565, 1.3726, 0.9817 },
        { "twitter-34", 0.94, 49.4,  0.0026, 1.1401, 0.9996 },
        { "twitter-52", 0.93, 32.6,  0.1936, 1.2117, 0.8974 },
};

static Sequence sequence(const char *name) {
        const Workload *workload = workload_find(name);
        Sequence s;

        assert_non_null(workload);
        sequence_init(&s, workload, &(SequenceOptions) { .records = RECORDS, .seed = 1, .threads = 1 });
        return s;
}

static void test_week(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(clusters); i++) {
                const Cluster *c = &clusters[i];
                uint64_t requests = (uint64_t) (c->frequency * c->asked * RECORDS);
                uint64_t asked = 0, once = 0, reads = 0, upper = 0;
                _cleanup_free_ uint32_t *count = calloc(RECORDS, sizeof(uint32_t));
                Sequence s = sequence(c->name);

                assert_non_null(count);
                for (uint64_t n = 0; n < requests; n++) {
                        Operation operation = sequence_next(&s);

                        assert_true(operation.record < RECORDS);
                        count[operation.record]++;
                        reads += operation.kind == OPERATION_READ;
                        upper += operation.record >= RECORDS / 2;
                }
                for (unsigned record = 0; record < RECORDS; record++) {
                        asked += count[record] > 0;
                        once += count[record] == 1;
                }

                assert_float_equal((double) reads / (double) requests, c->reads, 0.002);
                assert_float_equal((double) requests / (double) asked / c->frequency, 1.0, 0.03);
                assert_float_equal((double) once / (double) asked, c->once, 0.001 + 0.05 * c->once);
                /* what is popular lies all over the keys */
                assert_float_equal((double) upper / (double) requests, 0.5, 0.1);
        }
}

/* Of the requests to the less popular records: how many more there are for the upper ones. */
static void test_slope(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(clusters); i++) {
                uint64_t upper = 0, lower = 0;
                Sequence s = sequence(clusters[i].name);
                double e = 1.0 - clusters[i].alpha;

                for (unsigned n = 0; n < 4000000; n++) {
                        uint64_t rank = popularity_rank(&s.popularity);

                        upper += rank >= RECORDS / 4 && rank < RECORDS / 2;
                        lower += rank >= RECORDS / 2;
                }
                /* the integrals of x^-alpha; the shift is a small part of these ranks */
                assert_float_equal((double) upper / (double) lower /
                                   ((pow(0.5, e) - pow(0.25, e)) / (1 - pow(0.5, e))), 1.0, 0.05);
        }
}

/* Each record has one rank. */
static void test_dealt_out(void **state) {
        static const uint64_t sizes[] = { 2, 3, 1000, 1023, 1024, 1025, 65537 };

        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                _cleanup_free_ uint8_t *taken = calloc(sizes[i], 1);
                uint64_t moved = 0;
                Popularity p;

                assert_non_null(taken);
                popularity_init(&p, sizes[i], 1.5, 0.01, 1);
                for (uint64_t rank = 0; rank < sizes[i]; rank++) {
                        uint64_t record = popularity_record(&p, rank);

                        assert_true(record < sizes[i]);
                        assert_false(taken[record]++);
                        moved += record != rank;
                }
                assert_true(sizes[i] < 1000 || moved > sizes[i] * 9 / 10);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_week),
                cmocka_unit_test(test_slope),
                cmocka_unit_test(test_dealt_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
