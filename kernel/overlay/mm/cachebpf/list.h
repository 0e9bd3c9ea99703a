/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Eviction lists.  An entry that is in use is on exactly one list of its
 * owner, of the NUMA node its folio lies on; the links are page frame numbers,
 * resolved through the folio table, which keeps an entry at 32 bytes.
 *
 * All of this happens under the node's lock.  It is inline because every miss
 * pays for it; @pfn is that of @f, which the caller mostly knows.
 */
#ifndef _MM_CACHEBPF_LIST_H
#define _MM_CACHEBPF_LIST_H

#include "internal.h"

void cachebpf_advance_walks(struct cachebpf_list *list, struct cachebpf_folio *f, u32 pfn);

static inline void cachebpf_set_end(struct cachebpf_end *end, u32 pfn)
{
	end->pfn = pfn;
	end->f = pfn ? cachebpf_table_entry(pfn) : NULL;
}

static __always_inline void cachebpf_insert(struct cachebpf_list *list, struct cachebpf_folio *f,
					    u32 pfn, bool tail)
{
	struct cachebpf_end *end = tail ? &list->tail : &list->head;

	if (tail) {
		f->prev = end->pfn;
		f->next = 0;
	} else {
		f->prev = 0;
		f->next = end->pfn;
	}
	if (unlikely(!end->pfn)) {
		list->head = (struct cachebpf_end) { .f = f, .pfn = pfn };
		list->tail = list->head;
		return;
	}
	if (tail)
		end->f->next = pfn;
	else
		end->f->prev = pfn;
	end->pfn = pfn;
	end->f = f;
}

static __always_inline void cachebpf_extract(struct cachebpf_list *list, struct cachebpf_folio *f,
					     u32 pfn)
{
	if (unlikely(!list_empty(&list->iters)))
		cachebpf_advance_walks(list, f, pfn);

	if (likely(f->prev))
		cachebpf_table_entry(f->prev)->next = f->next;
	else
		cachebpf_set_end(&list->head, f->next);
	if (likely(f->next))
		cachebpf_table_entry(f->next)->prev = f->prev;
	else
		cachebpf_set_end(&list->tail, f->prev);
}

/* Put @f, which is on no list, on one. */
static __always_inline void cachebpf_link(struct cachebpf_node *node, struct cachebpf_folio *f,
					  u32 pfn, u8 list_id, bool tail)
{
	struct cachebpf_list *list = node->lists[list_id];

	if (tail)
		cachebpf_insert(list, f, pfn, true);
	else
		cachebpf_insert(list, f, pfn, false);
	list->nr_folios++;
	list->nr_pages += 1UL << f->order;
	WRITE_ONCE(f->list, list_id);
}

static __always_inline void cachebpf_unlink(struct cachebpf_node *node, struct cachebpf_folio *f,
					    u32 pfn)
{
	struct cachebpf_list *list = node->lists[f->list];

	cachebpf_extract(list, f, pfn);
	list->nr_folios--;
	list->nr_pages -= 1UL << f->order;
	WRITE_ONCE(f->list, CACHEBPF_NO_LIST);
}

#endif /* _MM_CACHEBPF_LIST_H */
