/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Traces for the comparison of policies with models. */

#include <math.h>
#include <string.h>

#include "reference.h"

#define N_REQUESTS 12000U
#define N_PAGES 1500U
#define FILE_PAGES 16U
#define N_LARGE 3900U

static uint64_t seed;

/* SplitMix64, by S. Vigna (public domain) */
static uint64_t draw(void) {
        uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);

        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

static uint32_t draw_below(uint32_t n) {
        return draw() % n;
}

/* About Zipf with exponent 1. */
static uint32_t draw_zipf(uint32_t n) {
        return (uint32_t) pow(n, (draw() >> 11) / 9007199254740992.0) - 1;
}

/* No page has the hash 0, as in the kernel. */
static int add(Trace *t, uint64_t page, uint8_t flags) {
        return trace_add(t, page + 1, flags);
}

static int add_zipf(Trace *t, uint32_t i) {
        return add(t, draw_zipf(N_PAGES), 0);
}

static int add_loop(Trace *t, uint32_t i) {
        return add(t, i % 310, 0);
}

/* 300 pages are read nine times, forwards and backwards, and then ten others. Before that, three pages of
 * which the last one comes back after its eviction are used several times each. */
static int add_rounds(Trace *t, uint32_t i) {
        static const char first[] = "ABCDBBBCCCDDDACCCDDDAAAE";
        uint32_t at = i % 2710;

        if (t->n_requests < strlen(first))
                return add(t, 100000 + first[i], 0);
        if (at >= 2700)
                return add(t, N_PAGES + i, 0);
        return add(t, at / 300 % 2 == 0 ? at % 300 : 299 - at % 300, 0);
}

/* 500 pages in 2000 requests, in order. */
static int add_scans(Trace *t, uint32_t i) {
        return add(t, i % 2000 < 500 ? N_PAGES + i % 4000 : draw_zipf(N_PAGES), 0);
}

static int add_phases(Trace *t, uint32_t i) {
        return add(t, (draw_zipf(N_PAGES) + i / (N_REQUESTS / 4) * N_PAGES / 10) % N_PAGES, 0);
}

/* Reads a part of a file, its beginning most of the time, with four pages of readahead; or writes a page
 * of it, or deletes it. */
static int add_files(Trace *t, uint32_t i) {
        uint64_t file = draw_zipf(N_PAGES / FILE_PAGES) * FILE_PAGES;
        uint32_t n = 1 + draw_zipf(FILE_PAGES), what = draw_below(100);
        int r = 0;

        if (what < 2) {
                for (uint32_t page = 0; page < FILE_PAGES && r >= 0; page++)
                        r = add(t, file + page, TRACE_REMOVE);
                return r;
        }
        if (what < 20)
                return add(t, file + draw_below(FILE_PAGES), TRACE_WRITE);
        for (uint32_t page = 0; page < n && r >= 0; page++) {
                for (uint32_t ahead = 0; page % 4 == 0 && ahead < 4 && r >= 0; ahead++)
                        r = add(t, file + page + ahead, TRACE_READAHEAD);
                if (r >= 0)
                        r = add(t, file + page, 0);
        }
        return r;
}

/* Two of three requests are of scans, each of which reads 100 pages twice, and in turn of what is looked
 * up. */
static int add_threads(Trace *t, uint32_t i) {
        uint32_t n = i / 3 * 2 + i % 3;

        if (i % 3 == 2)
                return add(t, draw_zipf(N_PAGES), 0);
        return add(t, N_PAGES / 2 + n / 200 * 50 % N_PAGES + n % 100, TRACE_CLASS_SCAN << TRACE_CLASS_SHIFT);
}

static int add_each(Trace *t, uint64_t a, uint64_t b, uint64_t c) {
        int r = add(t, a, 0);

        if (r >= 0)
                r = add(t, b, 0);
        return r < 0 ? r : add(t, c, 0);
}

/* At first 3900 pages are read six times. Then every third request is for one of them, and the others are
 * for new pages, some of which are only read ahead. At last each new page is used again: soon and not any
 * more, or at once and once more after some time. */
static int add_large(Trace *t, uint32_t i) {
        uint64_t new = N_LARGE + i;

        if (i < 6 * N_LARGE)
                return add(t, i % N_LARGE, 0);
        if (i >= 6 * N_LARGE + 12000)
                return i % 2 == 0 ? add_each(t, new, new, new - 900) : add_each(t, new, i % 16, new);
        if (i % 6000 < 1500)
                return add(t, new, TRACE_READAHEAD);
        return add(t, i % 3 == 0 ? draw_below(N_LARGE) : new, 0);
}

static const struct {
        const char *name;
        int (*add)(Trace *t, uint32_t i);
        uint32_t n_requests;
} kinds[_TRACE_KIND_MAX] = {
        [TRACE_ZIPF]    = { "zipf",    add_zipf,    N_REQUESTS },
        [TRACE_LOOP]    = { "loop",    add_loop,    N_REQUESTS },
        [TRACE_ROUNDS]  = { "rounds",  add_rounds,  N_REQUESTS },
        [TRACE_SCANS]   = { "scans",   add_scans,   N_REQUESTS },
        [TRACE_PHASES]  = { "phases",  add_phases,  N_REQUESTS },
        [TRACE_FILES]   = { "files",   add_files,   N_REQUESTS },
        [TRACE_THREADS] = { "threads", add_threads, N_REQUESTS },
        [TRACE_LARGE]   = { "large",   add_large,   6 * N_LARGE + 33000 },
};

const char *trace_kind_to_string(TraceKind kind) {
        return kinds[kind].name;
}

Trace *trace_make(TraceKind kind) {
        Trace *t;

        if (trace_new(&t) < 0)
                return NULL;
        seed = kind;
        for (uint32_t i = 0; t->n_requests < kinds[kind].n_requests; i++)
                if (kinds[kind].add(t, i) < 0)
                        return trace_free(t);
        trace_seal(t);
        return t;
}
