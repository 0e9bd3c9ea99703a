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

/* f is on a list that it was not put on by moving it. */
static void stamp(struct cachebpf_folio *f) {
        if (host.lists[f->list].flags & CACHEBPF_LIST_STAMPED)
                f->data[1] = ++host.clock;
}

void host_enlist(struct cachebpf_folio *f, uint16_t list, bool tail) {
        assert(f->list == NO_LIST);

        list_link(host.lists + list, f, tail);
        f->list = list;
}

void host_enlist_new(struct cachebpf_folio *f, uint16_t list, bool tail) {
        host_enlist(f, list, tail);
        stamp(f);
}

void host_delist(struct cachebpf_folio *f) {
        list_unlink(host.lists + f->list, f);
        f->list = NO_LIST;
}

void host_use(struct cachebpf_folio *f) {
        List *l;
        bool tail;

        if (f->list == NO_LIST)
                return;
        l = host.lists + f->list;
        if (!(l->flags & LIST_USED))
                return;
        tail = l->flags & CACHEBPF_LIST_USED_TAIL;

        if (l->flags & CACHEBPF_LIST_USED_ELSEWHERE) {
                host_delist(f);
                host_enlist(f, l->flags >> 16, tail);
        } else
                list_move_to_end(l, f, tail);
        stamp(f);
}

/* ---- kfuncs */

static bool are_list_flags(uint32_t flags) {
        const uint32_t known = LIST_NEW | LIST_USED | CACHEBPF_LIST_STAMPED | CACHEBPF_LIST_USED_ELSEWHERE;
        uint32_t elsewhere = flags >> 16;

        flags &= UINT16_MAX;
        if ((flags & ~known) || (flags & LIST_NEW) == LIST_NEW || (flags & LIST_USED) == LIST_USED)
                return false;
        return flags & CACHEBPF_LIST_USED_ELSEWHERE ?
                       flags & LIST_USED && elsewhere > 0 && elsewhere < host.n_lists : elsewhere == 0;
}

int bpf_cachebpf_list_create(struct cachebpf_policy *policy, __u32 flags) {
        host_check_callback(1 << CALLBACK_INIT, __func__);

        if (!are_list_flags(flags))
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
        stamp(folio);
        return 0;
}

int bpf_cachebpf_list_move(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 list,
                           bool tail) {
        uint16_t from;

        if (list >= host.n_lists)
                return -ENOENT;
        if (!folio->cached)
                return -ESTALE;

        if (folio->list == list) {
                list_move_to_end(host.lists + list, folio, tail);
                return 0;
        }

        from = folio->list;
        /* still in folio_added(): there is nothing to take it from */
        if (from != NO_LIST)
                host_delist(folio);
        host_enlist(folio, list, tail);
        if (from == NO_LIST || from == UNLISTED)
                stamp(folio);
        return 0;
}

static bool is_after(uint32_t pfn, const struct cachebpf_folio *f) {
        return pfn && (int64_t) host.folios[pfn].data[0] > (int64_t) f->data[0];
}

/* Moves the gap between two folios of a list, or none at an end, to where f belongs, over at most n. */
static bool approach(uint32_t gap[static 2], const struct cachebpf_folio *f, uint32_t n) {
        for (;; n--) {
                bool back = is_after(gap[0], f);

                if (!back && (!gap[1] || is_after(gap[1], f)))
                        return true;
                if (n == 0)
                        return false;
                if (back) {
                        gap[1] = gap[0];
                        gap[0] = host.folios[gap[1]].prev;
                } else {
                        gap[0] = gap[1];
                        gap[1] = host.folios[gap[0]].next;
                }
        }
}

/* Half of n at the tail, or before the one that was sorted in last, if that is nearer; then from the head,
 * or behind that one. */
static void find_gap(uint32_t list, const struct cachebpf_folio *f, uint32_t n, uint32_t gap[static 2]) {
        const List *l = host.lists + list;
        const struct cachebpf_folio *last = host.folios + l->sorted;
        bool sorted = l->sorted && last->cached && last->list == list;
        bool before = sorted && n > 1 && is_after(l->sorted, f);

        /* mostly it belongs at the tail */
        if (!is_after(l->tail, f)) {
                gap[0] = l->tail;
                gap[1] = 0;
                return;
        }
        gap[0] = before ? last->prev : l->tail;
        gap[1] = before ? l->sorted : 0;
        if (approach(gap, f, n / 2 - before))
                return;
        if (is_after(l->head, f)) {
                gap[0] = 0;
                gap[1] = l->head;
        } else if (sorted && gap[0] && !is_after(l->sorted, host.folios + gap[0])) {
                gap[0] = l->sorted;
                gap[1] = last->next;
        }
        (void) approach(gap, f, n - n / 2);
}

