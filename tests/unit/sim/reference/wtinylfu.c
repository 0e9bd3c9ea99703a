/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* W-TinyLFU: Einziger et al., "TinyLFU: a highly efficient cache admission policy", ACM ToS 13(4), 2017,
 * with the segments and sizes of Caffeine, and what is different in this project: uses are told to the
 * sketch, and move a page to another segment, when its turn comes; the candidate's have to exceed the
 * victim's by more than a margin; a victim that stays has had its turn.
 *
 * The sketch is a count-min sketch with conservative update. A page belongs to one part of it, which the
 * upper half of its hash chooses; there are 6 bytes of them for each page of the cache, in parts of 64. A
 * part has four rows of 30 counters, one for each of the lower four bytes of the hash. */

#include "reference.h"

#define ROWS 4
#define WIDTH 30
#define HIGHEST 15
#define SAMPLE 10 /* uses for each page, after which all is halved */
#define MOST_MOVES 512

typedef struct State {
        GArray *window, *probation, *protected;
        uint32_t *told;   /* of a page's uses since it came, those that the sketch knows of */
        bool *used;       /* again, since its turn */
        uint32_t n_parts, n_told;
        uint8_t (*sketch)[ROWS][WIDTH];
} State;

static void *begin(const Cache *c) {
        State *s = g_new0(State, 1);

        s->window = row_new();
        s->probation = row_new();
        s->protected = row_new();
        s->told = g_new0(uint32_t, c->n_pages);
        s->used = g_new0(bool, c->n_pages);
        s->n_parts = MAX(c->capacity * 6 / 64, 1U);
        g_assert(s->n_parts <= 128); /* more are not made all at once */
        s->sketch = g_malloc0_n(s->n_parts, sizeof(*s->sketch));
        return s;
}

static void end(void *state) {
        State *s = state;

        g_array_unref(s->window);
        g_array_unref(s->probation);
        g_array_unref(s->protected);
        g_free(s->told);
        g_free(s->used);
        g_free(s->sketch);
        g_free(s);
}

static void added(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        s->used[page] = false;
        s->told[page] = 0;
        row_add(s->window, page);
}

static void used(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        s->used[page] = true;
}

static uint8_t *counter(State *s, const Cache *c, uint32_t page, unsigned row) {
        uint64_t hash = c->keys[page];
        uint32_t part = (hash >> 32) * s->n_parts >> 32;
        uint32_t byte = hash >> 8 * row & 0xff;

        return &s->sketch[part][row][byte * WIDTH / 256];
}

static void halve(State *s) {
        for (uint32_t part = 0; part < s->n_parts; part++)
                for (unsigned row = 0; row < ROWS; row++)
                        for (unsigned i = 0; i < WIDTH; i++)
                                s->sketch[part][row][i] /= 2;
        s->n_told /= 2;
}

/* It is the page's turn: tells its uses to the sketch. Returns how many that knows then. */
static unsigned tell(State *s, const Cache *c, uint32_t page) {
        uint32_t uses = c->uses[page] - s->told[page];
        unsigned least = HIGHEST;

        s->told[page] = c->uses[page];
        s->used[page] = false;
        for (unsigned row = 0; row < ROWS; row++)
                least = MIN(least, *counter(s, c, page, row));
        if (uses == 0)
                return least;

        least = MIN(least + uses, (unsigned) HIGHEST);
        for (unsigned row = 0; row < ROWS; row++)
                *counter(s, c, page, row) = MAX(*counter(s, c, page, row), least);
        s->n_told += uses;
        if (s->n_told >= SAMPLE * c->n_cached)
                halve(s);
        return least;
}

/* Has no more than so many pages protected: those that were used go round, others back on probation. */
static void demote(State *s, const Cache *c, uint32_t most) {
        uint32_t n = s->protected->len;

        for (uint32_t i = 0; i < MIN(n, (uint32_t) MOST_MOVES) && s->protected->len > most; i++) {
                uint32_t page = row_shift(s->protected);
                bool stays = s->used[page];

                tell(s, c, page);
                row_add(stays ? s->protected : s->probation, page);
        }
}

/* The next of so many on probation that was not used since its turn; those before it, which were, are
 * protected. */
static bool take_victim(State *s, const Cache *c, uint32_t *n_left, uint32_t *ret) {
        while (*n_left > 0) {
                uint32_t page = row_shift(s->probation);

                (*n_left)--;
                *ret = page;
                if (!s->used[page])
                        return true;
                tell(s, c, page);
                row_add(s->protected, page);
        }
        return false;
}

/* Candidates against victims, until the window has room for what comes next; then victims go without
 * that. */
static uint32_t compete(State *s, const Cache *c, uint32_t most_window, uint32_t wanted, uint32_t *victims) {
        uint32_t n_left = s->probation->len, victim, n = 0;
        bool has_victim = false;

        while (n < wanted && s->window->len > 0 && s->window->len + wanted > most_window) {
                uint32_t candidate = row_shift(s->window);
                unsigned uses;

                has_victim = has_victim || take_victim(s, c, &n_left, &victim);
                uses = tell(s, c, candidate);
                if (has_victim && uses > tell(s, c, victim) + option(c, "margin", 1)) {
                        row_add(s->probation, candidate);
                        victims[n++] = victim;
                        has_victim = false;
                } else
                        victims[n++] = candidate;
        }

        while (n < wanted && (has_victim || take_victim(s, c, &n_left, &victim))) {
                victims[n++] = victim;
                has_victim = false;
        }
        /* that has had its turn */
        if (has_victim)
                row_add(s->probation, victim);
        return n;
}

static uint32_t evict(void *state, const Cache *c, uint32_t wanted, uint32_t *victims) {
        State *s = state;
        uint32_t most_window = MAX(c->n_cached * option(c, "window_percent", 3) / 100, wanted), n;
        uint32_t most_main = c->n_cached - MIN(most_window, c->n_cached);

        demote(s, c, most_main * option(c, "protected_percent", 80) / 100);

        for (uint32_t i = 0; i < MOST_MOVES && s->probation->len + s->protected->len < most_main; i++) {
                uint32_t page = row_shift(s->window);

                tell(s, c, page);
                row_add(s->probation, page);
        }

        n = compete(s, c, most_window, wanted, victims);
        if (n > 0)
                return n;
        while (n < wanted && s->protected->len > 0)
                victims[n++] = row_shift(s->protected);
        return n;
}

static void removed(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        if (!row_take(s->window, page) && !row_take(s->probation, page))
                row_take(s->protected, page);
}

const Model model_wtinylfu = {
        .policy = "wtinylfu",
        .bytes_per_page = 6,
        .begin = begin,
        .end = end,
        .added = added,
        .used = used,
        .evict = evict,
        .removed = removed,
};
