/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* S3-FIFO as in algorithm 1 of its paper: Yang et al., "FIFO queues are all you need for cache eviction",
 * SOSP 2023. Uses are counted up to three, and anew in the main queue. With other options it is S4-FIFO (Xia
 * et al., OSDI 2026) or Clock2Q+ (Zhai et al., VLDB 2026): new pages are in a window first, whose uses are
 * forgotten as they leave; and a page may have to come back twice. */

#include "reference.h"

#define MOST_AT_ONCE 64 /* pages that leave the window, and that leave it in time */

typedef struct State {
        GArray *window, *small, *main;
        Ghosts *ghosts;
        uint8_t *freq; /* of a page: uses but the first, at most 3 */
        uint8_t *returns; /* of a page: how often it came back when it was remembered, without staying */
} State;

static void *begin(const Cache *c) {
        State *s = g_new0(State, 1);

        s->window = row_new();
        s->small = row_new();
        s->main = row_new();
        s->ghosts = ghosts_new();
        s->freq = g_new0(uint8_t, c->n_pages);
        s->returns = g_new0(uint8_t, c->n_pages);
        return s;
}

static void end(void *state) {
        State *s = state;

        g_array_unref(s->window);
        g_array_unref(s->small);
        g_array_unref(s->main);
        ghosts_free(s->ghosts);
        g_free(s->freq);
        g_free(s->returns);
        g_free(s);
}

static void added(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        s->freq[page] = 0;
        s->returns[page] = ghosts_take(s->ghosts, page) ? s->returns[page] + 1 : 0;
        if (s->returns[page] >= option(c, "ghost_hits_for_main", 1)) {
                s->returns[page] = 0;
                row_add(s->main, page);
        } else
                row_add(option(c, "skip_percent", 0) > 0 ? s->window : s->small, page);
}

static void used(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        s->freq[page] = MIN(s->freq[page] + 1, 3);
}

/* The window has room for one more then. Pages that should have left it long ago keep their uses. */
static void shorten_window(State *s, uint32_t target) {
        for (unsigned i = 0; i < MOST_AT_ONCE && s->window->len > 0 && s->window->len >= target; i++) {
                if (s->window->len < target + MOST_AT_ONCE)
                        s->freq[row_at(s->window, 0)] = 0;
                row_add(s->small, row_shift(s->window));
        }
}

static uint32_t n_new(const State *s) {
        return s->small->len + s->window->len;
}

/* Looks at one page of the small queue, or of the window if that is all there is; returns whether it is to
 * go. */
static bool look_at_small(State *s, const Cache *c, uint32_t *ret) {
        uint32_t page = row_shift(s->small->len > 0 ? s->small : s->window);

        *ret = page;
        if (s->freq[page] < option(c, "uses_for_main", 2))
                return true;
        s->freq[page] = 0;
        row_add(s->main, page);
        return false;
}

static bool look_at_main(State *s, uint32_t *ret) {
        uint32_t page = row_shift(s->main);

        *ret = page;
        if (s->freq[page] == 0)
                return true;
        s->freq[page]--;
        row_add(s->main, page);
        return false;
}

/* What goes one after the other is remembered if it was in the small queue; but not what was read ahead
 * and never read, as nobody misses that. */
static void remember(State *s, const Cache *c, uint32_t n_cached, uint32_t page) {
        if (c->uses[page] > 0 && option(c, "ghost_percent", 90) > 0)
                ghosts_make(s->ghosts, page, n_cached);
}

/* From the small queue while it is not too small, then from the main queue; a request for more than one
 * ends when a round over that has brought it any. */
static uint32_t evict(void *state, const Cache *c, uint32_t wanted, uint32_t *victims) {
        State *s = state;
        uint32_t n_small = c->n_cached * option(c, "small_percent", 10) / 100, n = 0, n_of_small;
        uint32_t n_ghosts = c->n_cached * option(c, "ghost_percent", 90) / 100;

        /* with room for those of what goes now */
        ghosts_limit(s->ghosts, n_ghosts - MIN(n_ghosts, wanted));
        if (option(c, "skip_percent", 0) > 0)
                shorten_window(s, n_small * option(c, "skip_percent", 0) / 100);
        while (n < wanted && n_new(s) > 0 && n_new(s) >= n_small)
                n += look_at_small(s, c, victims + n);
        n_of_small = n;

        do
                for (uint32_t i = s->main->len; i > 0 && n < wanted; i--)
                        n += look_at_main(s, victims + n);
        while (n == 0 && s->main->len > 0);

        for (uint32_t i = 0; i < n_of_small; i++)
                remember(s, c, c->n_cached, victims[i]);
        if (n > 0)
                return n;

        while (!look_at_small(s, c, victims))
                ;
        remember(s, c, c->n_cached, victims[0]);
        return 1;
}

static void removed(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        if (!row_take(s->small, page) && !row_take(s->window, page))
                row_take(s->main, page);
}

const Model model_s3fifo = {
        .policy = "s3fifo",
        .bytes_per_page = 5,
        .begin = begin,
        .end = end,
        .added = added,
        .used = used,
        .evict = evict,
        .removed = removed,
};
