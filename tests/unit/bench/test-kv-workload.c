/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The workloads of kv: the mix of operations, which records they are about, and that a sequence is the same
 * again whatever else runs. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four above */
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "bench-util.h"
#include "kv-workload.h"

#define RECORDS 20000
#define DRAWS 100000

static const char *const names[] = {
        "a", "b", "c", "d", "e", "f", "uniform", "uniform-rw",
        "twitter-17", "twitter-18", "twitter-24", "twitter-34", "twitter-52",
};

static Sequence sequence(const char *name, uint64_t seed, unsigned thread, unsigned threads) {
        const Workload *workload = workload_find(name);
        Sequence s;

        assert_non_null(workload);
        sequence_init(&s, workload, &(SequenceOptions) {
                .records = RECORDS,
                .theta = 0.99,
                .seed = seed,
                .operations = DRAWS,
                .thread = thread,
                .threads = threads,
        });
        return s;
}

static void test_names(void **state) {
        assert_null(workload_find("g"));
        assert_null(workload_find(""));
        assert_null(workload_find("uniform-"));

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                const Workload *w = workload_find(names[i]);
                unsigned sum = 0;

                assert_non_null(w);
                assert_string_equal(w->name, names[i]);
                for (OperationKind kind = 0; kind < _OPERATION_MAX; kind++)
                        sum += w->percent[kind];
                assert_int_equal(sum, 100);
        }

        assert_false(workload_writes(workload_find("c")));
        assert_false(workload_writes(workload_find("uniform")));
        for (const char *name = "abdef"; *name; name++)
                assert_true(workload_writes(workload_find((const char[]) { *name, '\0' })));
        assert_true(workload_writes(workload_find("uniform-rw")));
}

/* YCSB's proportions, within five standard deviations. */
static void test_mix(void **state) {
        static const struct {
                const char *name;
                unsigned percent[_OPERATION_MAX];       /* read, update, insert, scan, read-modify-write */
        } expected[] = {
                { "a",          { 50, 50, 0, 0,  0  } },
                { "b",          { 95, 5,  0, 0,  0  } },
                { "c",          { 100, 0, 0, 0,  0  } },
                { "d",          { 95, 0,  5, 0,  0  } },
                { "e",          { 0,  0,  5, 95, 0  } },
                { "f",          { 50, 0,  0, 0,  50 } },
                { "uniform",    { 100, 0, 0, 0,  0  } },
                { "uniform-rw", { 50, 50, 0, 0,  0  } },
                { "twitter-17", { 99, 1,  0, 0,  0  } },
                { "twitter-18", { 97, 3,  0, 0,  0  } },
                { "twitter-24", { 99, 1,  0, 0,  0  } },
                { "twitter-34", { 94, 6,  0, 0,  0  } },
                { "twitter-52", { 93, 7,  0, 0,  0  } },
        };

        for (size_t i = 0; i < ELEMENTSOF(expected); i++) {
                Sequence s = sequence(expected[i].name, 3, 0, 1);
                uint64_t count[_OPERATION_MAX] = {};

                for (unsigned draw = 0; draw < DRAWS; draw++)
                        count[sequence_next(&s).kind]++;
                for (OperationKind kind = 0; kind < _OPERATION_MAX; kind++) {
                        double p = expected[i].percent[kind] / 100.0;

                        assert_true(fabs((double) count[kind] - p * DRAWS) <= 5 * sqrt(DRAWS * p * (1 - p)));
                }
        }
}

static bool equal(Operation a, Operation b) {
        return a.kind == b.kind && a.record == b.record && a.length == b.length;
}

static void test_repeats(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                Sequence a = sequence(names[i], 7, 0, 1), b = sequence(names[i], 7, 0, 1);
                Sequence c = sequence(names[i], 8, 0, 1);
                unsigned same = 0;

                for (unsigned draw = 0; draw < 10000; draw++) {
                        Operation operation = sequence_next(&a);

                        assert_true(equal(operation, sequence_next(&b)));
                        same += equal(operation, sequence_next(&c));
                }
                assert_in_range(same, 0, 1000);
        }
}

/* A thread does the same, however far the others are; no two threads insert the same record. */
static void test_threads(void **state) {
        Sequence alone = sequence("d", 7, 1, 3), s[3];
        _cleanup_free_ uint8_t *taken = calloc(DRAWS, 1);

        assert_non_null(taken);
        for (unsigned i = 0; i < ELEMENTSOF(s); i++)
                s[i] = sequence("d", 7, i, 3);
        for (unsigned draw = 0; draw < 10000; draw++) {
                unsigned turns[] = { draw % 4, 1, (draw * 7) % 5 };

                for (unsigned i = 0; i < ELEMENTSOF(s); i++)
                        for (unsigned turn = 0; turn < turns[i]; turn++) {
                                Operation operation = sequence_next(&s[i]);

                                if (i == 1)
                                        assert_true(equal(operation, sequence_next(&alone)));
                                if (operation.kind != OPERATION_INSERT)
                                        continue;
                                assert_in_range(operation.record, RECORDS, RECORDS + DRAWS - 1);
                                assert_int_equal(taken[operation.record - RECORDS]++, 0);
                        }
        }
        assert_true(s[0].inserted > 0 && s[1].inserted > 0 && s[2].inserted > 0);
}

