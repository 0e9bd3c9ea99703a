/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* bpf/lib/readahead.bpf.h: reads that do not go on where one ended, and what is learned of them. */

#include "readahead-player.h"

/* Jumps that never pay: nothing is read in vain once that is known. */
static void test_random(void **state) {
        for (uint32_t reason = 0; reason <= CACHEBPF_READAHEAD_FAULT; reason += CACHEBPF_READAHEAD_FAULT) {
                _player_ p = player(READAHEAD_ADAPTIVE);
                uint64_t seed = 1, vain = reason == CACHEBPF_READAHEAD_FAULT ? 60 * 30 : 0;

                p.reason = reason;
                for (unsigned i = 1; i <= 3200; i++) {
                        uint64_t index;

                        do
                                index = somewhere(&seed);
                        while (p.cached[index]);
                        play(&p, index, 1);
                        if (i > 120)
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
                                assert_records(&p, 1, 1.1, 4.2, 0, -1, -2);
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

/* Places in one open file from which it is read in turns: each is a run of its own. */
static void test_places(void **state) {
        for (unsigned n = 2; n <= 8; n *= 2)
                for (unsigned fault = 0; fault <= 1; fault++) {
                        _player_ p = player(READAHEAD_ADAPTIVE);

                        p.reason = fault ? CACHEBPF_READAHEAD_FAULT : CACHEBPF_READAHEAD_MISS;
                        for (uint64_t i = 0; i < 16384 / n; i++)
                                for (unsigned j = 0; j < n; j++)
                                        play(&p, 1000 + 100000 * j + i, 1);
                        assert_at_most(p.misses, 80);
                        assert_at_most(p.pages, 16384 + 64 * n);
                }
}

/* Threads that have a file open together, each at a record of its own. */
static void test_threads(void **state) {
        for (uint32_t reason = 0; reason <= CACHEBPF_READAHEAD_FAULT; reason += CACHEBPF_READAHEAD_FAULT) {
                _player_ p = player(READAHEAD_ADAPTIVE);
                uint64_t at[4] = {}, left[4] = {}, seed = 1, records = 0, misses = 0;

                p.reason = reason;
                for (unsigned i = 0; i < 40000; i++) {
                        unsigned j = sim_draw(&seed) % 4;

                        if (left[j] == 0) {
                                at[j] = somewhere(&seed);
                                left[j] = 4;
                                records++;
                        }
                        if (i == 10000) {
                                misses = p.misses;
                                records = 0;
                        }
                        play(&p, at[j]++, 1);
                        left[j]--;
                }
                assert_at_most((p.misses - misses) * 100, records * 110);
        }
}

/* A mapping is read from its end on: first by windows around faults, then as a run. */
static void test_faults_downward(void **state) {
        _player_ p = player(READAHEAD_ADAPTIVE);

        p.reason = CACHEBPF_READAHEAD_FAULT;
        for (uint64_t i = 0; i < 8192; i++)
                play(&p, 500000 - i, 1);
        assert_at_most(p.misses, 3);
        assert_at_most(p.requests, 8192 / 32 + 8);
        assert_at_most(p.pages, 8192 + 2 * 32);
}

/* Pages beyond the end of a file are not those that nobody uses. */
static void test_small_files(void **state) {
        uint64_t misses = 0, seed = 1;

        for (unsigned i = 0; i < 100; i++) {
                Player p;

                if (i == 0)
                        p = player(READAHEAD_ADAPTIVE);
                else
                        p = (Player) {
                                .setting = READAHEAD_ADAPTIVE,
                                .ino = ++n_files,
                                .limit = LARGE,
                                .cached = test_calloc(16, 1),
                                .marked = test_calloc(16, 1),
                        };
                p.n_pages = 14;
                p.reason = CACHEBPF_READAHEAD_FAULT;
                for (unsigned first = sim_draw(&seed) % 14, j = 0; j < 14; j++)
                        play(&p, (first + 5 * j) % 14, 1);
                misses += p.misses;
                player_done(&p);
        }
        assert_at_most(misses, 110);
}

/* A run that begins behind a page that was left out. */
static void test_gap(void **state) {
        _player_ p = player(READAHEAD_ADAPTIVE);
        uint64_t misses;

        p.reason = CACHEBPF_READAHEAD_FAULT;
        for (uint64_t i = 1; i <= 30; i++)
                for (unsigned j = 0; j < 30; j++)
                        play(&p, 30000 * j + 1000 * i + i * i, 1);
        misses = p.misses;
        play(&p, 950000, 1);
        for (unsigned i = 2; i < 16; i++)
                play(&p, 950000 + i, 1);
        assert_int_equal(p.misses - misses, 2);
}

/* A marker that nobody knows is a run's, of the size that windows of the device have. */
static void test_forgotten(void **state) {
        _player_ p = player(READAHEAD_ADAPTIVE);

        for (uint32_t last = 1; last <= 4096; last *= 4) {
                p.last_window = last;
                ask(&p, CACHEBPF_READAHEAD_MARKER, 1000 * last, 1);
                assert_in_range(p.last.size, 1, 32);
        }
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

/* A probe that is used after the next jumps counts, too. */
static void test_late_probe(void **state) {
        _player_ p = player(READAHEAD_ADAPTIVE);
        unsigned octave;
        uint64_t probe;

        p.reason = CACHEBPF_READAHEAD_FAULT;
        play(&p, 1000, 1);
        probe = p.last.start + p.last.size - p.last.async_size;
        octave = near_octave(1000, 1001, probe);
        for (unsigned i = 1; i < READAHEAD_JUMPS; i++)
                play(&p, 5000 * i, 1);
        assert_int_equal(share(&p, octave), 50);
        play(&p, probe, 1);
        assert_int_equal(share(&p, octave), 56);
}

/* A page that is missing near a jump counts for as much as it is of its octave, and is read by itself. */
static void test_near(void **state) {
        static const struct {
                int distance;
                unsigned octave, percent;
        } cases[] = {
                { 2, 1, 6 }, { 3, 1, 6 }, { 4, 2, 3 }, { 7, 2, 3 }, { 8, 3, 1 }, { 15, 3, 1 }, { 64, 0, 0 },
                { -1, 8, 12 }, { -2, 9, 6 }, { -3, 9, 6 }, { -7, 10, 3 }, { -15, 11, 1 }, { -64, 8, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _player_ p = player(READAHEAD_ADAPTIVE);

                play(&p, 1000, 2);
                play(&p, cases[i].distance > 0 ? 1001 + cases[i].distance : 1000 + cases[i].distance, 1);
                assert_int_equal(p.last.size, 1);
                for (unsigned j = 0; j < NEAR_FAR; j++)
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

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random),
                cmocka_unit_test(test_records),
                cmocka_unit_test(test_places),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_faults_downward),
                cmocka_unit_test(test_small_files),
                cmocka_unit_test(test_gap),
                cmocka_unit_test(test_forgotten),
                cmocka_unit_test(test_faults),
                cmocka_unit_test(test_late_probe),
                cmocka_unit_test(test_near),
                cmocka_unit_test(test_learned),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
