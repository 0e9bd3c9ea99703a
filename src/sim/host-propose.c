/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How a policy proposes folios, as mm/cachebpf/propose.c has it. */

#include <errno.h>
#include <stdint.h>

#include "host-state.h"

static bool would_win(const struct cachebpf_evict *evict, int64_t score) {
        return evict->nr_proposed < evict->nr_wanted ||
               score < evict->candidates[evict->nr_folios - 1].score;
}

/* Keeps the candidates sorted, and no more of them than the request is for. */
static void insert_candidate(struct cachebpf_evict *evict, struct cachebpf_folio *f, int64_t score) {
        struct cachebpf_candidate *c = evict->candidates;
        uint32_t i;

        for (i = evict->nr_folios++; i > 0 && c[i - 1].score > score; i--)
                c[i] = c[i - 1];
        c[i].score = score;
        c[i].folio = f;

        if (evict->nr_folios > evict->nr_wanted)
                evict->nr_folios = evict->nr_wanted;
        evict->nr_proposed = evict->nr_folios;
}

int bpf_cachebpf_evict(struct cachebpf_evict *evict, struct cachebpf_folio *folio) {
        if (evict->nr_proposed >= evict->nr_wanted)
                return -ENOSPC;

        evict->candidates[evict->nr_folios++] = (struct cachebpf_candidate) {
                .folio = folio,
                .score = INT64_MIN,
        };
        evict->nr_proposed = evict->nr_folios;
        return evict->nr_proposed < evict->nr_wanted ? 0 : -ENOSPC;
}

void bpf_cachebpf_rank(struct cachebpf_evict *evict, struct cachebpf_folio *folio, __s64 score) {
        if (would_win(evict, score))
                insert_candidate(evict, folio, score);
}

/* Moves the folios from the head of a list up to last, which others follow, to its tail. */
static void move_run(List *l, struct cachebpf_folio *last) {
        uint32_t rest = last->next;

        host.folios[l->tail].next = l->head;
        host.folios[l->head].prev = l->tail;
        l->tail = pfn_of(last);
        l->head = rest;
        host.folios[rest].prev = 0;
        last->next = 0;
}

int bpf_cachebpf_rank_list(struct cachebpf_evict *evict, __u32 list, __u32 nr_scan, __u32 key) {
        struct cachebpf_folio *f = NULL;
        uint32_t n, i, pfn;
        List *l;

        if (list >= host.n_lists)
                return -ENOENT;
        if (key > CACHEBPF_BY_DATA)
                return -EINVAL;
        l = host.lists + list;

        n = MIN(MIN(l->n_folios, evict->visits_left), nr_scan);
        for (i = 0, pfn = l->head; i < n; i++, pfn = f->next) {
                int64_t score;

                f = host.folios + pfn;
                /* unread or read once: it was used once */
                score = key == CACHEBPF_BY_ACCESSES ? MAX(f->accesses, 1) : (int64_t) f->data[0];
                if (would_win(evict, score) && !spare_unread(evict, f))
                        insert_candidate(evict, f, score);
        }
        evict->visits_left -= i;
        if (f && f->next)
                move_run(l, f);
        return 0;
}
