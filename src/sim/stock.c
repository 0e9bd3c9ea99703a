/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>

#include "host-state.h"
#include "stock.h"

/* cachebpf_folio.lru */
enum {
        LRU_REFERENCED = 1 << 0,
        LRU_ACTIVE     = 1 << 1,
};

/* Folios that go from the active to the inactive list at a time: SWAP_CLUSTER_MAX. */
#define DEACTIVATE_BATCH 32

/* The kernel keeps nodes of shadow entries for an eighth of the cgroup's pages, with 64 entries each:
 * count_shadow_nodes(). */
#define SHADOWS_PER_PAGE 8

typedef struct Links {
        uint32_t prev, next; /* page frame numbers */
        uint64_t evicted_at; /* nonresident age plus 1; 0: never was, or forgotten */
} Links;

typedef struct Lru {
        uint32_t head, tail;
        uint32_t n;
} Lru;

static struct {
        Links *links; /* by page frame number */
        Lru inactive, active;
        uint64_t age; /* mm/workingset.c: nonresident_age */
        uint32_t capacity;
        uint32_t scale;
} stock;

int stock_start(const Trace *trace, uint32_t capacity, uint32_t scale) {
        stock.links = calloc((size_t) trace->n_objects + 1, sizeof(*stock.links));
        if (!stock.links)
                return -ENOMEM;

        stock.capacity = capacity;
        stock.scale = scale;
        return 0;
}

void stock_stop(void) {
        free(stock.links);
        memset(&stock, 0, sizeof(stock));
}

static Lru *lru_of(const struct cachebpf_folio *f) {
        return f->lru & LRU_ACTIVE ? &stock.active : &stock.inactive;
}

static void lru_add(struct cachebpf_folio *f) {
        uint32_t pfn = pfn_of(f);
        Links *x = stock.links + pfn;
        Lru *l = lru_of(f);

        x->prev = 0;
        x->next = l->head;
        if (l->head)
                stock.links[l->head].prev = pfn;
        else
                l->tail = pfn;
        l->head = pfn;
        l->n++;
}

static void lru_del(struct cachebpf_folio *f) {
        Links *x = stock.links + pfn_of(f);
        Lru *l = lru_of(f);

        if (x->prev)
                stock.links[x->prev].next = x->next;
        else
                l->head = x->next;
        if (x->next)
                stock.links[x->next].prev = x->prev;
        else
                l->tail = x->prev;
        l->n--;
}

Refault stock_add(struct cachebpf_folio *f) {
        Links *x = stock.links + pfn_of(f);
        Refault refault = REFAULT_NONE;

        f->lru = 0;
        if (x->evicted_at > 0) {
                uint64_t distance = stock.age - (x->evicted_at - 1);

                if (distance <= stock.active.n) {
                        refault = REFAULT_WORKINGSET;
                        f->lru = LRU_ACTIVE;
                        stock.age++;
                } else if (distance <= (uint64_t) stock.capacity * SHADOWS_PER_PAGE)
                        refault = REFAULT_OLD;
                x->evicted_at = 0;
        }
        lru_add(f);
        return refault;
}

void stock_use(struct cachebpf_folio *f) {
        if (!(f->lru & LRU_REFERENCED)) {
                f->lru |= LRU_REFERENCED;
                return;
        }
        if (f->lru & LRU_ACTIVE)
                return;

        lru_del(f);
        f->lru = LRU_ACTIVE;
        lru_add(f);
        stock.age++;
}

void stock_remove(struct cachebpf_folio *f, bool reclaimed) {
        lru_del(f);
        if (reclaimed)
                stock.links[pfn_of(f)].evicted_at = ++stock.age;
}

void stock_forget(const struct cachebpf_folio *f) {
        stock.links[pfn_of(f)].evicted_at = 0;
}

/* inactive_is_low(): below 1 GB both lists are to have the same length, above the active one may be longer
 * by the root of ten times the gigabytes. */
static bool inactive_is_low(void) {
        uint64_t gb = ((uint64_t) stock.active.n + stock.inactive.n) * stock.scale >> 18;
        uint64_t ratio = 1;

        while (gb > 0 && (ratio + 1) * (ratio + 1) <= 10 * gb)
                ratio++;
        return stock.inactive.n * ratio < stock.active.n;
}

struct cachebpf_folio *stock_victim(void) {
        if (inactive_is_low())
                for (unsigned i = 0; i < DEACTIVATE_BATCH && stock.active.n > 0; i++) {
                        struct cachebpf_folio *f = host.folios + stock.active.tail;

                        lru_del(f);
                        f->lru &= ~LRU_ACTIVE;
                        lru_add(f);
                }

        return stock.inactive.tail ? host.folios + stock.inactive.tail : NULL;
}
