// SPDX-License-Identifier: GPL-2.0-only
/*
 * The open-coded iterator over an eviction list.
 *
 * The node's lock is held inside each call and never while BPF code runs.  A
 * walk reads a few folios ahead at a time; its cursor is the entry to read on
 * from.  Unlinking that entry moves the cursor along, so a walk is exact
 * whatever happens between two steps, and the length of the list at its start
 * bounds it.  Entries that were read ahead can leave the policy, but not
 * memory: a request is one RCU read side.
 */
#include <linux/bpf.h>
#include <linux/btf_ids.h>

#include "kfunc.h"
#include "list.h"

struct bpf_iter_cachebpf_list {
	__u64 __opaque[15];
} __aligned(8);

static_assert(sizeof(struct cachebpf_iter) == sizeof(struct bpf_iter_cachebpf_list));
static_assert(__alignof__(struct cachebpf_iter) == __alignof__(struct bpf_iter_cachebpf_list));

/* Is what @iter has offered of its batch still a run at the head of the list? */
static bool is_first_run(struct cachebpf_iter *iter)
{
	struct cachebpf_folio *f = iter->list->head.f;
	int i;

	if (iter->flags & CACHEBPF_ITER_REVERSE ||
	    !hlist_is_singular_node(&iter->link, &iter->list->walks))
		return false;
	for (i = 0; i < iter->nr_used; i++) {
		if (f != iter->batch[i])
			return false;
		f = f->next ? cachebpf_table_entry(f->next) : NULL;
	}
	/* and is there something to put them behind? */
	return f;
}

/*
 * Begin a new batch.  If @iter is that kind of a walk, what was offered of the
 * last one moves to the other end; what the policy has put elsewhere stays.
 */
static void end_batch(struct cachebpf_iter *iter)
{
	bool tail = !(iter->flags & CACHEBPF_ITER_REVERSE);
	int i;

	if (iter->flags & CACHEBPF_ITER_ROTATE && iter->nr_used) {
		if (is_first_run(iter)) {
			cachebpf_move_run(iter->list, iter->batch[iter->nr_used - 1]);
		} else {
			for (i = 0; i < iter->nr_used; i++) {
				struct cachebpf_folio *f = iter->batch[i];

				if (cachebpf_owns(iter->evict->policy, f) &&
				    f->list == iter->list_id)
					cachebpf_move_to_end(iter->list, f, cachebpf_folio_pfn(f),
							     tail);
			}
		}
	}
	iter->nr_used = 0;
	iter->nr_batch = 0;
}

/* Fill the batch of @iter with the next folios that are worth offering. */
static void read_ahead(struct cachebpf_iter *iter)
{
	int nr_wanted = min_t(u32, iter->nr_offers, CACHEBPF_ITER_BATCH);
	struct cachebpf_evict *evict = iter->evict;
	bool reverse = iter->flags & CACHEBPF_ITER_REVERSE;
	bool guarded = cachebpf_call(evict)->guard;
	struct cachebpf_folio *f;
	u32 pfn, nr_max, nr = 0;
	unsigned long irq;

	spin_lock_irqsave(&iter->node->lock, irq);
	end_batch(iter);
	/* walk in a walk, or walk after walk: all share the request's budget */
	nr_max = min(iter->nr_left, evict->visits_left);
	while (iter->nr_batch < nr_wanted && nr < nr_max && iter->cursor) {
		pfn = iter->cursor;
		f = cachebpf_table_entry(pfn);
		iter->cursor = reverse ? f->prev : f->next;
		nr++;

		if (unlikely(!cachebpf_worth_offering(evict, pfn_folio(pfn)))) {
			if (iter->flags & CACHEBPF_ITER_ROTATE)
				cachebpf_move_to_end(iter->list, f, pfn, !reverse);
		} else if (likely(!cachebpf_spare_unread(evict, f))) {
			iter->batch[iter->nr_batch++] = f;
		}
		/* more than the visit may have been paid for */
		if (unlikely(guarded))
			nr_max = min(nr_max, evict->visits_left);
		if (nr % CACHEBPF_LOCK_BATCH == 0) {
			spin_unlock_irqrestore(&iter->node->lock, irq);
			spin_lock_irqsave(&iter->node->lock, irq);
		}
	}
	iter->nr_left -= nr;
	evict->visits_left -= min(evict->visits_left, nr);
	spin_unlock_irqrestore(&iter->node->lock, irq);
}

static void tell(struct cachebpf_seen *seen, const struct cachebpf_folio *f, u32 pfn)
{
	seen->number = pfn;
	seen->order = f->order;
	seen->data[0] = f->data[0];
	seen->data[1] = f->data[1];
}

__bpf_kfunc_start_defs();

/**
 * bpf_iter_cachebpf_list_new - walk a list, on the node that is being reclaimed
 * @it: the iterator
 * @evict: the request, of the calling policy
 * @list: number of the list
 * @nr_max: folios to offer at most; 0: no limit but the length of the list
 * @flags: enum cachebpf_iter_flags
 *
 * Folios that reclaim could not take now (locked, dirty, under writeback, not
 * yet on the LRU, protected by memory.min or memory.low) are passed over, and
 * for a while those that were read ahead and not used yet.
 *
 * Return: 0; -ENOENT no such list, -EINVAL unknown flags.
 */