int bpf_cachebpf_list_insert(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 list,
                             __u32 nr_max) {
        uint32_t gap[2];
        uint16_t from;

        if (list >= host.n_lists)
                return -ENOENT;
        if (!folio->cached)
                return -ESTALE;

        from = folio->list;
        if (from != NO_LIST)
                host_delist(folio);
        find_gap(list, folio, MIN(nr_max, (uint32_t) SEARCH_MAX), gap);

        host.lists[list].sorted = pfn_of(folio);
        if (gap[0] && gap[1]) {
                folio->prev = gap[0];
                folio->next = gap[1];
                host.folios[gap[0]].next = host.folios[gap[1]].prev = pfn_of(folio);
                host.lists[list].n_folios++;
                folio->list = list;
        } else
                host_enlist(folio, list, gap[0]);
        if (from == NO_LIST || from == UNLISTED)
                stamp(folio);
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

int bpf_cachebpf_file(struct cachebpf_folio *folio, struct cachebpf_file *file) {
        uint64_t id = host.trace->ids[pfn_of(folio) - 1];

        host_check_callback(1 << CALLBACK_ADDED | 1 << CALLBACK_ACCESSED | 1 << CALLBACK_REMOVED |
                            1 << CALLBACK_ADVISE, __func__);

        *file = (struct cachebpf_file) { .ino = 1, .index = id, .dev = 1 };
        if (host.trace->has_files) {
                file->ino = host_file_ino(id >> TRACE_PAGE_BITS);
                file->index = id & ((UINT64_C(1) << TRACE_PAGE_BITS) - 1);
        }
        return 0;
}

__u64 bpf_cachebpf_owner(struct cachebpf_policy *policy, struct cachebpf_folio *folio) {
        return host_manager_id(folio->manager);
}

__u32 bpf_cachebpf_number(struct cachebpf_folio *folio) {
        return pfn_of(folio);
}

int bpf_iter_cachebpf_folio_new(struct bpf_iter_cachebpf_folio *it, struct cachebpf_policy *policy,
                                __u32 number) {
        struct cachebpf_folio *f = host.folios + number;

        host_check_callback(~(1U << CALLBACK_INIT | 1U << CALLBACK_EXIT), __func__);

        it->__opaque[0] = number > 0 && number <= host.n_objects && f->cached && f->list != NO_LIST ?
                                  (uintptr_t) f : 0;
        return 0;
}

struct cachebpf_folio *bpf_iter_cachebpf_folio_next(struct bpf_iter_cachebpf_folio *it) {
        struct cachebpf_folio *f = (struct cachebpf_folio *) (uintptr_t) it->__opaque[0];

        it->__opaque[0] = 0;
        return f;
}

void bpf_iter_cachebpf_folio_destroy(struct bpf_iter_cachebpf_folio *it) {
}

/* ---- advice is about files of which nothing is cached yet */

int bpf_iter_cachebpf_advice_new(struct bpf_iter_cachebpf_advice *it, struct cachebpf_advice *advice) {
        return 0;
}

struct cachebpf_folio *bpf_iter_cachebpf_advice_next(struct bpf_iter_cachebpf_advice *it) {
        return NULL;
}

void bpf_iter_cachebpf_advice_destroy(struct bpf_iter_cachebpf_advice *it) {
}

/* Here all folios are shown to the policy, which moves them one by one. */
int bpf_cachebpf_advice_move(struct cachebpf_advice *advice, __u32 from, __u32 to, __u64 data) {
        return from > 0 && from < host.n_lists && to < host.n_lists ? 0 : -ENOENT;
}

int bpf_cachebpf_advice_insert(struct cachebpf_advice *advice, __u32 from, __u32 to) {
        return bpf_cachebpf_advice_move(advice, from, to, 0);
}
