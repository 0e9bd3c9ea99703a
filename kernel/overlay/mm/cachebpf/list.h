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

/* Is @other, if there is any, behind @f by the half @key of their data? */
static inline bool cachebpf_is_after(const struct cachebpf_folio *other,
				     const struct cachebpf_folio *f, int key)
{
	return other && (s64)other->data[key] > (s64)f->data[key];
}

/* Of @f, the neighbour in the direction of the list's tail or head. */
static __always_inline u32 *cachebpf_towards(struct cachebpf_folio *f, bool tail)
{
	return tail ? &f->next : &f->prev;
}

static __always_inline struct cachebpf_end *cachebpf_end_of(struct cachebpf_list *list, bool tail)
{
	return tail ? &list->tail : &list->head;
}

static __always_inline void cachebpf_insert(struct cachebpf_list *list, struct cachebpf_folio *f,
					    u32 pfn, bool tail)
{
	struct cachebpf_end *end = cachebpf_end_of(list, tail);

	*cachebpf_towards(f, !tail) = end->pfn;
	*cachebpf_towards(f, tail) = 0;
	if (likely(end->pfn))
		*cachebpf_towards(end->f, tail) = pfn;
	else
		*cachebpf_end_of(list, !tail) = (struct cachebpf_end) { .f = f, .pfn = pfn };
	end->pfn = pfn;
	end->f = f;
}

static __always_inline void cachebpf_extract(struct cachebpf_list *list, struct cachebpf_folio *f,
					     u32 pfn)
{
	u32 prev, next;

	if (unlikely(!hlist_empty(&list->walks)))
		cachebpf_advance_walks(list, f, pfn);

	/* the compiler does not know that no neighbour is @f */
	prev = f->prev;
	next = f->next;
	if (likely(prev))
		cachebpf_table_entry(prev)->next = next;
	else
		cachebpf_set_end(&list->head, next);
	if (likely(next))
		cachebpf_table_entry(next)->prev = prev;
	else
		cachebpf_set_end(&list->tail, prev);
}

/*
 * Move @f, of @pfn and on it already, to the end @end of @list: extract and
 * insert, knowing that there are others between it and that end.  @end is the
 * list's own, or a copy for the time in which nobody else looks at it.
 */
static __always_inline void cachebpf_move_before(struct cachebpf_list *list,
						 struct cachebpf_end *end, struct cachebpf_folio *f,
						 u32 pfn, bool tail)
{
	u32 near = *cachebpf_towards(f, tail), far = *cachebpf_towards(f, !tail);
	struct cachebpf_folio *neighbour = cachebpf_table_entry(near);

	*cachebpf_towards(neighbour, !tail) = far;
	if (likely(far))
		*cachebpf_towards(cachebpf_table_entry(far), tail) = near;
	else
		*cachebpf_end_of(list, !tail) =
			(struct cachebpf_end) { .f = neighbour, .pfn = near };

	*cachebpf_towards(f, !tail) = end->pfn;
	*cachebpf_towards(f, tail) = 0;
	*cachebpf_towards(end->f, tail) = pfn;
	end->pfn = pfn;
	end->f = f;
}

static __always_inline void cachebpf_move(struct cachebpf_list *list, struct cachebpf_folio *f,
					  u32 pfn, bool tail)
{
	struct cachebpf_end *end = cachebpf_end_of(list, tail);

	if (unlikely(end->pfn == pfn))
		return;
	if (unlikely(!hlist_empty(&list->walks)))
		cachebpf_advance_walks(list, f, pfn);
	cachebpf_move_before(list, end, f, pfn, tail);
}

/* Where the stamp of @f is, if it is on a list that has its folios stamped. */
static __always_inline u64 *cachebpf_stamp(struct cachebpf_folio *f)
{
	return &f->data[1];
}

/* A stamp that none of @policy's folios has, and later than all. */
static __always_inline u64 cachebpf_now(struct cachebpf_policy *policy)
{
	return atomic64_inc_return_relaxed(&policy->clock);
}

/* @f, added a moment ago, is on @list, of its own, for the first time. */
static __always_inline void cachebpf_stamp_new(struct cachebpf_policy *policy,
					       struct cachebpf_list *list, struct cachebpf_folio *f)
{
	if (unlikely(list->flags & CACHEBPF_LIST_STAMPED))
		WRITE_ONCE(*cachebpf_stamp(f), cachebpf_now(policy));
}

/* Is @list in the order of stamps, with the latest at the tail, or else at the head? */
static inline bool cachebpf_is_in_order(const struct cachebpf_list *list, bool tail)
{
	const u16 order = CACHEBPF_LIST_STAMPED | CACHEBPF_LIST_USED | CACHEBPF_LIST_USED_ELSEWHERE;

	return (list->flags & order) == (CACHEBPF_LIST_STAMPED | (tail ? CACHEBPF_LIST_USED_TAIL :
									 CACHEBPF_LIST_USED_HEAD));
}

/* Put @f, which is on no list, on the one that is returned. */
static __always_inline struct cachebpf_list *
cachebpf_link(struct cachebpf_node *node, struct cachebpf_folio *f, u32 pfn, u16 list_id, bool tail)
{
	struct cachebpf_list *list = cachebpf_list_of(node, list_id);
	unsigned long nr_pages = 1UL << f->order;

	if (tail)
		cachebpf_insert(list, f, pfn, true);
	else
		cachebpf_insert(list, f, pfn, false);
	list->nr_folios++;
	list->nr_pages += nr_pages;
	node->nr_pages += nr_pages;
	WRITE_ONCE(f->list, list_id);
	return list;
}

/* The same of @f that was added a moment ago. */
static __always_inline void cachebpf_link_new(struct cachebpf_policy *policy,
					      struct cachebpf_node *node, struct cachebpf_folio *f,
					      u32 pfn, u16 list_id, bool tail)
{
	cachebpf_stamp_new(policy, cachebpf_link(node, f, pfn, list_id, tail), f);
}

/* Take @f from its list, for another one: until that has it, it says that it is on this one. */
static __always_inline void cachebpf_take_off(struct cachebpf_node *node, struct cachebpf_folio *f,
					      u32 pfn)
{
	struct cachebpf_list *list = cachebpf_list_of(node, f->list);
	unsigned long nr_pages = 1UL << f->order;

	cachebpf_extract(list, f, pfn);
	list->nr_folios--;
	list->nr_pages -= nr_pages;
	node->nr_pages -= nr_pages;
}

static __always_inline void cachebpf_unlink(struct cachebpf_node *node, struct cachebpf_folio *f,
					    u32 pfn)
{
	cachebpf_take_off(node, f, pfn);
	WRITE_ONCE(f->list, CACHEBPF_NO_LIST);
}

/* Take @f from the list that it is on to another one of @node. */
static __always_inline void cachebpf_relink(struct cachebpf_node *node, struct cachebpf_folio *f,
					    u32 pfn, u16 list_id, bool tail)
{
	struct cachebpf_list *from = node->lists[f->list], *to = node->lists[list_id];
	unsigned long nr_pages = 1UL << f->order;

	cachebpf_extract(from, f, pfn);
	from->nr_folios--;
	from->nr_pages -= nr_pages;
	if (tail)
		cachebpf_insert(to, f, pfn, true);
	else
		cachebpf_insert(to, f, pfn, false);
	to->nr_folios++;
	to->nr_pages += nr_pages;
	WRITE_ONCE(f->list, list_id);
}

#endif /* _MM_CACHEBPF_LIST_H */
