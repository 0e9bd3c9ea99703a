/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What mlcache is made of: what is remembered of pages that are gone (bpf/lib/plays.bpf.h), what the pages
 * of a file lose (files.bpf.h), and the order by worth (ladder.bpf.h). */

#include "sim-test.h"

#include "mlcache.bpf.c"

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
        plays_remember(&host.instance, page + 1, (struct plays) { .score = score, .number = number });
}

static void assert_recalled(uint32_t page, int32_t score, uint32_t number) {
        struct plays plays;

        host.callback = CALLBACK_ADDED;
        plays = plays_recall(&host.instance, page + 1);
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

/* A bucket has the twelve that were evicted last, whether they came back or not. */
static void test_plays_full(void **state) {
        for (int32_t i = 0; i < 14; i++)
                remember(i, 100 + i, i + 1);
        assert_recalled(1, 0, 0);
        for (int32_t i = 5; i < 9; i++)
                assert_recalled(i, 100 + i, i + 1);
        for (int32_t i = 20; i < 24; i++)
                remember(i, 100 + i, i + 1);
        for (int32_t i = 2; i < 5; i++)
                assert_recalled(i, 0, 0);
        for (int32_t i = 9; i < 24; i++)
                if (i < 14 || i > 19)
                        assert_recalled(i, 100 + i, i + 1);
}

/* What is evicted once more is there once. */
static void test_plays_again(void **state) {
        remember(0, 1, 1);
        remember(1, 7, 2);
        assert_recalled(0, 1, 1);
        remember(0, 3, 2);
        assert_recalled(0, 3, 2);
        assert_recalled(0, 0, 0);
        assert_recalled(1, 7, 2);
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

/* Another processor has read the number of uses before these were counted, and writes it afterwards. */
static void test_uses_taken_back(void **state) {
        struct file *a = file_of(5);

        file_has(a, 4);
        a->uses += 10;
        assert_int_equal(file_lost(a, 160), 400);
        a->uses -= 4;
        assert_int_equal(file_lost(a, 160), 400);
        a->uses += 5;
        assert_int_equal(file_lost(a, 160), 440);
}

/* Above those that go next. */
static int32_t rung_of(uint32_t page) {
        return (int32_t) ((folio(page)->list - ladder_first - ladder_lowest) % NR_RUNGS) - (int32_t) NR_FREE;
}

static void put_at(uint32_t page, int64_t value, uint32_t pace, bool stays) {
        host.callback = CALLBACK_EVICT;
        assert_int_equal(ladder_put(&host.instance, folio(page), value, pace), stays);
}

static void test_ladder(void **state) {
        const int64_t base = NR_FREE * RUNG_WORTH, top = (NR_RUNGS - NR_FREE) * RUNG_WORTH;

        assert_int_equal(ladder_create(&host.instance), 0);
        assert_int_equal(ladder_first, ladder_above + 1);

        put_at(0, base + 4, PACE, false);
        put_at(1, base + 7, PACE, false);
        put_at(2, base + 8, PACE, false);
        put_at(2, base + 11, PACE, true);
        put_at(3, base + top - 1, PACE, false);
        put_at(4, base + top, PACE, false);
        put_at(5, -1000, PACE, false);
        assert_int_equal(rung_of(0), 1);
        assert_int_equal(rung_of(1), 1);
        assert_int_equal(rung_of(2), 2);
        assert_int_equal(rung_of(3), (int32_t) (NR_RUNGS - NR_FREE) - 1);
        assert_int_equal(folio(4)->list, ladder_above);
        assert_int_equal(rung_of(5), -(int32_t) NR_FREE);

        /* what falls faster has its turn sooner; those that are next are so anyhow */
        put_at(6, base + 80, PACE, false);
        assert_int_equal(rung_of(6), 20);
        put_at(6, base + 80, 2 * PACE, false);
        assert_int_equal(rung_of(6), 10);
        put_at(6, base - 8, 2 * PACE, false);
        assert_int_equal(rung_of(6), -2);

        /* it rises to the lowest that is used, but for those that stay free */
        put_at(5, base + 4, PACE, false);
        put_at(6, base + 4, PACE, false);
        ladder_rise(&host.instance);
        assert_int_equal(ladder_lowest, 1);
        assert_list(ladder_rung(NR_FREE), "0156");
        put_at(6, base - 40, PACE, false);
        assert_int_equal(rung_of(6), -11);
        ladder_rise(&host.instance);
        assert_int_equal(ladder_lowest, 1);

        /* all fall, and nothing is in the wrong place */
        ladder_fallen = 40;
        put_at(6, base - 80, PACE, true);
        put_at(2, base - 30, PACE, true);
        put_at(4, base + top - 40, PACE, false);
        assert_int_equal(rung_of(4), (int32_t) (NR_RUNGS - NR_FREE) - 1);
}

/* A file of which half of all uses are, with a quarter of the pages, loses twice as fast as all. */
static void test_pace(void **state) {
        struct file *a = file_of(3), *b = file_of(4);

        any_file = (struct file) {};
        file_has(a, 100);
        file_has(b, 300);
        for (unsigned i = 0; i < 500; i++) {
                a->uses++;
                b->uses++;
                file_lost(a, 1000);
                file_lost(b, 1000);
        }
        assert_int_equal(a->pace, 2 * PACE);
        assert_in_range(b->pace, PACE / 2, PACE - 1);
}

static struct cachebpf_evict ask(uint32_t n) {
        struct cachebpf_evict evict = { .nr_wanted = n, .visits_left = CACHEBPF_MAX_VISITS };

        host.callback = CALLBACK_EVICT;
        mlcache_evict(&host.instance, &evict);
        assert_int_equal(evict.nr_proposed, n);
        return evict;
}

/* What was proposed and is kept is not proposed again at once. */
static void test_kept(void **state) {
        bool proposed[N_PAGES] = {};

        test_host_end(&test_host);
        test_host = test_host_begin(N_PAGES);
        host.keys = keys;
        any_file = (struct file) {};
        assert_int_equal(mlcache_init(&host.instance), 0);
        host.callback = CALLBACK_ADDED;
        for (uint32_t i = 0; i < N_PAGES; i++) {
                host_enlist(folio(i), newcomers, TAIL);
                mlcache_added(&host.instance, folio(i), 0);
        }
        for (unsigned round = 0; round < 2; round++) {
                struct cachebpf_evict evict = ask(8);

                for (uint32_t i = 0; i < evict.nr_folios; i++) {
                        bool *p = proposed + (evict.candidates[i].folio - folio(0));

                        assert_false(*p);
                        *p = true;
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_plays_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_plays_limits, setup, teardown),
                cmocka_unit_test_setup_teardown(test_plays_full, setup, teardown),
                cmocka_unit_test_setup_teardown(test_plays_again, setup, teardown),
                cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
                cmocka_unit_test_setup_teardown(test_uses_taken_back, setup, teardown),
                cmocka_unit_test_setup_teardown(test_ladder, setup, teardown),
                cmocka_unit_test_setup_teardown(test_pace, setup, teardown),
                cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
