/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* lfu and get-scan: of those next in line, the least often used. */

#include "reference.h"

typedef struct State {
        GArray *row;   /* of all pages, or of those that are looked up */
        GArray *scans; /* of those that scans brought */
        /* with ageing: what a page's uses are worth, two for each, and how many uses are in there; 0 before
         * it is looked at for the first time */
        uint64_t *worth;
        uint32_t *known;
        uint64_t now, next_age; /* accesses */
} State;

static void *begin(const Cache *c) {
        State *s = g_new0(State, 1);

        s->row = row_new();
        s->scans = row_new();
        s->worth = g_new0(uint64_t, c->n_pages);
        s->known = g_new0(uint32_t, c->n_pages);
        return s;
}

static void end(void *state) {
        State *s = state;

        g_array_unref(s->row);
        g_array_unref(s->scans);
        g_free(s->worth);
        g_free(s->known);
        g_free(s);
}

/* Takes those worth least out of the first n_looked, of equals those in front; the others go to the end. */
static uint32_t take_least(GArray *row, const Cache *c, const uint64_t *worth, uint32_t n_looked,
                           uint32_t wanted, uint32_t *victims) {
        g_autoptr(GArray) looked = row_cut(row, n_looked);
        uint32_t n = 0;

        while (n < wanted && looked->len > 0) {
                uint32_t best = 0;
                uint64_t least = UINT64_MAX;

                for (uint32_t i = 0; i < looked->len; i++) {
                        uint32_t page = row_at(looked, i);
                        /* one that was not read yet counts as read */
                        uint64_t w = worth ? worth[page] : MAX(c->uses[page], 1U);

                        if (w < least) {
                                least = w;
                                best = page;
                        }
                }
                row_take(looked, best);
                victims[n++] = best;
        }
        row_append(row, looked);
        return n;
}

/* ---- lfu */

static void lfu_added(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        row_add(s->row, page);
        s->known[page] = 0;
        s->worth[page] = 0;
}

static void removed(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        if (!row_take(s->row, page))
                row_take(s->scans, page);
        s->known[page] = 0;
        s->worth[page] = 0;
}

/* Takes note of a page's uses. */
static void look_at(State *s, const Cache *c, uint32_t page) {
        uint32_t uses = MAX(c->uses[page], 1U);

        if (s->known[page] == 0) {
                s->known[page] = 1;
                s->worth[page] = 2;
        }
        s->worth[page] += 2 * (uses - s->known[page]);
        s->now += uses - s->known[page];
        s->known[page] = uses;
}

static uint32_t lfu_evict(void *state, const Cache *c, uint32_t wanted, uint32_t *victims) {
        State *s = state;
        uint32_t ageing = option(c, "ageing", 0), n;
        uint32_t n_looked = option(c, "nr_scan", 512) * wanted / option(c, "nr_evict", 32);

        if (ageing == 0)
                return take_least(s->row, c, NULL, n_looked, wanted, victims);

        s->now += wanted;
        if (s->now >= s->next_age) {
                for (uint32_t page = 0; page < c->n_pages; page++)
                        s->worth[page] /= 2;
                s->next_age = s->now + ageing * c->n_cached;
        }
        for (uint32_t i = 0; i < MIN(n_looked, s->row->len); i++)
                look_at(s, c, row_at(s->row, i));
        n = take_least(s->row, c, s->worth, n_looked, wanted, victims);
        for (uint32_t i = 0; i < n; i++)
                s->known[victims[i]] = s->worth[victims[i]] = 0;
        return n;
}

const Model model_lfu = {
        .policy = "lfu",
        .begin = begin,
        .end = end,
        .added = lfu_added,
        .evict = lfu_evict,
        .removed = removed,
};

/* ---- get-scan */

static bool is_scan(const Cache *c) {
        return c->class == TRACE_CLASS_SCAN;
}

static void get_scan_added(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        row_add(is_scan(c) ? s->scans : s->row, page);
}

static void get_scan_used(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        if (!is_scan(c) && row_take(s->scans, page))
                row_add(s->row, page);
}

/* From the scans if these have more than they may keep, and what is missing then from the others. */
static uint32_t get_scan_evict(void *state, const Cache *c, uint32_t wanted, uint32_t *victims) {
        State *s = state;
        uint32_t share = s->row->len / option(c, "scan_share", 64);
        bool scans_first = s->scans->len > MAX(share, option(c, "scan_pages", 256));
        uint32_t n_looked = option(c, "nr_scan", 512), n;

        n = take_least(scans_first ? s->scans : s->row, c, NULL, n_looked, wanted, victims);
        if (n < wanted)
                n += take_least(scans_first ? s->row : s->scans, c, NULL, n_looked, wanted - n, victims + n);
        return n;
}

const Model model_get_scan = {
        .policy = "get-scan",
        .begin = begin,
        .end = end,
        .added = get_scan_added,
        .used = get_scan_used,
        .evict = get_scan_evict,
        .removed = removed,
};
