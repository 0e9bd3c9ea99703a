/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is read for a trace when pages are read ahead, against figures that were worked out by hand. The
 * policy leaves reclaim to the kernel. */

#include "sim-test.h"

#include <stdio.h>

#include "lib/readahead.bpf.h"
#include "sim/readahead.h"

CACHEBPF_POLICY(t_stock, "", "", .flags = CACHEBPF_F_STOCK_RECLAIM);

/* The opposite: what came last goes first, and the rest stays for ever. */
void CACHEBPF_OP(t_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
        struct cachebpf_folio *f;

        for_each_folio(f, evict, 0, 0, CACHEBPF_ITER_REVERSE)
                if (bpf_cachebpf_evict(evict, f))
                        break;
}

CACHEBPF_POLICY(t_last, "", "", .evict_folios = t_evict);

typedef struct Script {
        Trace *trace;
} Script;

static Script script_new(void) {
        Script s = {};

        assert_int_equal(trace_new(&s.trace), 0);
        s.trace->has_files = true;
        return s;
}

static void script_done(Script *s) {
        trace_free(s->trace);
}
#define _script_ __attribute__((__cleanup__(script_done))) Script

static void add(Script *s, uint64_t file, uint64_t page, uint8_t flags) {
        assert_int_equal(trace_add(s->trace, file << TRACE_PAGE_BITS | page, flags), 0);
}

/* What is asked for, one page after the other. */
static void add_run(Script *s, uint64_t file, uint64_t from, uint64_t n) {
        for (uint64_t i = from; i < from + n; i++)
                add(s, file, i, 0);
}

static SimStats play_policy(const struct cachebpf_ops *ops, const Script *s, uint32_t setting,
                            uint32_t capacity) {
        CacheSettings settings = { .capacity = capacity, .batch = 1 };
        SimPolicy policy = { .name = "test", .ops = ops };
        SimStats stats;

        assert_int_equal(readahead_play(&policy, s->trace, &settings, setting, &stats), 0);
        return stats;
}

static SimStats play(const Script *s, uint32_t setting, uint32_t capacity) {
        return play_policy(&t_stock_ops, s, setting, capacity);
}

#define assert_reads(stats, n_misses, n_reads, n_pages)         \
        do {                                                    \
                SimStats _s = (stats);                          \
                assert_int_equal(_s.misses, n_misses);          \
                assert_int_equal(_s.reads, n_reads);            \
                assert_int_equal(_s.read_pages, n_pages);       \
        } while (false)

/* A file from its beginning: windows of 4, 8, 16 and 32 pages and so on, up to its end. */
static void test_forward(void **state) {
        _script_ s = script_new();

        add_run(&s, 0, 0, 100);
        assert_reads(play(&s, 0, 10000), 100, 100, 100);
        assert_reads(play(&s, READAHEAD_STOCK, 10000), 1, 6, 100);
        /* no more than 8 pages at a time, of which the first window has 4 */
        assert_reads(play(&s, 8, 10000), 1, 1 + 12, 100);
        assert_reads(play(&s, 64, 10000), 1, 5, 100);
        assert_reads(play(&s, READAHEAD_ADAPTIVE, 10000), 1, 6, 100);

        /* nothing is larger than a sixteenth of the cache, but what the kernel reads by itself */
        assert_reads(play(&s, READAHEAD_ADAPTIVE, 32), 1, 50, 100);
        assert_reads(play(&s, 64, 128), 1, 1 + 12, 100);
        assert_int_equal(play(&s, READAHEAD_STOCK, 64).reads, 6);
}

/* A page alone is no window: after it they go on from the size that the last one had, 8 pages. */
static void test_jump(void **state) {
        _script_ s = script_new();

        add_run(&s, 0, 0, 8);
        add_run(&s, 0, 1000, 2);
        add(&s, 0, 1999, 0);
        assert_reads(play(&s, 64, 10000), 4, 2 + 2 + 1, 4 + 8 + 1 + 16 + 1);
}

/* What the kernel does not see. */
static void test_backward(void **state) {
        _script_ s = script_new();

        for (uint64_t i = 100; i-- > 0;)
                add(&s, 0, i, 0);
        assert_reads(play(&s, READAHEAD_STOCK, 10000), 100, 100, 100);
        /* 5 pages, then 1 and the next 4, then 8, 16, 32, 32 and the rest */
        assert_reads(play(&s, READAHEAD_ADAPTIVE, 10000), 6, 5 + 1 + 5, 100);
}

/* A page here and there: those between them are not read. */
static void test_stride(void **state) {
        _script_ s = script_new();

        for (uint64_t i = 0; i < 100; i++)
                add(&s, 0, 7 + 10 * i, 0);
        assert_reads(play(&s, READAHEAD_STOCK, 10000), 100, 100, 100);
        /* 5 pages, then 1 and the next 4 of each 5 */
        assert_reads(play(&s, READAHEAD_ADAPTIVE, 10000), 5 + 19, 100, 100);
}

