// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reclaim: from a request to the policy, over the check of every candidate, to
 * a batch of isolated folios that shrink_folio_list() takes.
 *
 * Nothing a policy says is believed.  A candidate is a page frame number; it
 * is taken only if the folio there, with a reference held, is one that this
 * policy manages, below the cgroup that is being reclaimed, on this node and
 * on the LRU.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/sched/clock.h>
#include <linux/swap.h>

#include "internal.h"

/**
 * cachebpf_reclaim_begin - does a policy decide about the file folios of @lruvec?
 * @r: the round; the caller has set @target, @reclaim_idx, @may_unmap, @low_ok
 * @lruvec: what stock reclaim would shrink
 * @nr_needed: pages the reclaimer still needs in all
 * @nr_share: file pages it would scan in @lruvec
 *
 * Reclaim for the policy's own cgroup, or for one below it, asks for what is
 * needed.  Reclaim that started above, where other cgroups take part, asks for
 * no more than this lruvec's share.
 *
 * Return: true if the caller is to propose, isolate, settle and end.
 */
bool cachebpf_reclaim_begin(struct cachebpf_reclaim *r, struct lruvec *lruvec,
			    unsigned long nr_needed, unsigned long nr_share)
{
	struct cachebpf_policy *policy;
	struct mem_cgroup *memcg = lruvec_memcg(lruvec);
	int nid = lruvec_pgdat(lruvec)->node_id;
	bool inside;

	if (!cachebpf_enabled() || !memcg)
		return false;

	rcu_read_lock();
	policy = rcu_dereference(memcg->cachebpf);
	/* what was rejected goes first, whoever decides about the others */
	r->nr_rejected = policy ? cachebpf_nr_rejected(policy, nid) : 0;
	if (!policy || (READ_ONCE(policy->flags) & CACHEBPF_NOT_ASKED && !r->nr_rejected) ||
	    !refcount_inc_not_zero(&policy->ref)) {
		rcu_read_unlock();
		return false;
	}
	rcu_read_unlock();

	inside = r->target && mem_cgroup_is_descendant(r->target, policy->memcg);
	r->policy = policy;
	r->scope = inside && r->target != policy->memcg ? r->target : NULL;
	r->want = inside ? nr_needed : min(nr_needed, nr_share);
	r->nid = nid;
	r->nr_isolated = 0;
	r->judged = NULL;
	r->exhausted = false;
	memset(&r->sum, 0, sizeof(r->sum));
	return true;
}

/* Have the policy make its proposals. */
static void ask(struct cachebpf_reclaim *r, struct cachebpf_evict *evict)
{
	struct cachebpf_policy *policy = r->policy;
	struct cachebpf_ops *ops;
	u64 ns = 0;

	rcu_read_lock();
	ops = rcu_dereference(policy->ops);
	if (ops) {
		ns = local_clock();
		ops->evict_folios(policy, evict);
		ns = max_t(s64, local_clock() - ns, 0);
	}
	rcu_read_unlock();

	r->sum.ns += ns;
	r->exhausted |= !evict->visits_left;
	cachebpf_count(policy, CACHEBPF_STAT_EVICT_CALLS, 1);
	cachebpf_count(policy, CACHEBPF_STAT_EVICT_NS, ns);
	cachebpf_watchdog_call(policy, ns);
}

/**
 * cachebpf_reclaim_propose - find candidates: rejected folios, then the policy's
 * @r: the round
 * @nr: pages wanted
 *
 * Return: whether there are any.
 */
noinline_for_stack bool cachebpf_reclaim_propose(struct cachebpf_reclaim *r, unsigned long nr)
{
	struct cachebpf_policy *policy = r->policy;
	struct cachebpf_evict evict;
	int i;

	evict.nr_wanted = min_t(unsigned long, nr, CACHEBPF_BATCH);
	evict.nr_proposed = 0;
	evict.nid = r->nid;
	evict.visits_left = CACHEBPF_MAX_VISITS;
	evict.policy = policy;
	evict.scope = r->scope;

	if (r->nr_rejected)
		cachebpf_offer_rejected(&evict, &r->nr_rejected);
	if (!evict.nr_proposed && !(READ_ONCE(policy->flags) & CACHEBPF_NOT_ASKED))
		ask(r, &evict);

	for (i = 0; i < evict.nr_proposed; i++)
		r->pfn[i] = evict.candidates[i].pfn;
	r->nr_proposed = evict.nr_proposed;
	r->nr_isolated = 0;

	cachebpf_count(policy, CACHEBPF_STAT_EVICT_PROPOSED, r->nr_proposed);
	r->sum.proposed += r->nr_proposed;
	return r->nr_proposed;
}

