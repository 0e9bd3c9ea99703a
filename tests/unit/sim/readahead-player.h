/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Who reads a file, of which nothing is ever evicted, and asks bpf/lib/readahead.bpf.h what to read. */

#include "sim-test.h"

#include "lib/readahead.bpf.h"

#define FILE_PAGES 1000000U
#define LARGE (UINT64_C(1) << 40)

typedef struct Player {
        uint32_t setting;
        uint32_t reason; /* of what is missing */
        uint64_t ino;
        uint64_t limit;
        uint64_t n_pages; /* of the file */
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

static inline Player player(uint32_t setting) {
        memset(readahead_streams, 0, sizeof(readahead_streams));
        memset(readahead_learned, 0, sizeof(readahead_learned));
        readahead_begun = false;
        host.random = 1;
        return (Player) {
                .setting = setting,
                .ino = ++n_files,
                .limit = LARGE,
                .n_pages = FILE_PAGES,
                .cached = test_calloc(FILE_PAGES, 1),
                .marked = test_calloc(FILE_PAGES, 1),
        };
}

static inline void player_done(Player *p) {
        test_free(p->cached);
        test_free(p->marked);
}
#define _player_ __attribute__((__cleanup__(player_done))) Player

static inline void bring(Player *p, uint64_t start, uint64_t n) {
        for (uint64_t i = start; i < MIN(start + n, p->n_pages); i++) {
                p->pages += !p->cached[i];
                p->cached[i] = true;
        }
}

int bpf_cachebpf_prefetch(struct cachebpf_readahead *ra, __u64 index, __u32 nr) {
        bring(playing, index, nr);
        return 0;
}

static inline void ask(Player *p, uint32_t reason, uint64_t index, uint32_t wanted) {
        struct cachebpf_readahead *ra = &p->last;
        uint64_t pages = p->pages, mark;

        *ra = (struct cachebpf_readahead) {
                .ino = p->ino,
                .index = index,
                .file_pages = p->n_pages,
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
                mark = ra->start + ra->size - ra->async_size;
                if (ra->async_size > 0)
                        assert_true(mark < index || mark >= index + wanted);
        }
        if (ra->size > 0)
                p->last_window = ra->size;
        mark = ra->start + ra->size - ra->async_size;
        if (ra->async_size > 0 && mark < p->n_pages)
                p->marked[mark] = !p->cached[mark];
        if (reason != CACHEBPF_READAHEAD_MARKER)
                bring(p, index, wanted);
        bring(p, ra->start, ra->size);
        p->requests += p->pages > pages;
}

/* A read, or a fault, of n pages. */
static inline void play(Player *p, uint64_t index, uint32_t n) {
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

static inline struct readahead_stream *stream_of(const Player *p) {
        struct cachebpf_readahead ra = { .ino = p->ino };

        return readahead_find(&ra);
}

static inline uint64_t somewhere(uint64_t *seed) {
        return sim_draw(seed) % (FILE_PAGES - 64);
}

#define assert_at_most(n, most)                                                         \
        do {                                                                            \
                uint64_t _n = (n), _most = (most);                                      \
                if (_n > _most)                                                         \
                        fail_msg(#n " is %lu, more than %lu", (unsigned long) _n,       \
                                 (unsigned long) _most);                                \
        } while (false)
