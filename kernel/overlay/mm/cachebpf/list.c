// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction lists: making them, and what is done to them rarely or with many
 * folios at a time.  What every miss does is in list.h.
 */
#include <linux/slab.h>

#include "internal.h"
#include "list.h"

/* Room for the list @nr, and it.  What there is stays valid if there is no memory for more. */
static int create_on_node(struct cachebpf_node *node, int nid, int nr, u32 flags)
{
	struct cachebpf_list **lists, *list;

	/* their number was a power of two, or there are none yet */
	if (!(nr & (nr - 1))) {
		lists = krealloc_array(node->lists, nr ? 2 * nr : 1, sizeof(*lists), GFP_KERNEL);
		if (!lists)
			return -ENOMEM;
		node->lists = lists;
	}
	list = kzalloc_node(sizeof(*list), GFP_KERNEL,
			    node_state(nid, N_MEMORY) ? nid : NUMA_NO_NODE);
	if (!list)
		return -ENOMEM;
	list->flags = flags;
	list->elsewhere = flags >> CACHEBPF_LIST_ELSEWHERE_SHIFT;
	node->lists[nr] = list;
	return 0;
}

/* Create the list @nr, the next one, on every node. */
static int create_list(struct cachebpf_policy *policy, int nr, u32 flags)
{
	int nid, last, err = 0;

	for_each_node(nid) {
		err = create_on_node(policy->nodes[nid], nid, nr, flags);
		if (err)
			break;
	}
	if (!err)
		return 0;
	last = nid;
	for_each_node(nid) {
		if (nid == last)
			break;
		kfree(policy->nodes[nid]->lists[nr]);
	}
	return err;
}

/* Is @flags what a list of @policy can be asked for? */
static bool are_list_flags(struct cachebpf_policy *policy, u32 flags)
{
	u32 elsewhere = flags >> CACHEBPF_LIST_ELSEWHERE_SHIFT;

	flags &= BIT(CACHEBPF_LIST_ELSEWHERE_SHIFT) - 1;
	if (flags & ~CACHEBPF_LIST_FLAGS ||
	    (flags & CACHEBPF_LIST_NEW) == CACHEBPF_LIST_NEW ||
	    (flags & CACHEBPF_LIST_USED) == CACHEBPF_LIST_USED)
		return false;
	if (!(flags & CACHEBPF_LIST_USED_ELSEWHERE))
		return !elsewhere;
	return flags & CACHEBPF_LIST_USED && elsewhere && elsewhere < policy->nr_lists;
}

/**
 * cachebpf_lists_add - create one more of the lists that a policy can use
 * @policy: the policy, not published yet
 * @flags: enum cachebpf_list_flags
 *
 * Return: its number, or a negative errno.
 */
int cachebpf_lists_add(struct cachebpf_policy *policy, u32 flags)
{
	int err, nr = policy->nr_lists;

	if (!are_list_flags(policy, flags))
		return -EINVAL;
	if (flags & CACHEBPF_LIST_NEW && policy->new_list != CACHEBPF_UNLISTED)
		return -EEXIST;
	if (nr == CACHEBPF_MAX_LISTS)
		return -ENOSPC;
	err = create_list(policy, nr, flags);
	if (err)
		return err;

	if (flags & CACHEBPF_LIST_NEW) {
		policy->new_list = nr;
		policy->new_at_tail = flags & CACHEBPF_LIST_NEW_TAIL;
	}
	if (flags & CACHEBPF_LIST_USED) {
		policy->orders_uses = true;
		policy->wants_uses = true;
	}
	return policy->nr_lists++;
}

void cachebpf_lists_free(struct cachebpf_policy *policy)
{
	int nid, i;

	for_each_node(nid) {
		if (!policy->nodes[nid])
			continue;
		for (i = 0; i < policy->nr_lists; i++)
			kfree(policy->nodes[nid]->lists[i]);
		kfree(policy->nodes[nid]->lists);
	}
}

/* A walk that was to visit @f, of @pfn, next goes on behind it. */
void cachebpf_advance_walks(struct cachebpf_list *list, struct cachebpf_folio *f, u32 pfn)
{
	struct cachebpf_iter *iter;

	hlist_for_each_entry(iter, &list->walks, link) {
		if (iter->cursor == pfn)
			iter->cursor = iter->flags & CACHEBPF_ITER_REVERSE ? f->prev : f->next;
	}
}

