/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* MLCache: Costa and Pazos, "MLCache: a multi-armed bandit policy for an operating system page cache",
 * section 2, to the letter: each time all pages in the cache are compared. Of equal ones the first goes that
 * came first.
 *
 * What the paper leaves open is as the project has it. A page that is new has the score 0, and counts as
 * played once. A use takes a part of its reward from the other cached pages of the file, each the same; that
 * which brings a page in is one. If that was evicted not long ago, to evict it was wrong: it has further
 * rewards. The time is the number of plays. What was read ahead and not read does not count as played. The
 * newest pages are not played. A page is remembered until twelve others of its bucket are evicted. */

#include <math.h>

#include "reference.h"

#define SCALE 100
#define BYTES_PER_PAGE 8
#define BYTES_PER_BUCKET 64
#define PLAYS_PER_BUCKET 12
#define FIRST_BUCKETS 128
#define RETURNED 2
#define NEWEST 128
#define MOST_PLAYS 64

typedef struct Page {
        double score; /* in the cache: and what its file's pages had lost */
        uint32_t plays;
        uint64_t gone; /* after so many others of its bucket, from 1; 0: it is not remembered */
        uint64_t came;
} Page;

typedef struct File {
        double lost; /* by each of its pages since ever */
        uint32_t n_cached;
} File;

typedef struct State {
        Page *pages;
        File *files;
        GArray *cached;
        uint32_t *at; /* where a page is in there */
        uint64_t plays, arrivals;
        uint64_t *n_gone; /* of each bucket */
        uint32_t n_buckets;
} State;

static void *begin(const Cache *c) {
        State *s = g_new0(State, 1);
        unsigned n_doubled = 0;

        s->pages = g_new0(Page, c->n_pages);
        s->files = g_new0(File, c->n_pages);
        s->at = g_new0(uint32_t, c->n_pages);
        s->cached = row_new();
        s->plays = 1;
        s->n_buckets = MAX(c->capacity * BYTES_PER_PAGE / BYTES_PER_BUCKET, 1U);
        while (s->n_buckets > FIRST_BUCKETS) {
                s->n_buckets /= 2;
                n_doubled++;
        }
        s->n_buckets <<= n_doubled;
        s->n_gone = g_new0(uint64_t, s->n_buckets);
        return s;
}

static void end(void *state) {
        State *s = state;

        g_free(s->pages);
        g_free(s->files);
        g_free(s->at);
        g_free(s->n_gone);
        g_array_unref(s->cached);
        g_free(s);
}

/* How many were evicted so far of those that are remembered in one place with this one. */
static uint64_t *n_gone(State *s, const Cache *c, uint32_t page) {
        return s->n_gone + ((c->keys[page] >> 32) * s->n_buckets >> 32);
}

static void used(void *state, const Cache *c, uint32_t page) {
        State *s = state;
        File *f = s->files + c->files[page];
        double each = SCALE * option(c, "punishment", 25) / 100. / f->n_cached;

        f->lost += each;
        s->pages[page].score += SCALE + each;
}

static void added(void *state, const Cache *c, uint32_t page) {
        State *s = state;
        File *f = s->files + c->files[page];
        Page *p = s->pages + page;

        if (p->gone > 0 && *n_gone(s, c, page) - p->gone < PLAYS_PER_BUCKET)
                p->score += RETURNED * SCALE;
        else
                p->score = p->plays = 0;
        p->gone = 0;
        p->plays++;
        p->came = s->arrivals++;
        p->score += f->lost;
        f->n_cached++;
        s->at[page] = s->cached->len;
        row_add(s->cached, page);
        used(s, c, page);
}

static void take(State *s, const Cache *c, uint32_t page) {
        File *f = s->files + c->files[page];
        uint32_t last = row_at(s->cached, s->cached->len - 1);

        s->pages[page].score -= f->lost;
        f->n_cached--;
        s->at[last] = s->at[page];
        g_array_remove_index_fast(s->cached, s->at[page]);
}

static void removed(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        take(s, c, page);
        s->pages[page].gone = 0;
}

typedef struct Candidate {
        double formula;
        uint32_t page;
} Candidate;

static bool goes_before(const State *s, Candidate a, Candidate b) {
        if (a.formula != b.formula)
                return a.formula > b.formula;
        return s->pages[a.page].came < s->pages[b.page].came;
}

static uint32_t evict(void *state, const Cache *c, uint32_t wanted, uint32_t *victims) {
        State *s = state;
        bool inverted = option(c, "inverted", 0);
        double bonus[MOST_PLAYS], ilog = floor(log((double) SCALE * SCALE * s->plays));
        Candidate first[32];
        uint32_t n = 0;

        g_assert(wanted <= G_N_ELEMENTS(first));
        for (uint32_t plays = 1; plays < MOST_PLAYS; plays++)
                bonus[plays] = floor(sqrt(floor(2 * SCALE * SCALE * ilog / plays)));

        for (uint32_t i = 0; i < s->cached->len; i++) {
                uint32_t page = row_at(s->cached, i), at;
                const Page *p = s->pages + page;
                double score = floor(p->score - s->files[c->files[page]].lost);
                Candidate x = { -score - bonus[MIN(p->plays, MOST_PLAYS - 1U)], page };

                if (s->arrivals - p->came <= s->cached->len / NEWEST)
                        continue;
                if (inverted)
                        x.formula = -x.formula;
                if (n == wanted && !goes_before(s, x, first[n - 1]))
                        continue;
                n = MIN(n + 1, wanted);
                for (at = n - 1; at > 0 && goes_before(s, x, first[at - 1]); at--)
                        first[at] = first[at - 1];
                first[at] = x;
        }

        for (uint32_t i = 0; i < n; i++) {
                victims[i] = first[i].page;
                take(s, c, victims[i]);
                if (c->uses[victims[i]] > 0) {
                        s->pages[victims[i]].gone = ++*n_gone(s, c, victims[i]);
                        s->plays++;
                }
        }
        return n;
}

const Model model_mlcache = {
        .policy = "mlcache",
        .bytes_per_page = BYTES_PER_PAGE,
        .begin = begin,
        .end = end,
        .added = added,
        .used = used,
        .evict = evict,
        .removed = removed,
};
