/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ghosts, bpf/lib/ghost.bpf.h: what becomes of them where there is too little room, and as they get old. */

#include "sim-test.h"

#include "lib/ghost.bpf.h"

#define N_PAGES 700U
#define N_BUCKETS 64U
#define N_SETS (N_BUCKETS * 2)

static TestHost test_host;
static uint64_t keys[N_PAGES];

/* A hash of which the bucket, the half of it and the fingerprint are known. */
static uint64_t key_in(uint32_t set, uint32_t fingerprint) {
        return (uint64_t) (set / 2) << (64 - 6) | (uint64_t) (set % 2) << 18 | fingerprint;
}

/* Pages are spread evenly over all sets, so that these have room for 1024. */
static int setup(void **state) {
        memset(ghost_queues, 0, sizeof(ghost_queues));
        ghost_queues[0].oldest = ghost_queues[0].newest = 1;

        test_host = test_host_begin(N_PAGES);
        host.capacity = N_BUCKETS;
        assert_int_equal(bpf_cachebpf_buckets_create(&host.instance, 64), 0);
        assert_int_equal(host.buckets.n, N_BUCKETS);
        for (uint32_t i = 0; i < N_PAGES; i++)
                keys[i] = key_in(i % N_SETS, i + 1);
        host.keys = keys;
        return 0;
}

static int teardown(void **state) {
        test_host_end(&test_host);
        return 0;
}

static void make(uint32_t page, uint32_t queue, uint64_t n_cached) {
        host.callback = CALLBACK_REMOVED;
        ghost_make(&host.instance, folio(page), queue, n_cached);
}

static uint32_t take(uint32_t page) {
        host.callback = CALLBACK_ADDED;
        return ghost_take(&host.instance, folio(page));
}

static void test_once(void **state) {
        make(0, 1, 640);
        make(1, 2, 640);
        make(2, 3, 640);
        make(3, 1, 640);
        assert_int_equal(ghost_pages(1), 2);
        assert_int_equal(ghost_pages(2), 1);

        assert_int_equal(take(4), 0);
        assert_int_equal(take(0), 1);
        assert_int_equal(take(0), 0);
        assert_int_equal(take(1), 2);
        assert_int_equal(take(2), 3);
        assert_int_equal(ghost_pages(1), 1);
        assert_int_equal(ghost_pages(2), 0);
        assert_int_equal(ghost_pages(3), 0);
}

/* A mark is given back, and is nothing to its queue. */
static void test_mark(void **state) {
        make(0, 1, 64);
        make(1, 1 + GHOST_MARK, 64);
        make(2, 3 + GHOST_MARK, 64);
        assert_int_equal(ghost_pages(1), 2);
        assert_int_equal(take(2), 3 + GHOST_MARK);
        assert_int_equal(take(0), 1);
        ghost_limit(1, 1);
        assert_int_equal(take(1), 1 + GHOST_MARK);
        make(2, 3, 64);
        assert_int_equal(take(2), 3);
        assert_int_equal(ghost_pages(1), 0);
}

/* A unit is a 64th of the cache, and is forgotten as a whole. */
static void test_units(void **state) {
        for (uint32_t i = 0; i < 25; i++)
                make(i, 1, 640);
        ghost_limit(1, 25);
        assert_int_equal(ghost_pages(1), 25);
        ghost_limit(1, 24);
        assert_int_equal(ghost_pages(1), 15);
        assert_int_equal(take(9), 0);
        assert_int_equal(take(10), 1);
        assert_int_equal(ghost_pages(1), 14);
        ghost_limit(1, 5);
        assert_int_equal(ghost_pages(1), 5);
        assert_int_equal(take(19), 0);
        assert_int_equal(take(20), 1);
}

/* A queue forgets its own. */
static void test_other_queue(void **state) {
        for (uint32_t i = 0; i < 10; i++)
                make(i, 1 + i % 2, 64);
        ghost_limit(1, 0);
        assert_int_equal(ghost_pages(1), 0);
        assert_int_equal(ghost_pages(2), 5);
        for (uint32_t i = 0; i < 10; i++)
                assert_int_equal(take(i), i % 2 * 2);
}

/* With the newest unit as well; then it goes on with a new one. */
static void test_all(void **state) {
        for (uint32_t i = 0; i < 15; i++)
                make(i, 1, 640);
        ghost_limit(1, 0);
        assert_int_equal(ghost_pages(1), 0);
        for (uint32_t i = 0; i < 15; i++)
                assert_int_equal(take(i), 0);
        assert_int_equal(ghost_pages(1), 0);

        /* it holds as many as any */
        for (uint32_t i = 15; i < 26; i++)
                make(i, 1, 640);
        ghost_limit(1, 10);
        assert_int_equal(ghost_pages(1), 1);
        assert_int_equal(take(24), 0);
        assert_int_equal(take(25), 1);
}

