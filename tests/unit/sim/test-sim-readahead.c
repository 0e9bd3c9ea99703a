/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* bpf/lib/readahead.bpf.h: streams of reads are played to it, in a file of which nothing is ever evicted. */

#include "sim-test.h"

#include "lib/readahead.bpf.h"

#define FILE_PAGES 1000000U
#define LARGE (UINT64_C(1) << 40)

typedef struct Player {
        uint32_t setting;
        uint32_t reason; /* of what is missing */
        uint64_t ino;
        uint64_t limit;
        bool *cached, *marked;
        uint64_t prev_end;
        uint32_t last_window;
        /* what came of it */
        struct cachebpf_readahead last;
        uint64_t misses, markers, requests, pages;
} Player;

static uint64_t n_files;
/* for bpf_cachebpf_prefetch() */
static Player *playing;

static Player player(uint32_t setting) {
        memset(readahead_streams, 0, sizeof(readahead_streams));
        memset(readahead_learned, 0, sizeof(readahead_learned));
        readahead_begun = false;
        host.random = 1;
        return (Player) {
                .setting = setting,
                .ino = ++n_files,
                .limit = LARGE,
                .cached = test_calloc(FILE_PAGES, 1),
                .marked = test_calloc(FILE_PAGES, 1),
        };
}

static void player_done(Player *p) {
        test_free(p->cached);
        test_free(p->marked);
}
#define _player_ __attribute__((__cleanup__(player_done))) Player

static void bring(Player *p, uint64_t start, uint64_t n) {
        for (uint64_t i = start; i < MIN(start + n, FILE_PAGES); i++) {
                p->pages += !p->cached[i];
                p->cached[i] = true;
        }
}

int bpf_cachebpf_prefetch(struct cachebpf_readahead *ra, __u64 index, __u32 nr) {
        bring(playing, index, nr);
        return 0;
}

static void ask(Player *p, uint32_t reason, uint64_t index, uint32_t wanted) {
        struct cachebpf_readahead *ra = &p->last;
        uint64_t pages = p->pages, mark;

        *ra = (struct cachebpf_readahead) {
                .ino = p->ino,
                .index = index,
                .file_pages = FILE_PAGES,
                .prev_end = p->prev_end,
                .limit = p->limit,
                .wanted = wanted,
                .last_window = p->last_window,
                .stock_window = 32,
                .reason = reason,
        };
        playing = p;
        p->misses += reason != CACHEBPF_READAHEAD_MARKER;
        p->markers += reason == CACHEBPF_READAHEAD_MARKER;
        assert_true(readahead_plan(ra, p->setting));

        if (reason != CACHEBPF_READAHEAD_MARKER) {
                assert_true(ra->start <= index && ra->start + ra->size >= index + wanted);
                /* no marker on what is used at once */
                if (ra->async_size > 0)
                        assert_true(ra->start + ra->size - ra->async_size - index >= wanted);
        }
        if (ra->size > 0)
                p->last_window = ra->size;
        mark = ra->start + ra->size - ra->async_size;
        if (ra->async_size > 0 && mark < FILE_PAGES)
                p->marked[mark] = !p->cached[mark];
        if (reason != CACHEBPF_READAHEAD_MARKER)
                bring(p, index, wanted);
        bring(p, ra->start, ra->size);
        p->requests += p->pages > pages;
}

/* A read, or a fault, of n pages. */
static void play(Player *p, uint64_t index, uint32_t n) {
        for (uint64_t i = index; i < index + n; i++) {
                uint32_t wanted = index + n - i;

                if (!p->cached[i])
                        ask(p, p->reason, i, wanted);
                else if (p->marked[i]) {
                        p->marked[i] = false;
                        ask(p, CACHEBPF_READAHEAD_MARKER, i, wanted);
                }
        }
        if (p->reason == CACHEBPF_READAHEAD_MISS)
                p->prev_end = index + n;
}

static struct readahead_stream *stream_of(const Player *p) {
        struct cachebpf_readahead ra = { .ino = p->ino };

        return readahead_find(&ra);
}