/* cachebpf_move() for those who do it rarely */
void cachebpf_move_to_end(struct cachebpf_list *list, struct cachebpf_folio *f, u32 pfn, bool tail)
{
	if (tail)
		cachebpf_move(list, f, pfn, true);
	else
		cachebpf_move(list, f, pfn, false);
}

/**
 * cachebpf_link_sorted - put a folio on a list that is in the order of the policy's data
 * @node: the node, locked
 * @f: the folio's entry, on no list
 * @pfn: its frame
 * @list_id: the list
 * @nr_max: how far from the tail it may come to be
 */
void cachebpf_link_sorted(struct cachebpf_node *node, struct cachebpf_folio *f, u32 pfn,
			  u16 list_id, u32 nr_max)
{
	struct cachebpf_list *list = node->lists[list_id];
	struct cachebpf_end before = list->tail;
	u32 behind = 0;

	for (; before.pfn && nr_max && (s64)before.f->data[0] > (s64)f->data[0]; nr_max--) {
		behind = before.pfn;
		cachebpf_set_end(&before, before.f->prev);
	}
	if (!before.pfn || !behind) {
		cachebpf_link(node, f, pfn, list_id, !behind);
		return;
	}
	/* as at the tail of a list that ends there; its counts are those of all */
	cachebpf_link(node, f, pfn, list_id, true);
	cachebpf_table_entry(f->prev)->next = 0;
	cachebpf_set_end(&list->tail, f->prev);
	f->prev = before.pfn;
	f->next = behind;
	before.f->next = pfn;
	cachebpf_table_entry(behind)->prev = pfn;
}

/**
 * cachebpf_move_run - move a run from the head of a list to its tail
 * @list: the list
 * @last: the last of them, followed by others
 */
void cachebpf_move_run(struct cachebpf_list *list, struct cachebpf_folio *last)
{
	u32 last_pfn = cachebpf_folio_pfn(last), rest = last->next;

	list->tail.f->next = list->head.pfn;
	list->head.f->prev = list->tail.pfn;
	list->tail.pfn = last_pfn;
	list->tail.f = last;
	cachebpf_set_end(&list->head, rest);
	list->head.f->prev = 0;
	last->next = 0;
}

/*
 * @new, of the same node and order, takes @old's place.  Its owner is known
 * already, and so a call about the folio that was in its frame before may have
 * put it on a list.
 */
void cachebpf_list_replace(struct cachebpf_node *node, struct cachebpf_folio *old,
			   struct cachebpf_folio *new)
{
	u32 old_pfn = cachebpf_folio_pfn(old), pfn = cachebpf_folio_pfn(new);
	struct cachebpf_list *list = cachebpf_list_of(node, old->list);
	struct cachebpf_iter *iter;

	if (unlikely(new->list != CACHEBPF_NO_LIST))
		cachebpf_unlink(node, new, pfn);
	hlist_for_each_entry(iter, &list->walks, link) {
		if (iter->cursor == old_pfn)
			iter->cursor = pfn;
	}

	new->prev = old->prev;
	new->next = old->next;
	if (new->prev)
		cachebpf_table_entry(new->prev)->next = pfn;
	else
		cachebpf_set_end(&list->head, pfn);
	if (new->next)
		cachebpf_table_entry(new->next)->prev = pfn;
	else
		cachebpf_set_end(&list->tail, pfn);
	/* the policy may have written them since they were copied */
	memcpy(new->data, old->data, sizeof(new->data));
	WRITE_ONCE(new->list, old->list);
	WRITE_ONCE(old->list, CACHEBPF_NO_LIST);
}

/* The list that @f, of @node, is on: it may just be on its way from one to another. */
u16 cachebpf_settled_list(struct cachebpf_node *node, struct cachebpf_folio *f)
{
	unsigned long flags;
	u16 list;

	spin_lock_irqsave(&node->lock, flags);
	list = f->list;
	spin_unlock_irqrestore(&node->lock, flags);
	return list == CACHEBPF_NO_LIST ? CACHEBPF_UNLISTED : list;
}