static bool owned(struct cachebpf_policy *policy, unsigned long pfn)
{
	struct cachebpf_folio *f = cachebpf_table_lookup(pfn);

	return f && READ_ONCE(f->owner) == policy->id;
}

/*
 * Bring the effective protection of @memcg up to date.  Reclaim does so when
 * its walk comes to a cgroup, but a policy may propose folios of one that the
 * walk has not come to yet.  From the top down: each depends on its parent's.
 */
static void calculate_protection(struct mem_cgroup *target, struct mem_cgroup *memcg)
{
	struct mem_cgroup *done = target ?: root_mem_cgroup, *next;

	while (done != memcg) {
		for (next = memcg; next && parent_mem_cgroup(next) != done;)
			next = parent_mem_cgroup(next);
		if (!next)
			return;
		mem_cgroup_calculate_protection(target, next);
		done = next;
	}
}

/* Would it be against the protection of a cgroup below the policy's? */
static bool protected(struct cachebpf_reclaim *r, struct mem_cgroup *memcg)
{
	if (memcg == r->policy->memcg || memcg == r->target)
		return false;
	/* neighbours on a list mostly belong together: judge a cgroup once */
	if (memcg != r->judged) {
		calculate_protection(r->target, memcg);
		r->judged = memcg;
		r->judged_protected = mem_cgroup_below_min(r->target, memcg) ||
				      (!r->low_ok && mem_cgroup_below_low(r->target, memcg));
	}
	return r->judged_protected;
}

/* Is @folio, of which the caller has a reference, @r's to take?  If not, why. */
static bool may_take(struct cachebpf_reclaim *r, struct folio *folio, unsigned long pfn,
		     enum cachebpf_stat *why)
{
	struct mem_cgroup *memcg = folio_memcg_check(folio);

	*why = CACHEBPF_STAT_REJECT_STALE;
	if (folio_pfn(folio) != pfn || !owned(r->policy, pfn) || !memcg ||
	    !folio_is_file_lru(folio) || !READ_ONCE(folio->mapping))
		return false;

	*why = CACHEBPF_STAT_REJECT_SCOPE;
	if (folio_nid(folio) != r->nid ||
	    (r->scope && !mem_cgroup_is_descendant(memcg, r->scope)))
		return false;

	/* what a policy cannot know of */
	*why = CACHEBPF_STAT_REJECT_PROTECTED;
	if (folio_zonenum(folio) > r->reclaim_idx || protected(r, memcg))
		return false;

	*why = CACHEBPF_STAT_REJECT_BUSY;
	return folio_test_lru(folio) && !folio_test_unevictable(folio) &&
	       (r->may_unmap || !folio_mapped(folio));
}

/* Count a candidate that is not taken; if it was nonsense, the watchdog wants to know. */
static noinline_for_stack void reject(struct cachebpf_reclaim *r, unsigned long pfn,
				      enum cachebpf_stat why)
{
	bool garbage = why == CACHEBPF_STAT_REJECT_STALE || why == CACHEBPF_STAT_REJECT_SCOPE;
	int i;

	/* the same candidate twice? */
	for (i = 0; why == CACHEBPF_STAT_REJECT_BUSY && i < r->nr_isolated && !garbage; i++)
		garbage = r->isolated[i] == pfn;
	r->sum.garbage += garbage;
	cachebpf_count(r->policy, why, 1);
}

/*
 * Take references on those candidates that may be taken and that belong to the
 * lruvec of the first of them; leave candidates of other lruvecs for the next
 * call.  Returns the number of folios.
 */
static int pin_candidates(struct cachebpf_reclaim *r, struct folio **folios)
{
	struct lruvec *lruvec = NULL;
	enum cachebpf_stat why;
	int i, nr = 0;

	rcu_read_lock();
	for (i = 0; i < r->nr_proposed; i++) {
		unsigned long pfn = r->pfn[i];
		struct folio *folio;

		if (!pfn)
			continue;
		r->pfn[i] = 0;
		folio = page_folio(pfn_to_page(pfn));
		if (!folio_try_get(folio)) {
			/* somebody is taking it apart at this moment, or did so */
			reject(r, pfn, owned(r->policy, pfn) ? CACHEBPF_STAT_REJECT_BUSY :
							       CACHEBPF_STAT_REJECT_STALE);
			continue;
		}
		if (!may_take(r, folio, pfn, &why)) {
			reject(r, pfn, why);
			folio_put(folio);
			continue;
		}
		if (lruvec && folio_lruvec(folio) != lruvec) {
			r->pfn[i] = pfn;
			folio_put(folio);
			continue;
		}
		lruvec = folio_lruvec(folio);
		folios[nr++] = folio;
	}
	rcu_read_unlock();
	return nr;
}

