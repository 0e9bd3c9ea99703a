// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a policy calls: kfuncs on eviction lists, folios and requests, and the
 * open-coded iterator over a list.
 *
 * The node's lock is held inside each call and never while BPF code runs.  A
 * walk reads a few folios ahead at a time; its cursor is the entry to read on
 * from.  Unlinking that entry moves the cursor along, so a walk is exact
 * whatever happens between two steps, and the length of the list at its start
 * bounds it.
 */
#include <linux/bpf.h>
#include <linux/btf_ids.h>

#include "internal.h"

/* Unlock for a moment after so many folios, if few of them can be offered. */
#define LOCK_BATCH	64

struct bpf_iter_cachebpf_list {
	__u64 __opaque[15];
} __aligned(8);

static_assert(sizeof(struct cachebpf_iter) == sizeof(struct bpf_iter_cachebpf_list));
static_assert(__alignof__(struct cachebpf_iter) == __alignof__(struct bpf_iter_cachebpf_list));

/* A guess, made without a reference, whether reclaim could take the folio now. */
bool cachebpf_worth_offering(struct cachebpf_evict *evict, struct folio *folio)
{
	const unsigned long busy = BIT(PG_locked) | BIT(PG_dirty) | BIT(PG_writeback) |
				   BIT(PG_unevictable);
	const unsigned long need = BIT(PG_lru) | BIT(PG_uptodate);
	unsigned long flags = READ_ONCE(folio->flags);
	struct mem_cgroup *memcg;

	if ((flags & (busy | need)) != need)
		return false;
	/* somebody is using it at this moment: a reader, or a batch on its way to the LRU */
	if (folio_ref_count(folio) > folio_nr_pages(folio) + folio_mapcount(folio) +
				     !!(flags & BIT(PG_private)))
		return false;
	if (likely(!evict->scope))
		return true;
	memcg = folio_memcg_check(folio);
	return memcg && mem_cgroup_is_descendant(memcg, evict->scope);
}

/* Fill the batch of @iter with the next folios that are worth offering. */
static void read_ahead(struct cachebpf_iter *iter)
{
	struct cachebpf_policy *policy = iter->evict->policy;
	struct cachebpf_node *node = policy->nodes[iter->evict->nid];
	u32 nr_wanted = min_t(u32, iter->nr_offers, CACHEBPF_ITER_BATCH);
	bool reverse = iter->flags & CACHEBPF_ITER_REVERSE;
	struct cachebpf_folio *f;
	unsigned long irq;
	u32 pfn, nr_left;

	spin_lock_irqsave(&node->lock, irq);
	cachebpf_list_rotate(policy, iter);
	/* walk in a walk, or walk after walk: all share the request's budget */
	iter->nr_left = min(iter->nr_left, iter->evict->visits_left);
	nr_left = iter->nr_left;
	while (iter->nr_batch < nr_wanted && iter->nr_left && iter->cursor) {
		pfn = iter->cursor;
		f = cachebpf_table_lookup(pfn);
		iter->cursor = reverse ? f->prev : f->next;
		iter->nr_left--;

		if (likely(cachebpf_worth_offering(iter->evict, pfn_folio(pfn)))) {
			iter->batch[iter->nr_batch++] = pfn;
		} else if (iter->flags & CACHEBPF_ITER_ROTATE) {
			cachebpf_unlink(policy, f);
			cachebpf_link(policy, f, iter->list_id, !reverse);
		}
		if (iter->nr_left % LOCK_BATCH == 0) {
			spin_unlock_irqrestore(&node->lock, irq);
			spin_lock_irqsave(&node->lock, irq);
		}
	}
	iter->evict->visits_left -= nr_left - iter->nr_left;
	spin_unlock_irqrestore(&node->lock, irq);
}

static struct cachebpf_node *lock_owned(struct cachebpf_policy *policy, struct cachebpf_folio *f,
					unsigned long *flags)
{
	struct cachebpf_node *node = policy->nodes[cachebpf_folio_nid(f)];

	spin_lock_irqsave(&node->lock, *flags);
	if (likely(f->owner == policy->id && !cachebpf_is_rejected(f)))
		return node;
	spin_unlock_irqrestore(&node->lock, *flags);
	return NULL;
}