static uint64_t somewhere(uint64_t *seed) {
        return sim_draw(seed) % (FILE_PAGES - 64);
}

#define assert_at_most(n, most)                                                         \
        do {                                                                            \
                uint64_t _n = (n), _most = (most);                                      \
                if (_n > _most)                                                         \
                        fail_msg(#n " is %lu, more than %lu", (unsigned long) _n,       \
                                 (unsigned long) _most);                                \
        } while (false)

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

/* Jumps that never pay: nothing is read in vain once that is known. */
static void test_random(void **state) {
        for (uint32_t reason = 0; reason <= CACHEBPF_READAHEAD_FAULT; reason += CACHEBPF_READAHEAD_FAULT) {
                _player_ p = player(READAHEAD_ADAPTIVE);
                uint64_t seed = 1, vain = reason == CACHEBPF_READAHEAD_FAULT ? 30 * 30 : 0;

                p.reason = reason;
                for (unsigned i = 1; i <= 3200; i++) {
                        uint64_t index;

                        do
                                index = somewhere(&seed);
                        while (p.cached[index]);
                        play(&p, index, 1);
                        if (i > 60)
                                assert_int_equal(p.last.size, 1);
                }
                assert_at_most(p.pages, 3200 + vain);
                if (reason == CACHEBPF_READAHEAD_FAULT)
                        continue;

                /* one that is too short is a run, but the next jump does not believe it */
                play(&p, FILE_PAGES - 10, 1);
                play(&p, FILE_PAGES - 9, 1);
                assert_int_equal(p.last.size, 5);
                play(&p, FILE_PAGES / 2, 1);
                assert_int_equal(p.last.size, 1);
        }
}

/* Requests and pages of a record, on the average, when they are known. A record is n pages, page by page,
 * anywhere, of this file or of one of many. */
static void play_records(Player *p, const int *offsets, size_t n, uint64_t n_files, double *requests,
                         double *pages) {
        uint64_t seed = 1, first_request = 0, first_page = 0, ino = p->ino;

        for (unsigned i = 0; i < 4000; i++) {
                uint64_t index = 64 + somewhere(&seed) % (FILE_PAGES - 128);

                if (i == 1000) {
                        first_request = p->requests;
                        first_page = p->pages;
                }
                p->ino = ino + sim_draw(&seed) % n_files;
                for (size_t j = 0; j < n; j++)
                        play(p, index + offsets[j], 1);
        }
        *requests = (p->requests - first_request) / 3000.0;
        *pages = (p->pages - first_page) / 3000.0;
}