/**
 * cachebpf_reclaim_isolate - take candidates of one lruvec off the LRU
 * @r: the round, after propose
 * @list: where they go; empty
 * @nr_taken: pages on it
 *
 * To be called until it returns NULL: a policy's folios can be spread over the
 * lruvecs of several cgroups.
 *
 * Return: the lruvec they came from.
 */
noinline_for_stack struct lruvec *
cachebpf_reclaim_isolate(struct cachebpf_reclaim *r, struct list_head *list,
			 unsigned long *nr_taken)
{
	struct folio *folios[CACHEBPF_BATCH];
	struct lruvec *lruvec;
	int i, nr, nr_busy;

	do {
		nr = pin_candidates(r, folios);
		if (!nr)
			return NULL;

		*nr_taken = 0;
		nr_busy = 0;
		lruvec = folio_lruvec_lock_irq(folios[0]);
		for (i = 0; i < nr; i++) {
			struct folio *folio = folios[i];

			/* another reclaimer, or the same candidate twice */
			if (!folio_matches_lruvec(folio, lruvec) || !folio_test_clear_lru(folio)) {
				folios[nr_busy++] = folio;
				continue;
			}
			lruvec_del_folio(lruvec, folio);
			if (folio_test_active(folio)) {
				folio_clear_active(folio);
				folio_set_workingset(folio);
			}
			list_add_tail(&folio->lru, list);
			*nr_taken += folio_nr_pages(folio);
			r->isolated[r->nr_isolated++] = folio_pfn(folio);
		}
		unlock_page_lruvec_irq(lruvec);

		/* a last reference must not be dropped under the lru_lock */
		for (i = 0; i < nr_busy; i++) {
			reject(r, folio_pfn(folios[i]), CACHEBPF_STAT_REJECT_BUSY);
			folio_put(folios[i]);
		}
		r->sum.isolated += nr - nr_busy;
	} while (!*nr_taken);

	cachebpf_count(r->policy, CACHEBPF_STAT_EVICT_ISOLATED, *nr_taken);
	return lruvec;
}

/**
 * cachebpf_reclaim_settle - what became of the isolated folios
 * @r: the round, after shrink_folio_list()
 *
 * A folio that is still there and was activated had been used through a
 * mapping; the policy hears of that use here.
 */
void cachebpf_reclaim_settle(struct cachebpf_reclaim *r)
{
	int i, nr_kept = 0;

	rcu_read_lock();
	for (i = 0; i < r->nr_isolated; i++) {
		struct folio *folio = pfn_folio(r->isolated[i]);

		if (!owned(r->policy, r->isolated[i]))
			continue;
		nr_kept++;
		if (!folio_try_get(folio))
			continue;
		if (folio_test_active(folio) && owned(r->policy, folio_pfn(folio)))
			__cachebpf_folio_accessed(folio);
		folio_put(folio);
	}
	rcu_read_unlock();
	cachebpf_count(r->policy, CACHEBPF_STAT_REJECT_KEPT, nr_kept);
	/* not one could be had: it is the policy's turn */
	if (nr_kept == r->nr_isolated)
		r->nr_rejected = 0;
	r->nr_isolated = 0;
}

/* @nr_reclaimed: pages that the whole round brought; ends the use of the policy. */
void cachebpf_reclaim_end(struct cachebpf_reclaim *r, unsigned long nr_reclaimed)
{
	/* of a policy without say in reclaim rejected folios are wanted, if there are any */
	if (r->policy->flags & CACHEBPF_F_STOCK_RECLAIM)
		r->want = nr_reclaimed;
	cachebpf_count(r->policy, CACHEBPF_STAT_EVICT_ASKED, r->want);
	cachebpf_count(r->policy, CACHEBPF_STAT_EVICT_RECLAIMED, nr_reclaimed);
	if (nr_reclaimed < r->want)
		cachebpf_count(r->policy, CACHEBPF_STAT_EVICT_FALLBACK, r->want - nr_reclaimed);
	cachebpf_watchdog_round(r, nr_reclaimed);
	cachebpf_policy_put(r->policy);
}