/* What there are too many units of is left for the next time. */
static void test_many(void **state) {
        for (uint32_t i = 0; i < 84; i++)
                make(i, 1, 64);
        ghost_limit(1, 2);
        assert_int_equal(ghost_pages(1), 84 - GHOST_UNITS_PER_CACHE);
        ghost_limit(1, 2);
        assert_int_equal(ghost_pages(1), 2);
        assert_int_equal(take(81), 0);
        assert_int_equal(take(82), 1);
}

static void test_most_units(void **state) {
        for (uint32_t i = 0; i < 600; i++)
                make(i, 1, 64);
        assert_int_equal(ghost_pages(1), GHOST_UNITS);
        assert_int_equal(take(600 - GHOST_UNITS - 1), 0);
        assert_int_equal(take(600 - GHOST_UNITS), 1);
        assert_int_equal(take(599), 1);
}

/* In a full set the oldest makes room, in others nothing happens. */
static void test_full_set(void **state) {
        for (uint32_t i = 0; i <= GHOSTS_PER_SET; i++)
                keys[i] = key_in(5, 100 + i);
        keys[20] = key_in(4, 100);
        keys[21] = key_in(6, 100);
        make(20, 1, 64);
        make(21, 1, 64);
        for (uint32_t i = 0; i < GHOSTS_PER_SET; i++)
                make(i, 1, 64);
        assert_int_equal(ghost_pages(1), 2 + GHOSTS_PER_SET);
        make(GHOSTS_PER_SET, 2, 64);
        assert_int_equal(ghost_pages(1), 1 + GHOSTS_PER_SET);
        assert_int_equal(ghost_pages(2), 1);
        assert_int_equal(take(0), 0);
        for (uint32_t i = 1; i < GHOSTS_PER_SET; i++)
                assert_int_equal(take(i), 1);
        assert_int_equal(take(GHOSTS_PER_SET), 2);
        assert_int_equal(take(20), 1);
        assert_int_equal(take(21), 1);
}

/* One that was forgotten makes room before the oldest that was not. */
static void test_forgotten_first(void **state) {
        for (uint32_t i = 0; i <= GHOSTS_PER_SET; i++)
                keys[i] = key_in(5, 100 + i);
        for (uint32_t i = 0; i < GHOSTS_PER_SET - 1; i++)
                make(i, 1, 64);
        make(GHOSTS_PER_SET - 1, 2, 64);
        ghost_limit(2, 0);
        make(GHOSTS_PER_SET, 1, 64);
        assert_int_equal(ghost_pages(1), GHOSTS_PER_SET);
        for (uint32_t i = 0; i <= GHOSTS_PER_SET; i++)
                assert_int_equal(take(i), i != GHOSTS_PER_SET - 1);
}

/* The number of its unit comes round after 2048 of them. */
static void test_comes_round(void **state) {
        make(0, 1, 64);
        ghost_limit(1, 0);
        /* others in the same set */
        keys[1] = key_in(0, 2);
        for (uint32_t i = 0; i < 2048; i++) {
                make(1, 1, 64);
                assert_int_equal(take(1), 1);
                assert_int_equal(take(0), 0);
        }
}

/* Not told apart: same set, same fingerprint. */
static void test_fingerprint(void **state) {
        keys[0] = key_in(5, 100);
        keys[1] = key_in(5, 100) | UINT64_C(1) << 32;
        keys[2] = key_in(5, 100 | 1 << 17);
        make(0, 1, 64);
        assert_int_equal(take(2), 0);
        assert_int_equal(take(1), 1);
        assert_int_equal(take(0), 0);
}

/* Policies whose cgroup has no memory for buckets have no ghosts. */
static void test_no_buckets(void **state) {
        buckets_done();
        make(0, 1, 64);
        assert_int_equal(ghost_pages(1), 0);
        assert_int_equal(take(0), 0);
}

#define ghost_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        static const struct CMUnitTest tests[] = {
                ghost_test(test_once),
                ghost_test(test_mark),
                ghost_test(test_units),
                ghost_test(test_other_queue),
                ghost_test(test_all),
                ghost_test(test_many),
                ghost_test(test_most_units),
                ghost_test(test_full_set),
                ghost_test(test_forgotten_first),
                ghost_test(test_comes_round),
                ghost_test(test_fingerprint),
                ghost_test(test_no_buckets),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
