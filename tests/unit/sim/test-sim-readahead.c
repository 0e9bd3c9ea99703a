/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* bpf/lib/readahead.bpf.h: streams of reads that go on, settings and limits. */

#include "readahead-player.h"

/* ---- streams */

/* One miss, and then windows that double, each read when the one before is begun. */
static void test_forward(void **state) {
        for (uint32_t n = 1; n <= 64; n *= 8) {
                _player_ p = player(READAHEAD_ADAPTIVE);
                uint64_t most = MAX(2 * n, 32U), window = MAX(2 * n, 4U), markers = 0, end;

                play(&p, 0, n);
                assert_int_equal(p.last.start, 0);
                assert_int_equal(p.last.size, n + window);
                end = n + window;
                for (uint64_t i = n; i < 8192; i += n) {
                        play(&p, i, n);
                        if (p.markers == markers)
                                continue;
                        markers = p.markers;
                        window = MIN(2 * window, most);
                        assert_int_equal(p.last.start, end);
                        assert_int_equal(p.last.size, window);
                        end += window;
                }
                assert_int_equal(p.misses, 1);
                assert_int_equal(p.pages, end);
                assert_int_equal(window, most);
        }
}

/* Who begins again with the file does not jump. */
static void test_beginning(void **state) {
        for (uint32_t setting = 64; setting; setting = setting == 64 ? READAHEAD_ADAPTIVE : 0) {
                _player_ p = player(setting);

                play(&p, 500, 1);
                assert_int_equal(p.last.size, 1);
                play(&p, 0, 1);
                assert_in_range(p.last.size, 4, 5);
        }
}

/* Five distances have to be the same; then it is as forward, down to the first page. */
static void test_backward(void **state) {
        for (uint32_t n = 1; n <= 16; n *= 4) {
                _player_ p = player(READAHEAD_ADAPTIVE);

                for (uint64_t i = 8192; i >= n; i -= n)
                        play(&p, i - n, n);
                assert_int_equal(p.misses, 6);
                assert_int_equal(p.pages, 8192);
        }
}

/* Page after page that is far away: nothing between them is read. */
static void test_strides(void **state) {
        static const int strides[] = { 100, -100, 9, -9 };

        for (size_t i = 0; i < ELEMENTSOF(strides); i++) {
                _player_ p = player(READAHEAD_ADAPTIVE);
                uint64_t at = FILE_PAGES / 2;

                for (unsigned j = 0; j < 1000; j++, at += strides[i])
                        play(&p, at, 2);
                assert_int_equal(p.misses, 6 + (1000 - 6 + 4) / 5);
                assert_in_range(p.pages, 2000, 2008);
                for (uint64_t j = 0; j < FILE_PAGES; j++) {
                        int64_t distance = (int64_t) j - FILE_PAGES / 2;

                        if (p.cached[j])
                                assert_in_range((distance % strides[i] + 100 * abs(strides[i])) %
                                                abs(strides[i]), 0, 1);
                }
        }
}

/* Those that are near are read with what is between them. */
static void test_dense_strides(void **state) {
        static const int strides[] = { 2, 3, -2, -4 };

        for (size_t i = 0; i < ELEMENTSOF(strides); i++) {
                _player_ p = player(READAHEAD_ADAPTIVE);
                uint64_t at = FILE_PAGES / 2;

                for (unsigned j = 0; j < 4000; j++, at += strides[i])
                        play(&p, at, 1);
                assert_int_equal(p.misses, 6);
                assert_at_most(p.pages, 4000 * abs(strides[i]) + 2 * 32);
        }
}

/* What one stream reads from the beginning to the end it also reads with jumps between. */
static void test_mixed(void **state) {
        _player_ p = player(READAHEAD_ADAPTIVE);
        uint64_t seed = 1, jumps = 0;

        for (unsigned i = 0; i < 4096; i++) {
                play(&p, i, 1);
                jumps -= p.misses;
                play(&p, 8192 + somewhere(&seed) % (FILE_PAGES - 9000), 1);
                jumps += p.misses;
        }
        assert_at_most(p.misses - jumps, 40);
        assert_at_most(p.pages, 2 * 4096 + 4096 / 2);
}

/* More streams than slots: who is forgotten goes on with the window of its file. */
static void test_shared_slots(void **state) {
        enum { STREAMS = 4 * READAHEAD_STREAMS, PAGES = 256, PART = FILE_PAGES / STREAMS };
        _player_ p = player(READAHEAD_ADAPTIVE);
        Player streams[STREAMS];
        uint64_t misses = 0, pages = 0;

        for (unsigned i = 0; i < STREAMS; i++) {
                streams[i] = p;
                streams[i].ino = 1000 + i;
                streams[i].prev_end = i * PART;
        }
        for (unsigned page = 0; page < PAGES; page++)
                for (unsigned i = 0; i < STREAMS; i++)
                        play(streams + i, (uint64_t) i * PART + page, 1);
        for (unsigned i = 0; i < STREAMS; i++) {
                misses += streams[i].misses;
                pages += streams[i].pages;
        }
        assert_at_most(misses, STREAMS * 2);
        assert_at_most(pages, STREAMS * PAGES * 3);
}


