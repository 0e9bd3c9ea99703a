/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ARC, figure 4 of Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003.
 *
 * In the paper the page is known for which room is made. Here it is not, so room is made as for one that
 * is in none of the four lists, and that the lists together are not too long is seen to after each
 * eviction, the page that goes counted with the cached ones. p is kept in 1/65536 of a page. */

#include "reference.h"

#define ONE (UINT64_C(1) << 16)

typedef struct State {
        GArray *t1, *t2; /* used once, used again; the least recently used is the first */
        Ghosts *b1, *b2;
        uint64_t p;        /* what T1 is to have */
        uint32_t capacity; /* how full the cache was when pages were wanted last */
} State;

static void *begin(const Cache *c) {
        State *s = g_new0(State, 1);

        s->t1 = row_new();
        s->t2 = row_new();
        s->b1 = ghosts_new();
        s->b2 = ghosts_new();
        return s;
}

static void end(void *state) {
        State *s = state;

        g_array_unref(s->t1);
        g_array_unref(s->t2);
        ghosts_free(s->b1);
        ghosts_free(s->b2);
        g_free(s);
}

static void added(void *state, const Cache *c, uint32_t page) {
        State *s = state;
        uint64_t b1 = ghosts_len(s->b1), b2 = ghosts_len(s->b2);

        if (ghosts_take(s->b1, page)) { /* case II */
                uint64_t delta = b1 >= b2 ? ONE : b2 * ONE / b1;

                s->p = MIN(s->p + delta, s->capacity * ONE);
                row_add(s->t2, page);
        } else if (ghosts_take(s->b2, page)) { /* case III */
                uint64_t delta = b2 >= b1 ? ONE : b1 * ONE / b2;

                s->p = s->p > delta ? s->p - delta : 0;
                row_add(s->t2, page);
        } else /* case IV */
                row_add(s->t1, page);
}

/* Case I */
static void used(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        if (!row_take(s->t1, page))
                row_take(s->t2, page);
        row_add(s->t2, page);
}

/* What leaves is remembered, while the lists are this long, but not what was read ahead and never read,
 * as nobody misses that; and what T1 loses when it has all of the cache is forgotten at once. */
static void remember(State *s, const Cache *c, uint32_t page, bool from_t1, uint32_t t1, uint32_t t2) {
        uint32_t n_cached = s->capacity;

        if (c->uses[page] == 0)
                return;
        if (!from_t1 || t1 < n_cached)
                ghosts_make(from_t1 ? s->b1 : s->b2, page, n_cached);
        ghosts_limit(s->b1, n_cached - t1);
        ghosts_limit(s->b2, 2 * n_cached - (t1 + t2 + ghosts_len(s->b1)));
}

/* REPLACE, and what case IV does with it */
static uint32_t evict(void *state, const Cache *c, uint32_t wanted, uint32_t *victims) {
        State *s = state;
        uint32_t t1 = s->t1->len, t2 = s->t2->len, n = 0, n_of_t1;

        s->capacity = c->n_cached;
        while (n < wanted && s->t1->len * ONE > s->p)
                victims[n++] = row_shift(s->t1);
        n_of_t1 = n;
        while (n < wanted && s->t2->len > 0)
                victims[n++] = row_shift(s->t2);
        if (n == 0) {
                while (n < wanted && s->t1->len > 0)
                        victims[n++] = row_shift(s->t1);
                n_of_t1 = n;
        }

        for (uint32_t i = 0; i < n; i++) {
                bool from_t1 = i < n_of_t1;

                remember(s, c, victims[i], from_t1, t1, t2);
                t1 -= from_t1;
                t2 -= !from_t1;
        }
        return n;
}

static void removed(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        if (!row_take(s->t1, page))
                row_take(s->t2, page);
}

const Model model_arc = {
        .policy = "arc",
        .bytes_per_page = 6,
        .begin = begin,
        .end = end,
        .added = added,
        .used = used,
        .evict = evict,
        .removed = removed,
};
