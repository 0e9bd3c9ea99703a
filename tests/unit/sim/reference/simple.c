/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* fifo, lru, mru, sieve: one row of pages, and little else. */

#include "reference.h"

typedef struct State {
        GArray *row; /* the one that came, or was used, last is the last */
        bool *visited;
        uint32_t hand; /* SIEVE: which one it looks at next; it may be one that is still to come */
} State;

static void *begin(const Cache *c) {
        State *s = g_new0(State, 1);

        s->row = row_new();
        s->visited = g_new0(bool, c->n_pages);
        return s;
}

static void end(void *state) {
        State *s = state;

        g_array_unref(s->row);
        g_free(s->visited);
        g_free(s);
}

static void added(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        row_add(s->row, page);
        s->visited[page] = false;
}

static void removed(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        if (row_find(s->row, page) < s->hand)
                s->hand--;
        row_take(s->row, page);
}

static uint32_t evict_first(void *state, const Cache *c, uint32_t wanted, uint32_t *victims) {
        State *s = state;
        uint32_t n = 0;

        while (n < wanted)
                victims[n++] = row_shift(s->row);
        return n;
}

static void use_moves(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        row_take(s->row, page);
        row_add(s->row, page);
}

const Model model_fifo = {
        .policy = "fifo",
        .begin = begin,
        .end = end,
        .added = added,
        .evict = evict_first,
        .removed = removed,
};

const Model model_lru = {
        .policy = "lru",
        .begin = begin,
        .end = end,
        .added = added,
        .used = use_moves,
        .evict = evict_first,
        .removed = removed,
};

/* Of so many at the end those that were read, the last one first; then, if these are not enough, the
 * others. */
static uint32_t evict_last_read(void *state, const Cache *c, uint32_t wanted, uint32_t *victims) {
        State *s = state;
        uint32_t n_looked = MIN(s->row->len, option(c, "nr_scan", 1024)), n = 0;

        for (unsigned read = 2; read-- > 0;)
                for (uint32_t i = 1; i <= n_looked && n < wanted; i++) {
                        uint32_t page = row_at(s->row, s->row->len - i);

                        if (read == (c->uses[page] > 0))
                                victims[n++] = page;
                }
        for (uint32_t i = 0; i < n; i++)
                row_take(s->row, victims[i]);
        return n;
}

const Model model_mru = {
        .policy = "mru",
        .begin = begin,
        .end = end,
        .added = added,
        .used = use_moves,
        .evict = evict_last_read,
        .removed = removed,
};

static void use_is_visit(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        s->visited[page] = true;
}

/* The hand goes from the oldest to the newest, and again; those that were visited get away with it once.
 * When it is the newest that goes, the hand comes to the oldest next, not to the one that comes in its
 * place. A request for more than one ends there, if any was found. */
static uint32_t sieve_evict(void *state, const Cache *c, uint32_t wanted, uint32_t *victims) {
        State *s = state;
        uint32_t n = 0;

        if (s->hand == s->row->len)
                s->hand = 0;
        while (n < wanted) {
                uint32_t page = row_at(s->row, s->hand);

                if (s->visited[page]) {
                        s->visited[page] = false;
                        s->hand++;
                } else {
                        row_take(s->row, page);
                        victims[n++] = page;
                }
                if (s->hand < s->row->len)
                        continue;
                s->hand = 0;
                if (n > 0)
                        break;
        }
        return n;
}

const Model model_sieve = {
        .policy = "sieve",
        .begin = begin,
        .end = end,
        .added = added,
        .used = use_is_visit,
        .evict = sieve_evict,
        .removed = removed,
};
