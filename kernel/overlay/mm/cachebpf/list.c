// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction lists: making them, and what is done to them rarely or with many
 * folios at a time.  What every miss does is in list.h.
 */
#include <linux/slab.h>

#include "internal.h"
#include "list.h"

/* Create the list @nr, on every node.  Returns 0 or a negative errno. */
int cachebpf_lists_create(struct cachebpf_policy *policy, int nr, u32 flags)
{
	struct cachebpf_list *list;
	int nid;

	for_each_node(nid) {
		list = kzalloc_node(sizeof(*list), GFP_KERNEL,
				    node_state(nid, N_MEMORY) ? nid : NUMA_NO_NODE);
		if (!list)
			return -ENOMEM;
		list->flags = flags;
		/* left by an attempt that found no memory for the other nodes */
		kfree(policy->nodes[nid]->lists[nr]);
		policy->nodes[nid]->lists[nr] = list;
	}
	return 0;
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

	if (flags & ~CACHEBPF_LIST_FLAGS ||
	    (flags & CACHEBPF_LIST_NEW) == CACHEBPF_LIST_NEW ||
	    (flags & CACHEBPF_LIST_USED) == CACHEBPF_LIST_USED)
		return -EINVAL;
	if (flags & CACHEBPF_LIST_NEW && policy->new_list != CACHEBPF_UNLISTED)
		return -EEXIST;
	if (nr == CACHEBPF_MAX_LISTS)
		return -ENOSPC;
	err = cachebpf_lists_create(policy, nr, flags);
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
		for (i = 0; i < ARRAY_SIZE(policy->nodes[nid]->lists); i++)
			kfree(policy->nodes[nid]->lists[i]);
	}
}

/* Pages on the node @nid that @policy may be asked for. */
unsigned long cachebpf_pages_on(const struct cachebpf_policy *policy, int nid)
{
	struct cachebpf_list *const *lists = policy->nodes[nid]->lists;
	unsigned long nr = 0;
	int i;

	for (i = 0; i < policy->nr_lists; i++)
		nr += READ_ONCE(lists[i]->nr_pages);
	if (lists[CACHEBPF_REJECTED])
		nr += READ_ONCE(lists[CACHEBPF_REJECTED]->nr_pages);
	return nr;
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
	struct cachebpf_list *list = node->lists[old->list];
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
	WRITE_ONCE(new->list, old->list);
	WRITE_ONCE(old->list, CACHEBPF_NO_LIST);
}
