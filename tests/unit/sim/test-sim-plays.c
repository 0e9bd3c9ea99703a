/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What mlcache is made of: what is remembered of pages that are gone (bpf/lib/plays.bpf.h), what the pages
 * of a file lose (files.bpf.h), and the order by worth (ladder.bpf.h). */

#include "sim-test.h"

#include "lib/files.bpf.h"
#include "lib/ladder.bpf.h"
#include "lib/plays.bpf.h"

#define N_PAGES 40U

static TestHost test_host;
static uint64_t keys[N_PAGES];

/* All pages are in one bucket. */
static int setup(void **state) {
        test_host = test_host_begin(N_PAGES);
        host.capacity = 1;
        assert_int_equal(bpf_cachebpf_buckets_create(&host.instance, 64), 0);
        assert_int_equal(host.buckets.n, 1);
        for (uint32_t i = 0; i < N_PAGES; i++)
                keys[i] = i + 1;
        host.keys = keys;
        return 0;
}

static int teardown(void **state) {
        test_host_end(&test_host);
        return 0;
}

static void remember(uint32_t page, int32_t score, uint32_t number) {
        host.callback = CALLBACK_REMOVED;
        plays_remember(&host.instance, folio(page), (struct plays) { .score = score, .number = number });
}

static void assert_recalled(uint32_t page, int32_t score, uint32_t number) {
        struct plays plays;

        host.callback = CALLBACK_ADDED;
        plays = plays_recall(&host.instance, folio(page));
        assert_int_equal(plays.score, score);
        assert_int_equal(plays.number, number);
}

static void test_plays_once(void **state) {
        remember(0, 5, 1);
        remember(1, -5, 255);
        assert_recalled(2, 0, 0);
        assert_recalled(0, 5, 1);
        assert_recalled(0, 0, 0);
        assert_recalled(1, -5, 255);
}

static void test_plays_limits(void **state) {
        remember(0, 32768, 256);
        remember(1, -32769, 1);
        assert_recalled(0, 32767, 255);
        assert_recalled(1, -32768, 1);
}

/* A bucket of twelve forgets the oldest, but not before those that came back. */
static void test_plays_full(void **state) {
        for (int32_t i = 0; i < 14; i++)
                remember(i, 100 + i, i + 1);
        assert_recalled(1, 0, 0);
        for (int32_t i = 5; i < 9; i++)
                assert_recalled(i, 100 + i, i + 1);
        for (int32_t i = 20; i < 24; i++)
                remember(i, 100 + i, i + 1);
        for (int32_t i = 2; i < 24; i++)
                if (i < 5 || (i > 8 && i < 14) || i > 19)
                        assert_recalled(i, 100 + i, i + 1);
}

/* The latest of two with one fingerprint is found. */
static void test_plays_twice(void **state) {
        remember(0, 1, 1);
        remember(0, 2, 2);
        assert_recalled(0, 2, 2);
        assert_recalled(0, 1, 1);
}

/* Four pages share what their file loses, then two do; another file does not notice. */
static void test_lost(void **state) {
        struct file *a = file_of(1), *b = file_of(2);

        file_has(a, 4);
        file_has(b, 12);
        a->uses += 3;
        assert_int_equal(file_lost(a, 160), 120);
        assert_int_equal(file_lost(a, 160), 120);
        file_has(a, -2);
        a->uses++;
        b->uses++;
        assert_int_equal(file_lost(a, 160), 200);
        assert_int_equal(file_lost(b, 160), 13);
        assert_int_equal(any_file.lost, 30 + 11 + 11);
        file_has(a, -2);
        a->uses++;
        assert_int_equal(file_lost(a, 160), 360);
}

static uint32_t rung_of(uint32_t page) {
        return (folio(page)->list - ladder_first - ladder_lowest) % NR_RUNGS;
}

static void put(uint32_t page, int64_t worth, bool stays) {
        host.callback = CALLBACK_EVICT;
        assert_int_equal(ladder_put(&host.instance, folio(page), worth), stays);
}

static void test_ladder(void **state) {
        assert_int_equal(ladder_create(&host.instance), 0);
        assert_int_equal(ladder_first, ladder_above + 1);

        put(0, 32, false);
        put(1, 63, false);
        put(2, 64, false);
        put(2, 70, true);
        put(3, 32 * NR_RUNGS - 1, false);
        put(4, 32 * NR_RUNGS, false);
        put(5, -1000, false);
        assert_int_equal(rung_of(0), 1);
        assert_int_equal(rung_of(1), 1);
        assert_int_equal(rung_of(2), 2);
        assert_int_equal(rung_of(3), NR_RUNGS - 1);
        assert_int_equal(folio(4)->list, ladder_above);
        assert_int_equal(rung_of(5), 0);

        /* nothing is below the lowest that is used; what is worth less is first there */
        put(5, 40, false);
        ladder_rise(&host.instance);
        assert_int_equal(ladder_lowest, 1);
        put(6, 20, false);
        assert_list(ladder_rung(0), "6015");

        /* all fall, and nothing is in the wrong place */
        ladder_fallen = 40;
        put(6, -8, true);
        put(2, 30, true);
        put(4, 32 * NR_RUNGS - 40, false);
        assert_int_equal(rung_of(4), NR_RUNGS - 1);
        put(0, 25, false);
        assert_int_equal(rung_of(0), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_plays_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_plays_limits, setup, teardown),
                cmocka_unit_test_setup_teardown(test_plays_full, setup, teardown),
                cmocka_unit_test_setup_teardown(test_plays_twice, setup, teardown),
                cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
                cmocka_unit_test_setup_teardown(test_ladder, setup, teardown),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