__bpf_kfunc_start_defs();

/**
 * bpf_cachebpf_list_create - create an eviction list
 * @policy: the calling policy; only in policy_init()
 *
 * Return: the list's number, at least 1; -ENOSPC, -ENOMEM.
 */
__bpf_kfunc int bpf_cachebpf_list_create(struct cachebpf_policy *policy)
{
	return cachebpf_lists_add(policy);
}

/**
 * bpf_cachebpf_list_add - put a folio on a list
 * @policy: the calling policy
 * @folio: one of its folios, on no list yet
 * @list: number of the list
 * @tail: at the tail, else at the head
 *
 * Return: 0; -ENOENT no such list, -ESTALE not this policy's folio any more,
 * -EEXIST already on a list.
 */
__bpf_kfunc int bpf_cachebpf_list_add(struct cachebpf_policy *policy,
				      struct cachebpf_folio *folio, u32 list, bool tail)
{
	struct cachebpf_node *node;
	unsigned long flags;
	int ret = -EEXIST;

	if (list >= policy->nr_lists)
		return -ENOENT;
	node = lock_owned(policy, folio, &flags);
	if (!node)
		return -ESTALE;

	if (folio->list == CACHEBPF_UNLISTED)
		cachebpf_unlink(policy, folio);
	if (folio->list == CACHEBPF_NO_LIST) {
		cachebpf_link(policy, folio, list, tail);
		ret = 0;
	}
	spin_unlock_irqrestore(&node->lock, flags);
	return ret;
}

/**
 * bpf_cachebpf_list_move - move a folio to an end of a list
 * @policy: the calling policy
 * @folio: one of its folios, on whatever list
 * @list: number of the list to move to
 * @tail: to the tail, else to the head
 *
 * Return: 0; -ENOENT no such list, -ESTALE not this policy's folio any more.
 */
__bpf_kfunc int bpf_cachebpf_list_move(struct cachebpf_policy *policy,
				       struct cachebpf_folio *folio, u32 list, bool tail)
{
	struct cachebpf_node *node;
	unsigned long flags;

	if (list >= policy->nr_lists)
		return -ENOENT;
	node = lock_owned(policy, folio, &flags);
	if (!node)
		return -ESTALE;

	/* still in folio_added(): there is nothing to take it from */
	if (folio->list != CACHEBPF_NO_LIST)
		cachebpf_unlink(policy, folio);
	cachebpf_link(policy, folio, list, tail);
	spin_unlock_irqrestore(&node->lock, flags);
	return 0;
}

/**
 * bpf_cachebpf_list_del - take a folio off its list
 * @policy: the calling policy
 * @folio: one of its folios
 *
 * It stays managed and comes back when the policy adds it to a list again.
 *
 * Return: 0; -ESTALE not this policy's folio any more.
 */
__bpf_kfunc int bpf_cachebpf_list_del(struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	return bpf_cachebpf_list_move(policy, folio, CACHEBPF_UNLISTED, true);
}

/**
 * bpf_cachebpf_list_len - pages on a list, all nodes together
 * @policy: the calling policy
 * @list: number of the list
 */
__bpf_kfunc u64 bpf_cachebpf_list_len(struct cachebpf_policy *policy, u32 list)
{
	u64 nr = 0;
	int nid;

	if (list < policy->nr_lists)
		for_each_node_state(nid, N_MEMORY)
			nr += READ_ONCE(policy->nodes[nid]->lists[list]->nr_pages);
	return nr;
}

/**
 * bpf_cachebpf_data - the 16 bytes of a folio that belong to the policy
 * @folio: a folio
 * @rdwr_buf_size: bytes wanted, at most 16; a constant
 *
 * They are zero when the folio is added and follow it through migration.
 */
__bpf_kfunc u8 *bpf_cachebpf_data(struct cachebpf_folio *folio, const size_t rdwr_buf_size)
{
	return rdwr_buf_size <= CACHEBPF_DATA_SIZE ? (u8 *)folio->data : NULL;
}