/* Only records that are there: loaded ones, and after it was inserted, an inserted one. */
static void test_exists(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                Sequence s = sequence(names[i], 5, 0, 1);
                uint64_t next = RECORDS, inserted_read = 0;

                for (unsigned draw = 0; draw < DRAWS; draw++) {
                        Operation operation = sequence_next(&s);

                        if (operation.kind == OPERATION_INSERT)
                                assert_int_equal(operation.record, next++);
                        else {
                                assert_true(operation.record < next);
                                inserted_read += operation.record >= RECORDS;
                        }
                }
                assert_int_equal(inserted_read > 0, workload_find(names[i])->percent[OPERATION_INSERT] > 0);
        }
}

static int descending(const void *a, const void *b) {
        uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

        return x < y ? 1 : x > y ? -1 : 0;
}

/* How many of the reads go to the "top" most read records; and the records lie all over the range. */
static double share_of_top(const char *name, unsigned top) {
        _cleanup_free_ uint32_t *count = calloc(RECORDS, sizeof(uint32_t));
        Sequence s = sequence(name, 11, 0, 1);
        uint64_t reads = 0, sum = 0, upper = 0;

        assert_non_null(count);
        for (unsigned draw = 0; draw < DRAWS; draw++) {
                Operation operation = sequence_next(&s);

                if (operation.record >= RECORDS)
                        continue;
                count[operation.record]++;
                upper += operation.record >= RECORDS / 2;
                reads++;
        }
        assert_true((double) upper / (double) reads > 0.4 && (double) upper / (double) reads < 0.6);

        qsort(count, RECORDS, sizeof(uint32_t), descending);
        for (unsigned i = 0; i < top; i++)
                sum += count[i];
        return (double) sum / (double) reads;
}

/* A Zipfian's n most popular items get zeta(n) / zeta(all); in a uniform distribution, what the most read of
 * its records have more than others is chance. */
static void test_skew(void **state) {
        double zipfian = zipf_zeta(200, 0.99) / zipf_zeta(RECORDS, 0.99);

        assert_float_equal(share_of_top("a", 200), zipfian, 0.03);
        assert_float_equal(share_of_top("c", 200), zipfian, 0.03);
        assert_float_equal(share_of_top("f", 200), zipfian, 0.03);
        /* some of the most popular ones are yet to be inserted */
        assert_float_equal(share_of_top("e", 200), zipfian, 0.1);
        assert_in_range(share_of_top("uniform", 200) * 1000, 10, 30);
        assert_in_range(share_of_top("uniform-rw", 200) * 1000, 10, 30);
}

/* The newest record is the most read one, and the age of what is read is a Zipfian. */
static void test_latest(void **state) {
        Sequence s = sequence("d", 13, 0, 1);
        uint64_t newest = RECORDS - 1, reads = 0, of_newest = 0, of_newest_200 = 0;
        double zeta = zipf_zeta(RECORDS, 0.99);

        for (unsigned draw = 0; draw < DRAWS; draw++) {
                Operation operation = sequence_next(&s);

                if (operation.kind == OPERATION_INSERT) {
                        newest = operation.record;
                        continue;
                }
                reads++;
                of_newest += operation.record == newest;
                of_newest_200 += operation.record > newest - 200;
        }

        assert_float_equal((double) of_newest / (double) reads, 1 / zeta, 0.01);
        assert_float_equal((double) of_newest_200 / (double) reads, zipf_zeta(200, 0.99) / zeta, 0.02);
}

static void test_scan_lengths(void **state) {
        unsigned count[WORKLOAD_SCAN_MAX + 1] = {}, scans = 0;
        Sequence s = sequence("e", 17, 0, 1);

        for (unsigned draw = 0; draw < DRAWS; draw++) {
                Operation operation = sequence_next(&s);

                if (operation.kind != OPERATION_SCAN) {
                        assert_int_equal(operation.length, 0);
                        continue;
                }
                assert_in_range(operation.length, 1, WORKLOAD_SCAN_MAX);
                count[operation.length]++;
                scans++;
        }
        for (unsigned i = 1; i <= WORKLOAD_SCAN_MAX; i++)
                assert_in_range(count[i] * WORKLOAD_SCAN_MAX, scans * 8 / 10, scans * 12 / 10);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_mix),
                cmocka_unit_test(test_repeats),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_exists),
                cmocka_unit_test(test_skew),
                cmocka_unit_test(test_latest),
                cmocka_unit_test(test_scan_lengths),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
