/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel's multi-generational LRU for pages that are read and written only: mm/vmscan.c and
 * mm/workingset.c of Linux 6.12, and Documentation/mm/multigen_lru.rst. One type of memory, no page
 * tables. In the kernel the oldest generation ends as soon as it is empty, here when the next page is
 * wanted. */

#include "reference.h"

#define MIN_GENS 2
#define MAX_GENS 4
#define TIERS 4
#define MOST_REFS 4
#define FEW 64           /* refaults that say nothing yet: MIN_LRU_BATCH */
#define LAZY_UNTIL 4096  /* pages, from which on aging by proportion is left to others: 1 << DEF_PRIORITY */

typedef struct Shadow {
        uint64_t seq;
        int refs;
        bool is_there;
} Shadow;

typedef struct State {
        GPtrArray *gens; /* rows by number of the generation; the first page in a row is the oldest */
        uint64_t min_seq, max_seq;
        uint64_t *gen_of; /* page */
        int64_t *base;    /* of a page: uses that do not count */
        Shadow *shadows;  /* by page */
        /* of the tiers, in the oldest generation and averaged over those before */
        uint64_t refaulted[TIERS], evicted[TIERS], protected[TIERS], avg_refaulted[TIERS], avg_total[TIERS];
} State;

static void more_gens(State *s) {
        while (s->gens->len <= s->max_seq)
                g_ptr_array_add(s->gens, row_new());
}

static void *begin(const Cache *c) {
        State *s = g_new0(State, 1);

        s->gens = g_ptr_array_new_with_free_func((GDestroyNotify) g_array_unref);
        s->gen_of = g_new0(uint64_t, c->n_pages);
        s->base = g_new0(int64_t, c->n_pages);
        s->shadows = g_new0(Shadow, c->n_pages);
        s->max_seq = MAX_GENS - 1;
        more_gens(s);
        return s;
}

static void end(void *state) {
        State *s = state;

        g_ptr_array_unref(s->gens);
        g_free(s->gen_of);
        g_free(s->base);
        g_free(s->shadows);
        g_free(s);
}

static GArray *gen(State *s, uint64_t seq) {
        return g_ptr_array_index(s->gens, seq);
}

/* folio_lru_refs() */
static int refs_of(State *s, const Cache *c, uint32_t page) {
        return CLAMP((int64_t) c->uses[page] - s->base[page], 0, MOST_REFS);
}

/* lru_tier_from_refs(): order_base_2(refs + 1) */
static unsigned tier_of(int refs) {
        unsigned tier = 0;

        while (1 << tier < refs + 1)
                tier++;
        return tier;
}

/* lru_gen_add_folio(), and before it lru_gen_refault() */
static void added(void *state, const Cache *c, uint32_t page) {
        State *s = state;
        Shadow *shadow = s->shadows + page;

        s->gen_of[page] = s->min_seq + MIN_GENS >= s->max_seq ? s->min_seq : s->min_seq + 1;
        row_add(gen(s, s->gen_of[page]), page);
        s->base[page] = 1;
        if (!shadow->is_there)
                return;
        shadow->is_there = false;
        /* there are 8 bits for the number of a generation */
        if (shadow->seq % 256 != s->min_seq % 256)
                return;
        s->refaulted[tier_of(shadow->refs)]++;
        /* all but the use that brings it in, and the highest */
        if (shadow->refs >= MOST_REFS - 1)
                s->base[page] = -MOST_REFS;
}

/* should_run_aging() */
static bool is_time_to_age(State *s, const Cache *c) {
        uint32_t young = gen(s, s->max_seq)->len, old;

        if (s->min_seq + MIN_GENS > s->max_seq)
                return true;
        if (s->min_seq + MIN_GENS < s->max_seq || c->n_cached >= LAZY_UNTIL)
                return false;
        old = gen(s, s->min_seq)->len;
        return young * MIN_GENS > c->n_cached || old * (MIN_GENS + 2) < c->n_cached;
}

/* get_tier_idx(), read_ctrl_pos(), positive_ctrl_err(): the last tier that is not protected */
static unsigned last_tier(State *s) {
        uint64_t refaulted[TIERS], total[TIERS];
        unsigned tier;

        for (tier = 0; tier < TIERS; tier++) {
                refaulted[tier] = s->avg_refaulted[tier] + s->refaulted[tier];
                total[tier] = s->avg_total[tier] + s->evicted[tier] + s->protected[tier];
        }
        for (tier = 1; tier < TIERS; tier++)
                if (refaulted[tier] >= FEW &&
                    refaulted[tier] * (total[0] + FEW) > (refaulted[0] + 1) * total[tier] * 2)
                        break;
        return tier - 1;
}

/* inc_min_seq(), reset_ctrl_pos() */
static void end_oldest(State *s) {
        g_assert(gen(s, s->min_seq)->len == 0);
        s->min_seq++;
        for (unsigned tier = 0; tier < TIERS; tier++) {
                s->avg_refaulted[tier] = (s->avg_refaulted[tier] + s->refaulted[tier]) / 2;
                s->avg_total[tier] = (s->avg_total[tier] + s->evicted[tier] + s->protected[tier]) / 2;
                s->refaulted[tier] = s->evicted[tier] = s->protected[tier] = 0;
        }
}

/* Of the oldest generation those in no protected tier, as many as are wanted; the others become the first
 * ones of the next. sort_folio() */
static uint32_t scan(State *s, const Cache *c, uint32_t wanted, uint32_t *victims) {
        GArray *oldest = gen(s, s->min_seq);
        unsigned last = last_tier(s);
        uint32_t n = 0;

        while (n < wanted && oldest->len > 0) {
                uint32_t page = row_shift(oldest);
                int refs = refs_of(s, c, page);

                if (tier_of(refs) <= last && refs < MOST_REFS) {
                        victims[n++] = page;
                        continue;
                }
                s->protected[tier_of(refs)]++;
                s->gen_of[page]++;
                /* the next use is only the first one again */
                s->base[page] = (int64_t) c->uses[page] + 1;
                g_array_prepend_val(gen(s, s->gen_of[page]), page);
        }
        return n;
}

/* If a generation has not enough, the next one. What was chosen is gone after that: lru_gen_eviction(). */
static uint32_t evict(void *state, const Cache *c, uint32_t wanted, uint32_t *victims) {
        State *s = state;
        uint32_t n = 0;

        for (;;) {
                if (is_time_to_age(s, c)) {
                        s->max_seq++;
                        more_gens(s);
                }
                n += scan(s, c, wanted - n, victims + n);
                if (n == wanted)
                        break;
                end_oldest(s);
        }

        for (uint32_t i = 0; i < n; i++) {
                int refs = refs_of(s, c, victims[i]);

                s->evicted[tier_of(refs)]++;
                s->shadows[victims[i]] = (Shadow) { s->min_seq, refs, true };
        }
        return n;
}

static void removed(void *state, const Cache *c, uint32_t page) {
        State *s = state;

        row_take(gen(s, s->gen_of[page]), page);
}

const Model model_mglru = {
        .policy = "mglru",
        .bytes_per_page = 8,
        .begin = begin,
        .end = end,
        .added = added,
        .evict = evict,
        .removed = removed,
};