/**
 * bpf_cachebpf_evict - propose a folio, after those proposed before
 * @evict: the request
 * @folio: the folio
 *
 * Return: 0; -ENOSPC when the request is full: no need to go on.
 */
__bpf_kfunc int bpf_cachebpf_evict(struct cachebpf_evict *evict, struct cachebpf_folio *folio)
{
	if (evict->nr_proposed >= evict->nr_wanted)
		return -ENOSPC;
	evict->candidates[evict->nr_proposed++] = (struct cachebpf_candidate) {
		.pfn = cachebpf_folio_pfn(folio),
		.score = S64_MIN,
	};
	return evict->nr_proposed < evict->nr_wanted ? 0 : -ENOSPC;
}

/**
 * bpf_cachebpf_rank - offer a folio with a score, of which the lowest win
 * @evict: the request
 * @folio: the folio
 * @score: lower is evicted first; of equal scores the one offered first
 *
 * After any number of offers the request holds exactly the nr_wanted lowest.
 */
__bpf_kfunc void bpf_cachebpf_rank(struct cachebpf_evict *evict, struct cachebpf_folio *folio,
				   s64 score)
{
	struct cachebpf_candidate *c = evict->candidates;
	u32 i = evict->nr_proposed;

	if (i < evict->nr_wanted)
		evict->nr_proposed++;
	else if (!i || score >= c[--i].score)
		return;

	for (; i && c[i - 1].score > score; i--)
		c[i] = c[i - 1];
	c[i].score = score;
	c[i].pfn = cachebpf_folio_pfn(folio);
}

/**
 * bpf_iter_cachebpf_list_new - walk a list, on the node that is being reclaimed
 * @it: the iterator
 * @evict: the request, of the calling policy
 * @list: number of the list
 * @nr_max: folios to offer at most; 0: no limit but the length of the list
 * @flags: enum cachebpf_iter_flags
 *
 * Folios that reclaim could not take now (locked, dirty, under writeback, not
 * yet on the LRU, outside the cgroup that is being reclaimed) are passed over.
 *
 * Return: 0; -ENOENT no such list, -EINVAL unknown flags.
 */
__bpf_kfunc int bpf_iter_cachebpf_list_new(struct bpf_iter_cachebpf_list *it,
					   struct cachebpf_evict *evict, u32 list, u32 nr_max,
					   u32 flags)
{
	struct cachebpf_iter *iter = (void *)it;
	struct cachebpf_policy *policy = evict->policy;
	struct cachebpf_node *node = policy->nodes[evict->nid];
	unsigned long irq;

	iter->list = NULL;
	if (flags & ~(CACHEBPF_ITER_REVERSE | CACHEBPF_ITER_ROTATE))
		return -EINVAL;
	if (list >= policy->nr_lists)
		return -ENOENT;

	iter->evict = evict;
	iter->list_id = list;
	iter->flags = flags;
	iter->list = node->lists[list];
	iter->nr_used = iter->nr_batch = 0;

	spin_lock_irqsave(&node->lock, irq);
	iter->cursor = flags & CACHEBPF_ITER_REVERSE ? iter->list->tail : iter->list->head;
	iter->nr_left = iter->list->nr_folios;
	iter->nr_offers = nr_max ?: iter->nr_left;
	list_add(&iter->link, &iter->list->iters);
	spin_unlock_irqrestore(&node->lock, irq);
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

		f = cachebpf_table_lookup(iter->batch[iter->nr_used++]);
		/* it may have gone since it was read ahead, and another one be there */
		if (likely(f && READ_ONCE(f->owner) == iter->evict->policy->id &&
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
	struct cachebpf_policy *policy;
	struct cachebpf_node *node;
	unsigned long irq;

	if (!iter->list)
		return;
	policy = iter->evict->policy;
	node = policy->nodes[iter->evict->nid];
	spin_lock_irqsave(&node->lock, irq);
	cachebpf_list_rotate(policy, iter);
	list_del(&iter->link);
	spin_unlock_irqrestore(&node->lock, irq);
}

__bpf_kfunc_end_defs();
