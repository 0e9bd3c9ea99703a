/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* LHD: Beckmann, Chen, Cidon, "LHD: improving cache hit rate by maximizing hit density", NSDI 2018, as
 * this project says that it does it. An event counts 256, and all numbers are whole ones. Of pages with
 * the same density the policy may evict any, and then this model does as it did. */

#include <string.h>

#include "reference.h"

#define CLASSES 16
#define AGES 256
#define EVENT 256
#define PER_UNIT (1 << 20) /* one hit a unit of age */
#define NEVER (1 << 30)
#define PERIOD 8           /* accesses for each cached page, after which all is computed anew */

typedef struct Page {
        uint32_t last;    /* use: the time */
        uint32_t ages[2]; /* at the last hit and the one before */
        bool is_new;      /* no hit yet */
} Page;

typedef struct State {
        GArray *row;
        Page *pages;
        uint32_t now; /* accesses */
        /* of the cache: when pages were wanted last, and usually; 0 before that, when nothing counts */
        uint32_t size, usual_size;
        uint32_t unit, next;
        uint64_t hits[CLASSES][AGES], evictions[CLASSES][AGES], density[CLASSES][AGES];
} State;

static void *begin(const Cache *c) {
        State *s = g_new0(State, 1);

        s->row = row_new();
        s->pages = g_new0(Page, c->n_pages);
        for (unsigned class = 0; class < CLASSES; class++)
                for (unsigned age = 0; age < AGES; age++)
                        s->density[class][age] = (class + 1) * PER_UNIT / (age + 1);
        s->unit = 1;
        return s;
}

static void end(void *state) {
        State *s = state;

        g_array_unref(s->row);
        g_free(s->pages);
        g_free(s);
}

static unsigned age_of(State *s, uint32_t page) {
        return MIN((s->now - s->pages[page].last) / s->unit, AGES - 1U);
}

/* 0: the last two ages are together more than can be told apart; one more for each half of that. */
static unsigned class_of(State *s, uint32_t page) {
        uint64_t ages = (uint64_t) s->pages[page].ages[0] + s->pages[page].ages[1];
        unsigned class = 0;

        for (uint64_t limit = AGES * s->unit; class < CLASSES - 1 && ages << class < limit;)
                class++;
        return class;
}

static void added(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        s->pages[page] = (Page) { .last = s->now++, .ages = { 0, NEVER }, .is_new = true };
        row_add(s->row, page);
}

static void used(void *state, const Cache *c, uint32_t page) {
        State *s = state;
        Page *p = s->pages + page;

        if (s->usual_size > 0)
                s->hits[class_of(s, page)][age_of(s, page)] += EVENT;
        p->ages[1] = p->is_new ? 0 : p->ages[0];
        p->ages[0] = s->now - p->last;
        p->last = s->now++;
        p->is_new = false;
}

/* In units twice as great or half, what was counted for two ages is for one now, or the other way round. */
static void rescale(uint64_t *counts, bool greater) {
        uint64_t old[AGES];

        memcpy(old, counts, sizeof(old));
        for (unsigned age = 0; age < AGES; age++)
                if (!greater)
                        counts[age] = old[age / 2] / 2;
                else
                        counts[age] = age < AGES / 2 ? old[2 * age] + old[2 * age + 1] : 0;
}

/* Ages are told apart up to 16 times the size of the cache, or a bit more. */
static void fit_unit(State *s) {
        bool greater, smaller;

        s->usual_size = (s->usual_size + s->size) / 2;
        greater = s->unit * AGES < s->usual_size * 16;
        smaller = s->unit > 1 && s->unit * AGES > s->usual_size * 64;
        if (!greater && !smaller)
                return;
        s->unit = greater ? s->unit * 2 : s->unit / 2;
        for (unsigned class = 0; class < CLASSES; class++) {
                rescale(s->hits[class], greater);
                rescale(s->evictions[class], greater);
        }
}

/* Of those that come to an age: the share that is hit later, by the time for which they stay. */
static void compute(State *s) {
        for (unsigned class = 0; class < CLASSES; class++) {
                uint64_t hits = 0, events = 0, stay = 0;

                for (int age = AGES - 1; age >= 0; age--) {
                        s->hits[class][age] -= s->hits[class][age] / 10;
                        s->evictions[class][age] -= s->evictions[class][age] / 10;
                        hits += s->hits[class][age];
                        events += s->hits[class][age] + s->evictions[class][age];
                        stay += events;
                        s->density[class][age] = stay > 0 && age < AGES - 1 ? hits * PER_UNIT / stay : 0;
                }
        }
}

/* One of so many new pages explores: it stays until it is hit or as old as can be. */
static bool explores(State *s, const Cache *c, uint32_t page) {
        return s->pages[page].is_new && age_of(s, page) < AGES - 1 &&
               s->pages[page].last % option(c, "explore", 400) == 0;
}

static uint64_t worth(State *s, const Cache *c, uint32_t page) {
        return explores(s, c, page) ? UINT64_MAX - 1 : s->density[class_of(s, page)][age_of(s, page)];
}

/* Takes the page worth least out of those looked at; if there are several the one that the policy took,
 * too. */
static uint32_t take_least(State *s, const Cache *c, GArray *looked, uint32_t hint) {
        uint64_t least = UINT64_MAX;
        uint32_t victim = hint;

        for (uint32_t i = 0; i < looked->len; i++) {
                uint32_t page = row_at(looked, i);
                uint64_t w = worth(s, c, page);

                if (w < least || (w == least && page == hint)) {
                        least = w;
                        victim = page;
                }
        }
        row_take(looked, victim);
        return victim;
}

static uint32_t evict(void *state, const Cache *c, uint32_t wanted, uint32_t *victims) {
        State *s = state;
        g_autoptr(GArray) looked = row_new(), first = NULL;
        uint32_t n_scan = option(c, "nr_scan", 128), n_recent = option(c, "nr_recent", 16);
        uint32_t len = s->row->len, period = option(c, "reconfigure_every", 0) ?: PERIOD * len, n;

        s->size = len;
        if (s->usual_size == 0) {
                /* the first time comes sooner: after an eighth of the period, if there were seven before */
                s->next = MAX(s->now + period - period / 8 * 7, period);
                s->usual_size = len;
                while (s->unit * AGES < len * 16)
                        s->unit *= 2;
        }

        for (uint32_t i = 0; len > n_scan + n_recent && i < n_recent; i++)
                row_add(looked, row_at(s->row, len - 1 - i));
        first = row_cut(s->row, n_scan);
        row_append(looked, first);
        row_append(s->row, first);
        for (n = 0; n < wanted && looked->len > 0; n++)
                victims[n] = take_least(s, c, looked, n < c->n_hints ? c->hints[n] : UINT32_MAX);

        if (s->now >= s->next) {
                s->next = s->now + period;
                fit_unit(s);
                compute(s);
        }
        for (uint32_t i = 0; i < n; i++) {
                s->evictions[class_of(s, victims[i])][age_of(s, victims[i])] += EVENT;
                row_take(s->row, victims[i]);
        }
        return n;
}

static void removed(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        row_take(s->row, page);
}

const Model model_lhd = {
        .policy = "lhd",
        .begin = begin,
        .end = end,
        .added = added,
        .used = used,
        .evict = evict,
        .removed = removed,
};
