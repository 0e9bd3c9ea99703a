// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a policy proposes folios to a request: one by one, one by one with a
 * score, or by having the kernel score the beginning of a list.
 */
#include <linux/bpf.h>
#include <linux/btf_ids.h>
#include <linux/mm.h>

#include "kfunc.h"

/* what it costs to look up a cgroup's protection, in visits */
#define VERDICT_VISITS	512

/*
 * Is @folio in a cgroup that memory.min or memory.low keeps from being reclaimed
 * now, where @guard has to be asked?  If that takes long it costs @visits_left.
 */
static bool is_kept(struct cachebpf_reclaim *guard, struct folio *folio, u32 *visits_left)
{
	struct mem_cgroup *memcg = folio_memcg_check(folio);
	u32 nr_verdicts = guard->nr_verdicts;
	bool kept;

	if (!memcg)
		return false;
	kept = cachebpf_is_protected(guard, memcg);
	if (guard->nr_verdicts != nr_verdicts)
		*visits_left -= min(*visits_left, VERDICT_VISITS);
	guard->nr_refused += kept;
	return kept;
}

/**
 * cachebpf_worth_offering - could reclaim take a folio now?
 * @evict: the request
 * @folio: the folio; a guess is made without a reference
 */
bool cachebpf_worth_offering(struct cachebpf_evict *evict, struct folio *folio)
{
	const unsigned long busy = BIT(PG_locked) | BIT(PG_dirty) | BIT(PG_writeback) |
				   BIT(PG_unevictable);
	struct cachebpf_reclaim *guard = cachebpf_call(evict)->guard;
	unsigned long flags = READ_ONCE(folio->flags);

	if ((flags & (busy | BIT(PG_lru))) != BIT(PG_lru))
		return false;
	/* somebody is using it at this moment: a reader, or a batch on its way to the LRU */
	if (folio_ref_count(folio) > folio_nr_pages(folio) + folio_mapcount(folio) +
				     !!(flags & BIT(PG_private)))
		return false;
	return likely(!guard) || !is_kept(guard, folio, &evict->visits_left);
}

/* Would a folio of @score be among those that the request holds? */
static bool would_win(struct cachebpf_evict *evict, s64 score)
{
	return evict->nr_proposed < evict->nr_wanted ||
	       score < cachebpf_call(evict)->candidates[evict->nr_folios - 1].score;
}

/* Keep the candidates sorted, and no more of them than the request is for. */
static void insert_candidate(struct cachebpf_evict *evict, struct cachebpf_folio *f, s64 score)
{
	struct cachebpf_candidate *c = cachebpf_call(evict)->candidates;
	u32 i, surplus;

	for (i = evict->nr_folios++; i && c[i - 1].score > score; i--)
		c[i] = c[i - 1];
	c[i].score = score;
	c[i].folio = f;
	evict->nr_proposed += 1U << f->order;

	while (evict->nr_folios > 1) {
		/* a frame may begin a larger folio now than when it was proposed */
		surplus = min(1U << c[evict->nr_folios - 1].folio->order, evict->nr_proposed);
		if (evict->nr_folios <= CACHEBPF_BATCH &&
		    evict->nr_proposed < evict->nr_wanted + surplus)
			break;
		evict->nr_proposed -= surplus;
		evict->nr_folios--;
	}
}

static s64 score_by(const struct cachebpf_folio *f, u32 key)
{
	/* unread or read once: it was used once */
	return key == CACHEBPF_BY_ACCESSES ? max_t(u16, f->accesses, 1) : (s64)f->data[0];
}

__bpf_kfunc_start_defs();

/**
 * bpf_cachebpf_evict - propose a folio, after those proposed before
 * @evict: the request
 * @folio: the folio
 *
 * Return: 0; -ENOSPC when the request is full: no need to go on.
 */
__bpf_kfunc int bpf_cachebpf_evict(struct cachebpf_evict *evict, struct cachebpf_folio *folio)
{
	if (evict->nr_proposed >= evict->nr_wanted || evict->nr_folios == CACHEBPF_BATCH)
		return -ENOSPC;
	cachebpf_call(evict)->candidates[evict->nr_folios++] = (struct cachebpf_candidate) {
		.folio = folio,
		.score = S64_MIN,
	};
	evict->nr_proposed += 1U << folio->order;
	return evict->nr_proposed < evict->nr_wanted ? 0 : -ENOSPC;
}

/**
 * bpf_cachebpf_rank - offer a folio with a score, of which the lowest win
 * @evict: the request
 * @folio: the folio
 * @score: lower is evicted first; of equal scores the one offered first
 *
 * After any number of offers the request holds exactly the lowest, as many as
 * it takes for nr_wanted pages.
 */
__bpf_kfunc void bpf_cachebpf_rank(struct cachebpf_evict *evict, struct cachebpf_folio *folio,
				   s64 score)
{
	if (would_win(evict, score))
		insert_candidate(evict, folio, score);
}

/**
 * bpf_cachebpf_rank_list - offer the folios at the head of a list, with a score each
 * @evict: the request
 * @list_id: number of the list
 * @nr_scan: folios to look at
 * @key: what the score is, enum cachebpf_rank_key
 *
 * As bpf_cachebpf_rank() for each of the first @nr_scan folios that are not in a
 * protected cgroup, without a call of BPF for each.  What was looked at moves to
 * the tail, so that the next request looks at others.
 *
 * Return: 0; -ENOENT no such list, -EINVAL no such key.
 */
__bpf_kfunc int bpf_cachebpf_rank_list(struct cachebpf_evict *evict, u32 list_id, u32 nr_scan,
				       u32 key)
{
	struct cachebpf_policy *policy = evict->policy;
	struct cachebpf_reclaim *guard = cachebpf_call(evict)->guard;
	struct cachebpf_node *node = policy->nodes[evict->nid];
	struct cachebpf_folio *f = NULL;
	struct cachebpf_list *list;
	struct folio *folio;
	u32 pfn, nr_left, nr_visits, nr;
	unsigned long irq;
	s64 score;

	if (list_id >= policy->nr_lists)
		return -ENOENT;
	if (key > CACHEBPF_BY_DATA)
		return -EINVAL;
	list = node->lists[list_id];

	spin_lock_irqsave(&node->lock, irq);
	nr_left = min_t(unsigned long, list->nr_folios, evict->visits_left);
	while (list->head.pfn && nr_left && nr_scan) {
		nr_visits = min3(nr_left, nr_scan, (u32)CACHEBPF_LOCK_BATCH);
		for (pfn = list->head.pfn, nr = nr_visits; pfn && nr; nr--) {
			f = cachebpf_table_entry(pfn);
			folio = pfn_folio(pfn);
			pfn = f->next;
			if (unlikely(guard) && is_kept(guard, folio, &evict->visits_left)) {
				nr_scan++;
				continue;
			}

			score = score_by(f, key);
			if (would_win(evict, score) && cachebpf_worth_offering(evict, folio) &&
			    !cachebpf_spare_unread(evict, f))
				insert_candidate(evict, f, score);
		}
		nr_visits -= nr;
		nr_scan -= nr_visits;
		evict->visits_left -= min(evict->visits_left, nr_visits);
		nr_left = min(nr_left - nr_visits, evict->visits_left);
		if (f && f->next)
			cachebpf_move_run(list, f);
		f = NULL;
		spin_unlock_irqrestore(&node->lock, irq);
		spin_lock_irqsave(&node->lock, irq);
	}
	spin_unlock_irqrestore(&node->lock, irq);
	return 0;
}

__bpf_kfunc_end_defs();
