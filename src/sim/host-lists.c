/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Eviction lists and what a policy does with folios, as mm/cachebpf/list.h and kfunc.c do it. */

#include <assert.h>
#include <errno.h>

#include "host-state.h"

#define LIST_NEW (CACHEBPF_LIST_NEW_HEAD | CACHEBPF_LIST_NEW_TAIL)
#define LIST_USED (CACHEBPF_LIST_USED_HEAD | CACHEBPF_LIST_USED_TAIL)

void list_link(List *l, struct cachebpf_folio *f, bool tail) {
        uint32_t pfn = pfn_of(f);

        if (tail) {
                f->prev = l->tail;
                f->next = 0;
                if (l->tail)
                        host.folios[l->tail].next = pfn;
                else
                        l->head = pfn;
                l->tail = pfn;
        } else {
                f->next = l->head;
                f->prev = 0;
                if (l->head)
                        host.folios[l->head].prev = pfn;
                else
                        l->tail = pfn;
                l->head = pfn;
        }
        l->n_folios++;
}

void list_unlink(List *l, struct cachebpf_folio *f) {
        if (l->walks)
                walks_advance(l, f);

        if (f->prev)
                host.folios[f->prev].next = f->next;
        else
                l->head = f->next;
        if (f->next)
                host.folios[f->next].prev = f->prev;
        else
                l->tail = f->prev;
        l->n_folios--;
}

void list_move_to_end(List *l, struct cachebpf_folio *f, bool tail) {
        if (pfn_of(f) == (tail ? l->tail : l->head))
                return;

        list_unlink(l, f);
        list_link(l, f, tail);
}

void host_enlist(struct cachebpf_folio *f, uint8_t list, bool tail) {
        assert(f->list == NO_LIST);

        list_link(host.lists + list, f, tail);
        f->list = list;
}

void host_delist(struct cachebpf_folio *f) {
        list_unlink(host.lists + f->list, f);
        f->list = NO_LIST;
}

/* ---- kfuncs */

int bpf_cachebpf_list_create(struct cachebpf_policy *policy, __u32 flags) {
        host_check_callback(1 << CALLBACK_INIT, __func__);

        if ((flags & ~(LIST_NEW | LIST_USED)) || (flags & LIST_NEW) == LIST_NEW ||
            (flags & LIST_USED) == LIST_USED)
                return -EINVAL;
        if ((flags & LIST_NEW) && host.new_list != UNLISTED)
                return -EEXIST;
        if (host.n_lists == MAX_LISTS)
                return -ENOSPC;

        if (flags & LIST_NEW) {
                host.new_list = host.n_lists;
                host.new_at_tail = flags & CACHEBPF_LIST_NEW_TAIL;
        }
        host.lists[host.n_lists].flags = flags;
        return host.n_lists++;
}

int bpf_cachebpf_list_add(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 list,
                          bool tail) {
        if (list >= host.n_lists)
                return -ENOENT;
        if (!folio->cached)
                return -ESTALE;

        if (folio->list == UNLISTED)
                host_delist(folio);
        if (folio->list != NO_LIST)
                return -EEXIST;

        host_enlist(folio, list, tail);
        return 0;
}

int bpf_cachebpf_list_move(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 list,
                           bool tail) {
        if (list >= host.n_lists)
                return -ENOENT;
        if (!folio->cached)
                return -ESTALE;

        if (folio->list == list) {
                list_move_to_end(host.lists + list, folio, tail);
                return 0;
        }

        /* still in folio_added(): there is nothing to take it from */
        if (folio->list != NO_LIST)
                host_delist(folio);
        host_enlist(folio, list, tail);
        return 0;
}

int bpf_cachebpf_list_del(struct cachebpf_policy *policy, struct cachebpf_folio *folio) {
        return bpf_cachebpf_list_move(policy, folio, UNLISTED, TAIL);
}

__u64 bpf_cachebpf_list_len(struct cachebpf_policy *policy, __u32 list) {
        return list < host.n_lists ? host.lists[list].n_folios : 0;
}

__u8 *bpf_cachebpf_data(struct cachebpf_folio *folio, const __u64 rdwr_buf_size) {
        return rdwr_buf_size <= CACHEBPF_DATA_SIZE ? (__u8 *) folio->data : NULL;
}

__u64 bpf_cachebpf_key(struct cachebpf_folio *folio) {
        host_check_callback(1 << CALLBACK_ADDED | 1 << CALLBACK_ACCESSED | 1 << CALLBACK_REMOVED, __func__);

        return host.keys[pfn_of(folio) - 1];
}
