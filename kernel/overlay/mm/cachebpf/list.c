// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction lists.  An entry that is in use is on exactly one list of its
 * owner, of the NUMA node its folio lies on; the links are page frame numbers,
 * resolved through the folio table, which keeps an entry at 32 bytes.
 */
#include <linux/slab.h>

#include "internal.h"

/* The entry behind a link; its block cannot go away while it is linked. */
static struct cachebpf_folio *entry(u32 pfn)
{
	return cachebpf_table_lookup(pfn);
}

/* Create the list @nr, on every node.  Returns 0 or a negative errno. */
int cachebpf_lists_create(struct cachebpf_policy *policy, int nr)
{
	struct cachebpf_list *list;
	int nid;

	for_each_node(nid) {
		list = kzalloc_node(sizeof(*list), GFP_KERNEL,
				    node_state(nid, N_MEMORY) ? nid : NUMA_NO_NODE);
		if (!list)
			return -ENOMEM;
		INIT_LIST_HEAD(&list->iters);
		kfree(policy->nodes[nid]->lists[nr]);
		policy->nodes[nid]->lists[nr] = list;
	}
	return 0;
}

/**
 * cachebpf_lists_add - create one more of the lists that a policy can use
 *
 * Return: its number, or a negative errno.
 */
int cachebpf_lists_add(struct cachebpf_policy *policy)
{
	int err;

	if (policy->nr_lists == CACHEBPF_MAX_LISTS)
		return -ENOSPC;
	err = cachebpf_lists_create(policy, policy->nr_lists);
	return err ?: policy->nr_lists++;
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

static struct cachebpf_list *list_of(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	return policy->nodes[cachebpf_folio_nid(f)]->lists[f->list];
}

void cachebpf_link(struct cachebpf_policy *policy, struct cachebpf_folio *f, u8 list_id, bool tail)
{
	u32 pfn = cachebpf_folio_pfn(f);
	struct cachebpf_list *list;

	f->list = list_id;
	list = list_of(policy, f);
	if (tail) {
		f->prev = list->tail;
		f->next = 0;
		if (list->tail)
			entry(list->tail)->next = pfn;
		else
			list->head = pfn;
		list->tail = pfn;
	} else {
		f->prev = 0;
		f->next = list->head;
		if (list->head)
			entry(list->head)->prev = pfn;
		else
			list->tail = pfn;
		list->head = pfn;
	}
	list->nr_folios++;
	list->nr_pages += 1UL << f->order;
}

void cachebpf_unlink(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	struct cachebpf_list *list = list_of(policy, f);
	struct cachebpf_iter *iter;

	/* a walk that was to visit @f next goes on behind it */
	list_for_each_entry(iter, &list->iters, link) {
		if (iter->cursor == cachebpf_folio_pfn(f))
			iter->cursor = iter->flags & CACHEBPF_ITER_REVERSE ? f->prev : f->next;
	}

	if (f->prev)
		entry(f->prev)->next = f->next;
	else
		list->head = f->next;
	if (f->next)
		entry(f->next)->prev = f->prev;
	else
		list->tail = f->prev;
	list->nr_folios--;
	list->nr_pages -= 1UL << f->order;
	f->list = CACHEBPF_NO_LIST;
}

/* Are the first @nr folios of the batch of @iter still a run at the start of its list? */
static bool is_first_run(struct cachebpf_policy *policy, struct cachebpf_iter *iter, int nr)
{
	u32 pfn = iter->list->head;
	int i;

	if (iter->flags & CACHEBPF_ITER_REVERSE || !list_is_singular(&iter->list->iters))
		return false;
	for (i = 0; i < nr; i++) {
		if (pfn != iter->batch[i])
			return false;
		pfn = entry(pfn)->next;
	}
	/* and is there something to put them behind? */
	return pfn;
}

/*
 * Move what @iter has offered of its batch to the other end, if it is that kind
 * of a walk, and begin a new batch.  What the policy has put elsewhere stays.
 */
void cachebpf_list_rotate(struct cachebpf_policy *policy, struct cachebpf_iter *iter)
{
	struct cachebpf_list *list = iter->list;
	int i, nr = iter->nr_used;

	iter->nr_used = iter->nr_batch = 0;
	if (!(iter->flags & CACHEBPF_ITER_ROTATE) || !nr)
		return;

	if (is_first_run(policy, iter, nr)) {
		struct cachebpf_folio *first = entry(iter->batch[0]);
		struct cachebpf_folio *last = entry(iter->batch[nr - 1]);

		entry(list->tail)->next = iter->batch[0];
		first->prev = list->tail;
		list->tail = iter->batch[nr - 1];
		list->head = last->next;
		entry(list->head)->prev = 0;
		last->next = 0;
		return;
	}

	for (i = 0; i < nr; i++) {
		struct cachebpf_folio *f = entry(iter->batch[i]);

		if (!f || f->owner != policy->id || f->list != iter->list_id)
			continue;
		cachebpf_unlink(policy, f);
		cachebpf_link(policy, f, iter->list_id, !(iter->flags & CACHEBPF_ITER_REVERSE));
	}
}

/* @new, of the same node and order, takes @old's place. */
void cachebpf_list_replace(struct cachebpf_policy *policy, struct cachebpf_folio *old,
			   struct cachebpf_folio *new)
{
	struct cachebpf_list *list = list_of(policy, old);
	u32 pfn = cachebpf_folio_pfn(new);
	struct cachebpf_iter *iter;

	list_for_each_entry(iter, &list->iters, link) {
		if (iter->cursor == cachebpf_folio_pfn(old))
			iter->cursor = pfn;
	}

	new->list = old->list;
	new->prev = old->prev;
	new->next = old->next;
	if (new->prev)
		entry(new->prev)->next = pfn;
	else
		list->head = pfn;
	if (new->next)
		entry(new->next)->prev = pfn;
	else
		list->tail = pfn;
	old->list = CACHEBPF_NO_LIST;
}