/* Of two streams with the same slot each forgets the other; the window of its file goes on. */
static void test_same_slot(void **state) {
        _player_ p = player(READAHEAD_ADAPTIVE), other = player(READAHEAD_ADAPTIVE);
        struct readahead_stream *slot = stream_of(&p);

        while (stream_of(&other) != slot)
                other.ino++;
        for (unsigned i = 0; i < 10; i++)
                play(&p, 1000 * (i * i + 1), 1);
        play(&other, 1000, 1);
        assert_int_equal(other.last.size, 1);

        p.last_window = 32;
        ask(&p, CACHEBPF_READAHEAD_MARKER, 200000, 1);
        assert_int_equal(p.last.start, 200016);
        assert_int_equal(p.last.size, 32);
        assert_int_equal(p.last.async_size, 16);
        ask(&p, CACHEBPF_READAHEAD_MARKER, 200032, 1);
        assert_int_equal(p.last.start, 200048);
        assert_int_equal(p.last.size, 32);
}

/* ---- settings and limits */

static void test_off(void **state) {
        static const struct readahead_stream none[READAHEAD_STREAMS];
        struct cachebpf_readahead ra = { .index = 7, .wanted = 3, .limit = LARGE, .start = 1, .size = 2 };
        _player_ p = player(0);

        assert_false(readahead_plan(&ra, READAHEAD_STOCK));
        assert_int_equal(ra.start, 1);
        assert_int_equal(ra.size, 2);

        for (unsigned i = 0; i < 100; i += 4)
                play(&p, i, 4);
        assert_int_equal(p.misses, 25);
        assert_int_equal(p.pages, 100);
        ask(&p, CACHEBPF_READAHEAD_MARKER, 50, 1);
        assert_int_equal(p.last.size, 0);
        assert_memory_equal(readahead_streams, none, sizeof(none));
}

static void test_size(void **state) {
        _player_ p = player(64);
        uint64_t seed = 1, pages;

        for (unsigned i = 0; i < 4096; i++) {
                play(&p, i, 1);
                assert_at_most(p.last.size, 64);
        }
        assert_int_equal(p.misses, 1);
        assert_int_equal(p.last.size, 64);

        pages = p.pages;
        for (unsigned i = 0; i < 100; i++)
                play(&p, 10000 + somewhere(&seed) % (FILE_PAGES - 11000), 1);
        assert_at_most(p.pages - pages, 100);

        p.reason = CACHEBPF_READAHEAD_FAULT;
        play(&p, 5000, 1);
        assert_int_equal(p.last.start, 5000 - 32);
        assert_int_equal(p.last.size, 64);
}

/* Nothing beyond a sixteenth of what the control group can hold. */
static void test_limit(void **state) {
        static const uint64_t limits[] = { 0, 15, 16, 1024, 8192, LARGE };

        for (size_t i = 0; i < 2 * ELEMENTSOF(limits); i++) {
                _player_ p = player(i % 2 ? READAHEAD_ADAPTIVE : 512);
                uint64_t limit = limits[i / 2], most = MIN(limit / 16, i % 2 ? 32U : 511U), largest = 0;

                p.limit = limit;
                for (unsigned j = 0; j < 8192; j++) {
                        play(&p, j, 1);
                        assert_at_most(p.last.size, most + 1);
                        largest = MAX(largest, p.last.size);
                }
                assert_in_range(largest, MAX(most, 1U), most + 1);

                p.reason = CACHEBPF_READAHEAD_FAULT;
                play(&p, 20000, 1);
                assert_at_most(p.last.size, most + 1);
        }
}

/* ---- arithmetic */

static void test_vote(void **state) {
        struct readahead_stream s = {};
        int64_t all[1000] = {};
        uint64_t seed = 1;

        for (unsigned i = 0; i < ELEMENTSOF(all); i++) {
                unsigned votes = 0;

                all[i] = (int64_t) (sim_draw(&seed) % 3) - 1;
                for (unsigned j = i < 7 ? 0 : i - 7; j <= i; j++)
                        votes += all[j] == all[i];
                if (all[i] == 0 && i < 7)
                        votes += 7 - i; /* what was never written is 0, too */
                assert_int_equal(readahead_vote(&s, all[i]), votes);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_forward),
                cmocka_unit_test(test_beginning),
                cmocka_unit_test(test_backward),
                cmocka_unit_test(test_strides),
                cmocka_unit_test(test_dense_strides),
                cmocka_unit_test(test_mixed),
                cmocka_unit_test(test_shared_slots),
                cmocka_unit_test(test_same_slot),
                cmocka_unit_test(test_off),
                cmocka_unit_test(test_size),
                cmocka_unit_test(test_limit),
                cmocka_unit_test(test_vote),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