__bpf_kfunc int bpf_iter_cachebpf_list_new(struct bpf_iter_cachebpf_list *it,
					   struct cachebpf_evict *evict, u32 list, u32 nr_max,
					   u32 flags)
{
	struct cachebpf_iter *iter = (void *)it;
	struct cachebpf_policy *policy = evict->policy;
	unsigned long irq;

	iter->list = NULL;
	if (flags & ~(CACHEBPF_ITER_REVERSE | CACHEBPF_ITER_ROTATE))
		return -EINVAL;
	if (list >= policy->nr_lists)
		return -ENOENT;

	iter->evict = evict;
	iter->node = policy->nodes[evict->nid];
	iter->list = iter->node->lists[list];
	iter->list_id = list;
	iter->flags = flags;
	iter->nr_used = 0;
	iter->nr_batch = 0;

	spin_lock_irqsave(&iter->node->lock, irq);
	iter->cursor = flags & CACHEBPF_ITER_REVERSE ? iter->list->tail.pfn : iter->list->head.pfn;
	iter->nr_left = iter->list->nr_folios;
	iter->nr_offers = nr_max ?: iter->nr_left;
	hlist_add_head(&iter->link, &iter->list->walks);
	spin_unlock_irqrestore(&iter->node->lock, irq);
	return 0;
}

/**
 * bpf_iter_cachebpf_list_next - the next folio of a walk
 * @it: the iterator
 *
 * Return: the folio, to be kept, moved, evicted or ranked; NULL at the end.
 */
__bpf_kfunc struct cachebpf_folio *bpf_iter_cachebpf_list_next(struct bpf_iter_cachebpf_list *it)
{
	struct cachebpf_iter *iter = (void *)it;
	struct cachebpf_folio *f;

	if (!iter->list)
		return NULL;

	while (iter->nr_offers) {
		if (iter->nr_used == iter->nr_batch)
			read_ahead(iter);
		if (iter->nr_used == iter->nr_batch)
			break;

		f = iter->batch[iter->nr_used++];
		/* it may have gone since it was read ahead, and another one be there */
		if (likely(READ_ONCE(f->owner) == iter->evict->policy->id &&
			   !cachebpf_is_rejected(f))) {
			iter->nr_offers--;
			return f;
		}
	}
	return NULL;
}

/**
 * bpf_iter_cachebpf_list_destroy - end a walk
 * @it: the iterator
 */
__bpf_kfunc void bpf_iter_cachebpf_list_destroy(struct bpf_iter_cachebpf_list *it)
{
	struct cachebpf_iter *iter = (void *)it;
	unsigned long irq;

	if (!iter->list)
		return;
	spin_lock_irqsave(&iter->node->lock, irq);
	end_batch(iter);
	hlist_del(&iter->link);
	spin_unlock_irqrestore(&iter->node->lock, irq);
}

/**
 * bpf_cachebpf_first - the first folio of a list, on the node that is being reclaimed
 * @evict: the request, of the calling policy
 * @list_id: number of the list
 * @flags: 0, or %CACHEBPF_ITER_REVERSE: the last one
 * @seen: where to tell about it
 *
 * Of those that a walk would offer, and with the walks' budget.  On a list in the order of
 * stamps the first %CACHEBPF_LOCK_BATCH that are passed over count as used.
 *
 * Return: 0; -ENOENT no such list, or nothing there; -EINVAL unknown flags.
 */
__bpf_kfunc int bpf_cachebpf_first(struct cachebpf_evict *evict, u32 list_id, u32 flags,
				   struct cachebpf_seen *seen)
{
	struct cachebpf_policy *policy = evict->policy;
	struct cachebpf_node *node = policy->nodes[evict->nid];
	struct cachebpf_list *list;
	struct bpf_iter_cachebpf_list behind;
	u32 pfn, next, nr_left;
	struct cachebpf_folio *f;
	bool found = false, offered, more;
	unsigned long irq;
	bool in_order;

	if (flags & ~CACHEBPF_ITER_REVERSE)
		return -EINVAL;
	if (list_id >= policy->nr_lists)
		return -ENOENT;
	list = node->lists[list_id];
	in_order = cachebpf_is_in_order(list, !flags);
	/* most of many lists are empty */
	if (!READ_ONCE(list->nr_folios))
		return -ENOENT;

	spin_lock_irqsave(&node->lock, irq);
	pfn = flags ? list->tail.pfn : list->head.pfn;
	nr_left = min_t(unsigned long, list->nr_folios, CACHEBPF_LOCK_BATCH);
	for (; pfn && nr_left && evict->visits_left; nr_left--) {
		f = cachebpf_table_entry(pfn);
		evict->visits_left--;
		next = flags ? f->prev : f->next;
		offered = cachebpf_worth_offering(evict, pfn_folio(pfn));
		if (likely(offered && !cachebpf_spare_unread(evict, f))) {
			tell(seen, f, pfn);
			found = true;
			break;
		}
		/* what is spared stays where it is */
		if (in_order && !offered) {
			cachebpf_move_to_end(list, f, pfn, !flags);
			cachebpf_stamp_new(policy, list, f);
		}
		pfn = next;
	}
	more = !nr_left && list->nr_folios > CACHEBPF_LOCK_BATCH;
	spin_unlock_irqrestore(&node->lock, irq);
	if (likely(found))
		return 0;
	if (!more)
		return -ENOENT;

	/* a walk gives the lock away now and then */
	bpf_iter_cachebpf_list_new(&behind, evict, list_id, 1, flags);
	f = bpf_iter_cachebpf_list_next(&behind);
	if (f)
		tell(seen, f, cachebpf_folio_pfn(f));
	bpf_iter_cachebpf_list_destroy(&behind);
	return f ? 0 : -ENOENT;
}

__bpf_kfunc_end_defs();