#define assert_records(p, n_files, most_requests, most_pages, ...)                                      \
        do {                                                                                            \
                static const int _offsets[] = { __VA_ARGS__ };                                          \
                double _requests, _pages;                                                               \
                                                                                                        \
                play_records(p, _offsets, ELEMENTSOF(_offsets), n_files, &_requests, &_pages);          \
                if (_requests > (most_requests) || _pages > (most_pages))                               \
                        fail_msg("%s: %.2f requests, %.2f pages", #__VA_ARGS__, _requests, _pages);     \
        } while (false)

/* Soon a jump brings what is read of a record, and hardly more. */
static void test_records(void **state) {
        for (uint32_t reason = 0; reason <= CACHEBPF_READAHEAD_FAULT; reason += CACHEBPF_READAHEAD_FAULT) {
                for (unsigned kind = 0; kind < 6; kind++) {
                        _player_ p = player(READAHEAD_ADAPTIVE);

                        p.reason = reason;
                        switch (kind) {
                        case 0:
                                assert_records(&p, 1, 1.05, 2.1, 0, 1);
                                break;
                        case 1:
                                assert_records(&p, 1, 1.05, 8.5, 0, 1, 2, 3, 4, 5, 6, 7);
                                break;
                        case 2: /* as LevelDB: the end of a block first */
                                assert_records(&p, 1, 1.05, 2.1, 0, -1);
                                break;
                        case 3:
                                assert_records(&p, 1, 1.1, 4.2, 0, -2, -1);
                                break;
                        case 4: /* around a place */
                                assert_records(&p, 1, 1.1, 5.3, 0, -1, 1, 2);
                                break;
                        default: /* now and then */
                                assert_records(&p, 500, 1.1, 2.2, 0, -1);
                        }
                }
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


/* A fault, before anything is known: as the kernel reads around it; who uses that up gets as much again. */
static void test_faults(void **state) {
        _player_ p = player(READAHEAD_ADAPTIVE);

        p.reason = CACHEBPF_READAHEAD_FAULT;
        play(&p, 1000, 1);
        assert_int_equal(p.last.start, 985);
        assert_int_equal(p.last.size, 31);
        play(&p, 1016, 1);
        assert_int_equal(p.last.start, 1016);
        assert_int_equal(p.last.size, 31);
}

/* The share of octave @i that was used, in percent. */
static unsigned share(const Player *p, unsigned i) {
        return stream_of(p)->near.shares[i] * 100ULL / NEAR_USED;
}

/* A probe that is used after the next jump counts, too. */
static void test_late_probe(void **state) {
        _player_ p = player(READAHEAD_ADAPTIVE);
        unsigned octave;
        uint64_t probe;

        p.reason = CACHEBPF_READAHEAD_FAULT;
        play(&p, 1000, 1);
        probe = p.last.start + p.last.size - p.last.async_size;
        octave = near_octave(1000, 1001, probe);
        play(&p, 5000, 1);
        assert_int_equal(share(&p, octave), 43);
        play(&p, probe, 1);
        assert_int_equal(share(&p, octave), 56);
}

/* A page that is missing near a jump counts for as much as it is of its octave, and is read by itself. */
static void test_near(void **state) {
        static const struct {
                int distance;
                unsigned octave, percent;
        } cases[] = {
                { 2, 1, 6 }, { 3, 1, 6 }, { 4, 2, 3 }, { 7, 2, 3 }, { 8, 3, 1 }, { 15, 3, 1 }, { 16, 3, 0 },
                { -1, 4, 12 }, { -2, 5, 6 }, { -3, 5, 6 }, { -7, 6, 3 }, { -15, 7, 1 }, { -16, 7, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _player_ p = player(READAHEAD_ADAPTIVE);

                play(&p, 1000, 2);
                play(&p, cases[i].distance > 0 ? 1001 + cases[i].distance : 1000 + cases[i].distance, 1);
                assert_int_equal(p.last.size, 1);
                for (unsigned j = 0; j < NEAR_ALL; j++)
                        assert_int_equal(share(&p, j), j == cases[i].octave ? cases[i].percent : 0);
        }
}

/* A new stream begins with what others have learned: of reads, and of faults. */
static void test_learned(void **state) {
        _player_ p = player(READAHEAD_ADAPTIVE), fault = player(READAHEAD_ADAPTIVE);

        for (unsigned i = 1; i <= 30; i++) {
                play(&p, 1000 * i * i, 1);
                play(&p, 1000 * i * i - 1, 1);
        }
        p.ino = ++n_files;
        play(&p, 500, 1);
        assert_int_equal(p.last.start, 499);
        assert_int_equal(p.last.size, 2);
        fault.reason = CACHEBPF_READAHEAD_FAULT;
        play(&fault, 500, 1);
        assert_int_equal(fault.last.size, 31);
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
        assert_int_equal(p.last.size, 64);
        assert_int_equal(p.last.async_size, 32);
        ask(&p, CACHEBPF_READAHEAD_MARKER, 200048, 1);
        assert_int_equal(p.last.start, 200080);
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
                cmocka_unit_test(test_random),
                cmocka_unit_test(test_records),
                cmocka_unit_test(test_mixed),
                cmocka_unit_test(test_shared_slots),
                cmocka_unit_test(test_faults),
                cmocka_unit_test(test_late_probe),
                cmocka_unit_test(test_near),
                cmocka_unit_test(test_learned),
                cmocka_unit_test(test_same_slot),
                cmocka_unit_test(test_off),
                cmocka_unit_test(test_size),
                cmocka_unit_test(test_limit),
                cmocka_unit_test(test_vote),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