/* Two streams of one open file: the marker of one is found after a window of the other. */
static void test_interleaved(void **state) {
        _script_ s = script_new();

        add(&s, 0, 999, TRACE_WRITE); /* the file is long */
        for (uint64_t i = 0; i < 5; i++) {
                add(&s, 0, i, 0);
                add(&s, 0, 500 + i, 0);
        }
        assert_reads(play(&s, READAHEAD_STOCK, 10000), 4 + 1, 7, 4 + 1 + 8 + 1 + 3 + 18 + 4);
}

/* The kernel takes it for the same stream if a page is left out, but not if there was no read before. */
static void test_gaps(void **state) {
        _script_ s = script_new();

        add(&s, 0, 999, TRACE_WRITE);
        add(&s, 0, 1, 0);
        assert_reads(play(&s, READAHEAD_STOCK, 10000), 2, 1, 1);
        add(&s, 0, 3, 0);
        assert_reads(play(&s, READAHEAD_STOCK, 10000), 3, 2, 1 + 4);
        add(&s, 0, 9, 0);
        assert_reads(play(&s, READAHEAD_STOCK, 10000), 4, 3, 1 + 4 + 1);
}

/* A marker leaves with its page. */
static void test_lost_marker(void **state) {
        _script_ s = script_new();

        add(&s, 0, 999, TRACE_WRITE);
        add(&s, 0, 1, TRACE_WRITE);
        add(&s, 0, 1, TRACE_REMOVE);
        add(&s, 0, 0, 0);
        add(&s, 0, 1, TRACE_REMOVE);
        add(&s, 0, 1, TRACE_WRITE);
        add(&s, 0, 1, 0);
        assert_reads(play(&s, READAHEAD_STOCK, 10000), 4, 1, 4);
}

/* Before a missing page there are some, but the file was not read from there just before. */
static void test_history(void **state) {
        _script_ s = script_new();

        add(&s, 0, 999, TRACE_WRITE);
        for (uint64_t i = 20; i < 40; i++)
                add(&s, 0, i, TRACE_WRITE);
        add(&s, 0, 40, 0);
        assert_reads(play(&s, READAHEAD_STOCK, 10000), 22, 1, 21);

        /* the file is there from its beginning */
        for (uint64_t i = 0; i < 10; i++)
                add(&s, 1, i, TRACE_WRITE);
        add(&s, 1, 999, TRACE_WRITE);
        add(&s, 1, 10, 0);
        assert_reads(play(&s, READAHEAD_STOCK, 10000), 22 + 12, 2, 21 + 21);
}

/* What is written is not read, what is removed is read again, and what the trace says of readahead is passed
 * over. */
static void test_others(void **state) {
        _script_ s = script_new();
        SimStats stats;

        add(&s, 0, 0, TRACE_WRITE);
        add(&s, 0, 9, TRACE_READAHEAD);
        add(&s, 0, 0, 0);
        assert_reads(play(&s, READAHEAD_STOCK, 100), 1, 0, 0);

        add(&s, 0, 0, TRACE_REMOVE);
        add(&s, 0, 0, 0);
        stats = play(&s, READAHEAD_STOCK, 100);
        assert_reads(stats, 2, 1, 4);
        assert_int_equal(stats.cold_misses, 1);
        assert_int_equal(stats.requests, 3);
        assert_int_equal(stats.readahead, 3);
        assert_int_equal(stats.added, 1 + 4);
}

/* Of what nobody asks for more is read than there are numbers: they are taken again. No page is read twice
 * while it is cached. */
static void test_only_read_ahead(void **state) {
        _script_ s = script_new();
        SimStats stats;

        for (uint64_t file = 0; file < 1000; file++) {
                add(&s, file, 3, TRACE_WRITE);
                add(&s, file, 0, 0);
        }
        stats = play(&s, READAHEAD_STOCK, 16);
        assert_reads(stats, 2000, 1000, 3000);
        assert_int_equal(stats.added, 4000);
        assert_int_equal(stats.evicted, 4000 - 16);
        assert_int_equal(stats.refaults, 0);
        /* page 3 of all files but four goes when page 0 comes */
        stats = play_policy(&t_last_ops, &s, READAHEAD_STOCK, 16);
        assert_reads(stats, 2000, 1000, 4 * 3 + 996 * 4);
        assert_int_equal(stats.refaults, 996);

        for (uint64_t file = 0; file < 1000; file++)
                add(&s, file, 1, 0);
        stats = play(&s, READAHEAD_STOCK, 16);
        assert_int_equal(stats.misses, 3000);
        stats = play(&s, READAHEAD_STOCK, 4000);
        assert_int_equal(stats.misses, 2000);
        assert_int_equal(stats.read_pages, 3000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_forward),
                cmocka_unit_test(test_jump),
                cmocka_unit_test(test_backward),
                cmocka_unit_test(test_stride),
                cmocka_unit_test(test_interleaved),
                cmocka_unit_test(test_gaps),
                cmocka_unit_test(test_lost_marker),
                cmocka_unit_test(test_history),
                cmocka_unit_test(test_others),
                cmocka_unit_test(test_only_read_ahead),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
