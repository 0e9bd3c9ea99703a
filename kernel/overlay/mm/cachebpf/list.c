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

/* Between two folios of a list, or none at an end. */
struct gap {
	struct cachebpf_end	before;
	struct cachebpf_end	behind;
};

/*
 * Move @gap to where @f belongs, by the half @key of its data, over @nr folios at
 * most.  Returns whether it is there; the policy may change data meanwhile.
 */
static bool approach(struct gap *gap, const struct cachebpf_folio *f, int key, u32 nr)
{
	for (;; nr--) {
		bool back = cachebpf_is_after(gap->before.f, f, key);

		if (!back && (!gap->behind.f || cachebpf_is_after(gap->behind.f, f, key)))
			return true;
		if (!nr)
			return false;
		if (back) {
			gap->behind = gap->before;
			cachebpf_set_end(&gap->before, gap->behind.f->prev);
		} else {
			gap->before = gap->behind;
			cachebpf_set_end(&gap->behind, gap->before.f->next);
		}
	}
}

/* What was sorted in last, if it still is on @list, of @list_id, where @f, of @pfn, is to be. */
static struct cachebpf_folio *last_sorted(struct cachebpf_list *list, u16 list_id,
					  const struct cachebpf_folio *f, u32 pfn)
{
	struct cachebpf_folio *last = list->sorted && list->sorted != pfn ?
				      cachebpf_table_lookup(list->sorted) : NULL;

	/* the lock does not order what claim_entry() has written before, see is_own() */
	if (last && smp_load_acquire(&last->owner) == f->owner && last->list == list_id &&
	    pfn_to_nid(list->sorted) == pfn_to_nid(pfn))
		return last;
	return NULL;
}

/* Set @gap, where a search has ended, where @f is nearer: at the head, or behind @last. */
static void find_gap(struct cachebpf_list *list, struct cachebpf_folio *last,
		     const struct cachebpf_folio *f, int key, struct gap *gap)
{
	if (cachebpf_is_after(list->head.f, f, key)) {
		*gap = (struct gap) { .behind = list->head };
	} else if (last && gap->before.f && !cachebpf_is_after(last, gap->before.f, key)) {
		gap->before = (struct cachebpf_end) { .f = last, .pfn = list->sorted };
		cachebpf_set_end(&gap->behind, last->next);
	}
}

/**
 * cachebpf_link_sorted - put a folio on a list that is in order
 * @node: the node, locked
 * @f: the folio's entry, in use and on no list, whatever it says
 * @list_id: the list
 * @key: which half of the policy's data the order is of
 * @nr_max: folios to look at
 *
 * What is sorted in one after the other mostly is near each other.  So the first
 * half are those before the last one that was sorted in, if it is after @f, else
 * those at the tail.  Then the search goes on from the head, or behind that last
 * one, if that is nearer.  Where the search ends the folio stays.
 */
void cachebpf_link_sorted(struct cachebpf_node *node, struct cachebpf_folio *f, u16 list_id,
			  int key, u32 nr_max)
{
	struct cachebpf_list *list = node->lists[list_id];
	u32 pfn = cachebpf_folio_pfn(f), nr = nr_max / 2, nr_then = nr_max - nr;
	struct gap gap = { .before = list->tail };
	struct cachebpf_folio *last;

	if (!cachebpf_is_after(list->tail.f, f, key)) {
		list->sorted = pfn;
		cachebpf_link(node, f, pfn, list_id, true);
		return;
	}
	last = last_sorted(list, list_id, f, pfn);
	if (nr && cachebpf_is_after(last, f, key)) {
		nr--;
		gap.behind = (struct cachebpf_end) { .f = last, .pfn = list->sorted };
		cachebpf_set_end(&gap.before, last->prev);
	}
	if (!approach(&gap, f, key, nr)) {
		find_gap(list, last, f, key, &gap);
		approach(&gap, f, key, nr_then);
	}

	list->sorted = pfn;
	cachebpf_link(node, f, pfn, list_id, gap.before.f);
	if (!gap.before.f || !gap.behind.f)
		return;
	/* from the tail to the gap; the counts of the list are those of all */
	cachebpf_extract(list, f, pfn);
	f->prev = gap.before.pfn;
	f->next = gap.behind.pfn;
	gap.before.f->next = pfn;
	gap.behind.f->prev = pfn;
}

/**
 * cachebpf_enlist_heir - put a folio on the list of another one that it has the data of
 * @policy: the policy
 * @f: the folio's entry
 * @list_id: the list
 *
 * Where it belongs, if the list is in order; else at the tail.  Unless it is on
 * one already, or @policy does not own it any more.
 */
void cachebpf_enlist_heir(struct cachebpf_policy *policy, struct cachebpf_folio *f, u16 list_id)
{
	struct cachebpf_node *node = cachebpf_node_of(policy, f);
	struct cachebpf_list *list = cachebpf_list_of(node, list_id);
	unsigned long flags;

	spin_lock_irqsave(&node->lock, flags);
	if (unlikely(f->owner != policy->id || f->list != CACHEBPF_NO_LIST))
		goto out;
	if (cachebpf_is_in_order(list, true))
		cachebpf_link_sorted(node, f, list_id, 1, CACHEBPF_MAX_SORTED);
	else if (list->sorted)
		cachebpf_link_sorted(node, f, list_id, 0, CACHEBPF_MAX_SORTED);
	else
		cachebpf_link(node, f, cachebpf_folio_pfn(f), list_id, true);
out:
	spin_unlock_irqrestore(&node->lock, flags);
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

/**
 * cachebpf_move_between - move a run to the tail of another list
 * @node: the node, locked
 * @from_id: the list that it is on
 * @to_id: the list; they say already that they are on it
 * @run: folios that follow each other, none of which a walk is at
 */
void cachebpf_move_between(struct cachebpf_node *node, u16 from_id, u16 to_id,
			   const struct cachebpf_run *run)
{
	struct cachebpf_list *from = node->lists[from_id], *to = node->lists[to_id];
	u32 before = run->first.f->prev, behind = run->last.f->next;

	if (before)
		cachebpf_table_entry(before)->next = behind;
	else
		cachebpf_set_end(&from->head, behind);
	if (behind)
		cachebpf_table_entry(behind)->prev = before;
	else
		cachebpf_set_end(&from->tail, before);
	from->nr_folios -= run->nr_folios;
	from->nr_pages -= run->nr_pages;

	run->first.f->prev = to->tail.pfn;
	run->last.f->next = 0;
	if (to->tail.pfn)
		to->tail.f->next = run->first.pfn;
	else
		to->head = run->first;
	to->tail = run->last;
	to->nr_folios += run->nr_folios;
	to->nr_pages += run->nr_pages;
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
