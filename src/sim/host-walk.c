/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The iterator over an eviction list, as mm/cachebpf/iter.c has it: it reads a few folios ahead, so a policy
 * sees what it would see in the kernel if it moves folios while it walks. */

#include <assert.h>
#include <errno.h>

#include "host-state.h"

#define READ_AHEAD 8

struct Walk {
        Walk *next; /* on the same list */
        struct cachebpf_evict *evict;
        List *list; /* NULL: the walk could not begin */
        uint32_t cursor;
        uint32_t n_left;   /* to look at */
        uint32_t n_offers; /* to offer yet */
        uint16_t list_id;
        uint8_t flags;
        /* read ahead, of which the first n_used were offered */
        uint8_t n_used;
        uint8_t n_batch;
        struct cachebpf_folio *batch[READ_AHEAD];
};

static_assert(sizeof(struct Walk) <= sizeof(struct bpf_iter_cachebpf_list), "a walk is kept in there");
static_assert(_Alignof(struct Walk) <= _Alignof(struct bpf_iter_cachebpf_list), "a walk is kept in there");

void walks_advance(List *l, const struct cachebpf_folio *f) {
        for (Walk *w = l->walks; w; w = w->next)
                if (w->cursor == pfn_of(f))
                        w->cursor = w->flags & CACHEBPF_ITER_REVERSE ? f->prev : f->next;
}

/* What was offered goes to the other end, unless the policy has put it elsewhere. */
static void end_batch(Walk *w) {
        if (w->flags & CACHEBPF_ITER_ROTATE)
                for (unsigned i = 0; i < w->n_used; i++)
                        if (w->batch[i]->cached && w->batch[i]->list == w->list_id)
                                list_move_to_end(w->list, w->batch[i], !(w->flags & CACHEBPF_ITER_REVERSE));

        w->n_used = 0;
        w->n_batch = 0;
}

static void read_ahead(Walk *w) {
        uint32_t n_wanted = MIN(w->n_offers, (uint32_t) READ_AHEAD), n;

        end_batch(w);
        /* all walks of a request share its budget */
        w->n_left = MIN(w->n_left, w->evict->visits_left);
        n = w->n_left;
        while (w->n_batch < n_wanted && w->n_left > 0 && w->cursor) {
                struct cachebpf_folio *f = host.folios + w->cursor;

                w->cursor = w->flags & CACHEBPF_ITER_REVERSE ? f->prev : f->next;
                w->n_left--;
                if (!spare_unread(w->evict, f))
                        w->batch[w->n_batch++] = f;
        }
        w->evict->visits_left -= n - w->n_left;
}

int bpf_iter_cachebpf_list_new(struct bpf_iter_cachebpf_list *it, struct cachebpf_evict *evict, __u32 list,
                               __u32 nr_max, __u32 flags) {
        Walk *w = (Walk *) it;

        w->list = NULL;
        if (flags & ~(__u32) (CACHEBPF_ITER_REVERSE | CACHEBPF_ITER_ROTATE))
                return -EINVAL;
        if (list >= host.n_lists)
                return -ENOENT;

        *w = (Walk) {
                .evict = evict,
                .list = host.lists + list,
                .list_id = list,
                .flags = flags,
        };
        w->cursor = flags & CACHEBPF_ITER_REVERSE ? w->list->tail : w->list->head;
        w->n_left = w->list->n_folios;
        w->n_offers = nr_max > 0 ? nr_max : w->n_left;
        w->next = w->list->walks;
        w->list->walks = w;
        return 0;
}

int bpf_cachebpf_first(struct cachebpf_evict *evict, __u32 list, __u32 flags, struct cachebpf_seen *seen) {
        struct cachebpf_folio *f;
        uint32_t pfn;

        if (flags & ~(__u32) CACHEBPF_ITER_REVERSE)
                return -EINVAL;
        if (list >= host.n_lists)
                return -ENOENT;

        pfn = flags ? host.lists[list].tail : host.lists[list].head;
        for (;; pfn = flags ? f->prev : f->next) {
                if (pfn == 0 || evict->visits_left == 0)
                        return -ENOENT;
                evict->visits_left--;
                f = host.folios + pfn;
                if (!spare_unread(evict, f))
                        break;
        }
        *seen = (struct cachebpf_seen) {
                .number = pfn,
                .order = f->order,
                .data = { f->data[0], f->data[1] },
        };
        return 0;
}

struct cachebpf_folio *bpf_iter_cachebpf_list_next(struct bpf_iter_cachebpf_list *it) {
        Walk *w = (Walk *) it;

        if (!w->list || w->n_offers == 0)
                return NULL;

        if (w->n_used == w->n_batch)
                read_ahead(w);
        if (w->n_used == w->n_batch)
                return NULL;

        w->n_offers--;
        return w->batch[w->n_used++];
}

void bpf_iter_cachebpf_list_destroy(struct bpf_iter_cachebpf_list *it) {
        Walk *w = (Walk *) it, **p;

        if (!w->list)
                return;

        end_batch(w);
        for (p = &w->list->walks; *p != w;)
                p = &(*p)->next;
        *p = w->next;
}
