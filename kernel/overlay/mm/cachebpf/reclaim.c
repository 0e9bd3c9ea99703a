// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reclaim: from a request to the policy to the check of every candidate.  What
 * becomes of those that are taken is in isolate.c.
 *
 * Nothing a policy says is believed.  A candidate is a page frame number; it
 * is taken only if the folio there, with a reference held, is one that this
 * policy manages, on this node, on the LRU, and not protected.
 *
 * A policy is asked when its own cgroup is reclaimed, or one above.  Where a
 * cgroup below reaches a limit of its own, stock reclaim decides: the lists are
 * the policy's, one order for all that it serves.  To find one child's folios in
 * there means to walk over its siblings', with a cost that depends on what those
 * have cached, and to disorder them.  Stock reclaim has a list for each cgroup.
 * Who wants a policy for such a cgroup attaches one to it.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/sched/clock.h>
#include <linux/swap.h>

#include "delay.h"
#include "internal.h"

/* Rejected pages that are spared in any case: two windows of readahead of 512 KiB. */
#define REJECTED_SPARED	256UL

/*
 * After so many rounds in vain a policy is asked in one of as many; one in which it
 * looked at as much as it may counts as several.
 */
#define VAIN_ROUNDS	256
#define LONG_WALK	16
/* Cgroups from one that is reclaimed down to one whose protection is looked up. */
#define MAX_DEPTH	16
/* The least that reclaim from above asks a cgroup for, as MGLRU's evict_folios() does. */
#define SMALLEST_SHARE	((unsigned long)BITS_PER_LONG)
/* between two looks at what there is beside the policy's folios */
#define OTHERS_DELAY	HZ
/* the part of few pages in a small request is less than one */
#define DUE_UNIT	1024UL

/*
 * How many of @nr pages fall to a node on which @policy has @here.  Reclaim for
 * a cgroup tries one node after the other: the first one is not to pay for all.
 */
static unsigned long share_of_node(struct cachebpf_policy *policy, unsigned long here,
				   unsigned long nr)
{
	unsigned long all = 0;
	int nid;

	if (num_node_state(N_MEMORY) == 1 || !here)
		return nr;
	for_each_node_state(nid, N_MEMORY)
		all += cachebpf_pages_on(policy, nid);
	all = max(all, here);
	/* what it has not got is stock reclaim's */
	if (nr >= all)
		return nr;
	return DIV_ROUND_UP(nr * here, all);
}

/*
 * How many of @nr rejected folios are not taken while the policy has others,
 * unless they were used.  Read to their end, they would have been dropped: most
 * of those that are left were read ahead, and are read next.  To take them all
 * would have them read twice.
 */
static unsigned long nr_to_spare(struct cachebpf_policy *policy, int nid, unsigned long nr)
{
	unsigned long max = max(REJECTED_SPARED, cachebpf_pages_on(policy, nid) / 32);
	unsigned long pages = READ_ONCE(policy->nodes[nid]->rejected.nr_pages);

	return pages > max ? mult_frac(nr, max, pages) : nr;
}

/*
 * Has @policy had nothing to give for so many rounds that it is not worth to ask
 * it this time?  Where all is locked or dirty reclaim comes back at once, for
 * each cgroup and at each priority, before it gives up.
 */
static bool in_vain(struct cachebpf_policy *policy)
{
	u32 nr = READ_ONCE(policy->nr_vain);

	return nr > VAIN_ROUNDS && nr % VAIN_ROUNDS;
}

/*
 * What this task reclaims now, until it asks a policy again, is what @policy
 * should have proposed; NULL: nobody should.
 */
static void has_fallen_short(struct cachebpf_policy *policy)
{
	if (current->reclaim_state)
		current->reclaim_state->cachebpf_id = policy ? policy->id : 0;
}

/* @nr pages of @policy are reclaimed by this task: by stock reclaim, where it had fallen short? */
void cachebpf_reclaimed(struct cachebpf_policy *policy, unsigned long nr)
{
	/* there is something to be had: it is to be asked again, unless it does not come to that */
	if (unlikely(READ_ONCE(policy->nr_vain)) && !READ_ONCE(policy->in_the_way))
		WRITE_ONCE(policy->nr_vain, 0);
	if (likely(!current->reclaim_state || current->reclaim_state->cachebpf_id != policy->id))
		return;
	atomic_long_add(nr, &policy->watchdog.nr_stock);
}

/* Is reclaim for @target aimed at a part of what a policy of @memcg serves? */
static bool is_below(struct mem_cgroup *target, struct mem_cgroup *memcg)
{
	return target && target != memcg && mem_cgroup_is_descendant(target, memcg);
}

/* Does @memcg have the first policy on the way down from @policy? */
static bool begins_nested(struct cachebpf_policy *policy, struct mem_cgroup *memcg)
{
	struct cachebpf_policy *nested;
	bool begins;

	rcu_read_lock();
	nested = rcu_dereference(memcg->cachebpf);
	begins = nested && nested->memcg == memcg && memcg != policy->memcg &&
		 rcu_access_pointer(parent_mem_cgroup(memcg)->cachebpf) == policy;
	rcu_read_unlock();
	return begins;
}

/*
 * Pages of @memcg and what is below it on the LRU of files of the node @nid, in
 * nested policies' cgroups as well.  As of the last flush of its statistics.
 */
static unsigned long nr_on_lru(struct mem_cgroup *memcg, int nid)
{
	struct lruvec *lruvec = mem_cgroup_lruvec(memcg, NODE_DATA(nid));

	return lruvec_page_state(lruvec, NR_INACTIVE_FILE) +
	       lruvec_page_state(lruvec, NR_ACTIVE_FILE);
}

/* Pages on the node @nid beside those of @policy, and of policies below it, as nr_on_lru(). */
static unsigned long nr_beside(struct cachebpf_policy *policy, int nid)
{
	unsigned long nr = nr_on_lru(policy->memcg, nid), nr_known = cachebpf_pages_on(policy, nid);
	struct mem_cgroup *memcg;

	if (READ_ONCE(policy->shares) && nr > nr_known) {
		for (memcg = mem_cgroup_iter(policy->memcg, NULL, NULL); memcg;
		     memcg = mem_cgroup_iter(policy->memcg, memcg, NULL))
			if (begins_nested(policy, memcg))
				nr_known += nr_on_lru(memcg, nid);
	}
	nr -= min(nr, nr_known);
	return nr < SMALLEST_SHARE ? 0 : nr;
}

/*
 * How many pages are there for stock reclaim alone to find: those that were freed
 * lazily (MADV_FREE), and what has no entry?  The latter can have one now: that is
 * tried if there are more than when it was tried in vain.  To know it takes
 * statistics that are up to date, so it is looked up now and then, and only if the
 * old ones say that there are some.
 */
static void count_others(struct cachebpf_policy *policy)
{
	unsigned long nr, nr_all = 0, nr_found = 0;
	int nid;

	if (time_before(jiffies, READ_ONCE(policy->counted_at) + OTHERS_DELAY))
		return;
	WRITE_ONCE(policy->counted_at, jiffies);
	for_each_node_state(nid, N_MEMORY)
		nr_all += nr_beside(policy, nid);
	if (nr_all)
		cgroup_rstat_flush(policy->memcg->css.cgroup);
	for_each_node_state(nid, N_MEMORY) {
		nr = nr_all ? nr_beside(policy, nid) : 0;
		WRITE_ONCE(policy->nodes[nid]->nr_others, nr);
		nr_found += nr;
	}
	if (nr_found >= READ_ONCE(policy->nr_hopeless) + SMALLEST_SHARE)
		cachebpf_adopt_later(policy);
	else if (nr_found < READ_ONCE(policy->nr_hopeless))
		WRITE_ONCE(policy->nr_hopeless, nr_found);
}

/*
 * Is it the turn of pages that @policy does not have, where it would be asked for
 * @nr, and stock reclaim would scan @nr_share?  They have their part of all.
 */
static bool is_turn_of_others(struct cachebpf_policy *policy, int nid, unsigned long nr_pages,
			      unsigned long nr, unsigned long nr_share)
{
	struct cachebpf_node *node = policy->nodes[nid];
	unsigned long nr_others, part, due;
	bool turn;

	count_others(policy);
	nr_others = READ_ONCE(node->nr_others);
	if (likely(!nr_others) || !nr)
		return false;
	/* what has gone meanwhile is not due */
	due = min(READ_ONCE(node->due), nr_others * DUE_UNIT);
	turn = due >= min(nr, nr_others) * DUE_UNIT;
	/* a scan of nothing counts a little, or they would have the turn for ever */
	part = turn ? max(nr_share, nr / 16 + 1) * DUE_UNIT :
		      mult_frac(nr * DUE_UNIT, nr_others, nr_others + nr_pages);
	/* of two reclaimers that come at the same time one may not count */
	WRITE_ONCE(node->due, turn ? due - min(due, part) : due + part);
	return turn;
}

/**
 * cachebpf_reclaim_begin - does a policy decide about the file folios of @lruvec?
 * @r: the round; the caller has set what it knows from its scan_control
 * @lruvec: what stock reclaim would shrink
 * @nr_share: file pages it would scan in @lruvec
 *
 * Reclaim for the policy's own cgroup asks for what is needed.  Reclaim that
 * started above, where other cgroups take part, asks for this lruvec's share,
 * whatever the others have given.
 *
 * Return: true if the caller is to propose, isolate, settle and end.
 */
bool cachebpf_reclaim_begin(struct cachebpf_reclaim *r, struct lruvec *lruvec,
			    unsigned long nr_share)
{
	struct cachebpf_policy *policy;
	struct mem_cgroup *memcg = lruvec_memcg(lruvec);
	int nid = lruvec_pgdat(lruvec)->node_id;
	bool had_turn = r->turn_of_others;
	unsigned long nr_pages;

	r->turn_of_others = false;
	if (!cachebpf_enabled() || !memcg)
		return false;

	has_fallen_short(NULL);
	rcu_read_lock();
	policy = rcu_dereference(memcg->cachebpf);
	if (!policy || is_below(r->target, policy->memcg))
		goto no;
	if (unlikely(in_vain(policy))) {
		WRITE_ONCE(policy->nr_vain, READ_ONCE(policy->nr_vain) + 1);
		goto no;
	}
	/* what was rejected goes first, whoever decides about the others */
	r->nr_rejected = cachebpf_nr_rejected(policy, nid);
	r->nr_spared = r->nr_rejected ? nr_to_spare(policy, nid, r->nr_rejected) : 0;
	if (r->nr_rejected && r->nr_rejected == r->nr_spared &&
	    !cachebpf_some_rejected_used(policy, nid))
		r->nr_rejected = 0;
	if ((READ_ONCE(policy->flags) & CACHEBPF_NOT_ASKED && !r->nr_rejected) ||
	    !refcount_inc_not_zero(&policy->ref))
		goto no;
	rcu_read_unlock();
	cachebpf_check_buckets(policy);

	r->policy = policy;
	r->own = r->target == policy->memcg && !READ_ONCE(policy->shares);
	nr_pages = cachebpf_pages_on(policy, nid);
	if (r->own)
		r->share = min(share_of_node(policy, nr_pages, r->nr_of_files),
			       r->nr_to_reclaim - min(r->nr_to_reclaim, r->nr_reclaimed));
	else
		r->share = min(nr_share, max(r->nr_to_reclaim, SMALLEST_SHARE));
	r->want = min(r->share, nr_pages);
	r->turn_of_others = !had_turn &&
			    is_turn_of_others(policy, nid, nr_pages, r->want, nr_share);
	if (r->turn_of_others) {
		cachebpf_policy_put(policy);
		return false;
	}
	r->nid = nid;
	r->nr_isolated = 0;
	r->taken_from = NULL;
	r->nr_refused = 0;
	r->in_the_way = false;
	r->ran_before = READ_ONCE(current->se.sum_exec_runtime);
	/* shrink_one() comes back to a cgroup that memory.low protects when there are no others */
	r->despite_low = lru_gen_enabled() && !r->target ? memcg : NULL;
	memset(&r->sum, 0, sizeof(r->sum));
	return true;
no:
	rcu_read_unlock();
	return false;
}

/*
 * Bring the effective protection of @memcg up to date.  Reclaim does so when
 * its walk comes to a cgroup, but a policy may propose folios of one that the
 * walk has not come to yet.  From the top down: each depends on its parent's.
 * Of those that are far down it is left as it is: interrupts can be off.
 */
static void calculate_protection(struct mem_cgroup *target, struct mem_cgroup *memcg)
{
	struct mem_cgroup *top = target ?: root_mem_cgroup, *path[MAX_DEPTH];
	int nr = 0;

	for (; memcg && memcg != top; memcg = parent_mem_cgroup(memcg)) {
		if (nr == MAX_DEPTH)
			return;
		path[nr++] = memcg;
	}
	while (memcg && nr)
		mem_cgroup_calculate_protection(target, path[--nr]);
}

/* Can there be a protected cgroup among those that the policy of @r serves? */
static bool some_are_protected(struct cachebpf_reclaim *r)
{
	struct mem_cgroup *memcg = r->policy->memcg;

	/* what its children protect of their own; and what it may have to pass on to them */
	return atomic_long_read(&memcg->memory.children_min_usage) ||
	       atomic_long_read(&memcg->memory.children_low_usage) ||
	       (memcg != r->target &&
		(READ_ONCE(memcg->memory.emin) || READ_ONCE(memcg->memory.elow)));
}

/**
 * cachebpf_is_protected - does memory.min or memory.low keep a cgroup's folios?
 * @r: the round, in which protection matters
 * @memcg: a cgroup that its policy serves
 *
 * Judged once in each request: there, neighbours on a list mostly belong
 * together, and no more than a batch is taken between two looks at what the
 * cgroup uses.
 */
bool cachebpf_is_protected(struct cachebpf_reclaim *r, struct mem_cgroup *memcg)
{
	bool protected;
	u32 i;

	if (memcg == r->target)
		return false;
	for (i = 0; i < min(r->nr_verdicts, CACHEBPF_VERDICTS); i++)
		if (r->verdicts[i].memcg == memcg)
			return r->verdicts[i].protected;

	calculate_protection(r->target, memcg);
	protected = mem_cgroup_below_min(r->target, memcg) ||
		    (!r->low_ok && memcg != r->despite_low &&
		     mem_cgroup_below_low(r->target, memcg));
	i = r->nr_verdicts++ % CACHEBPF_VERDICTS;
	r->verdicts[i].memcg = memcg;
	r->verdicts[i].protected = protected;
	return protected;
}

/* Is @folio, of which the caller has a reference, @r's to take?  If not, why. */
static bool may_take_folio(struct cachebpf_reclaim *r, struct folio *folio,
			   const struct cachebpf_folio *f, bool guarded, enum cachebpf_stat *why)
{
	struct mem_cgroup *memcg = folio_memcg_check(folio);

	*why = CACHEBPF_STAT_REJECT_STALE;
	if (READ_ONCE(f->owner) != r->policy->id || !memcg || !READ_ONCE(folio->mapping) ||
	    !folio_is_file_lru(folio))
		return false;

	*why = CACHEBPF_STAT_REJECT_NODE;
	if (folio_nid(folio) != r->nid)
		return false;

	/* what a policy cannot know of */
	*why = CACHEBPF_STAT_REJECT_PROTECTED;
	if (folio_zonenum(folio) > r->reclaim_idx ||
	    (guarded && cachebpf_is_protected(r, memcg))) {
		r->nr_refused += folio_nr_pages(folio);
		return false;
	}

	*why = CACHEBPF_STAT_REJECT_BUSY;
	if (!r->may_unmap && folio_mapped(folio)) {
		r->nr_refused += folio_nr_pages(folio);
		return false;
	}
	/* a policy between this one and the folio's cgroup is just being attached */
	if (rcu_access_pointer(memcg->cachebpf) != r->policy)
		return false;
	return folio_test_lru(folio) && !folio_test_unevictable(folio);
}

/* Count a candidate that is not taken; if it was nonsense, the watchdog wants to know. */
noinline_for_stack void cachebpf_reject_candidate(struct cachebpf_reclaim *r, struct folio *folio,
						  enum cachebpf_stat why)
{
	bool garbage = why == CACHEBPF_STAT_REJECT_STALE || why == CACHEBPF_STAT_REJECT_NODE;
	int i;

	/* the same candidate twice? */
	for (i = 0; why == CACHEBPF_STAT_REJECT_BUSY && i < r->nr_isolated && !garbage; i++)
		garbage = r->isolated[i] == folio_pfn(folio);
	r->sum.garbage += garbage;
	cachebpf_count(r->policy, why, 1);
}

/*
 * Take references on the candidates that may be taken.  This is the same RCU
 * read side as the proposal: the entries are still there, if perhaps somebody
 * else's by now.
 */
static void pin_candidates(struct cachebpf_reclaim *r, struct cachebpf_evict_call *call)
{
	enum cachebpf_stat why;
	int i;

	for (i = 0; i < call->evict.nr_folios; i++) {
		struct cachebpf_folio *f = call->candidates[i].folio;
		struct folio *folio = pfn_folio(cachebpf_folio_pfn(f));

		if (unlikely(!folio_try_get(folio))) {
			/* somebody is taking it apart at this moment, or did so */
			why = READ_ONCE(f->owner) == r->policy->id ? CACHEBPF_STAT_REJECT_BUSY :
								     CACHEBPF_STAT_REJECT_STALE;
			cachebpf_reject_candidate(r, folio, why);
			continue;
		}
		if (likely(may_take_folio(r, folio, f, call->guard, &why))) {
			r->folios[r->nr_folios++] = folio;
		} else {
			cachebpf_reject_candidate(r, folio, why);
			folio_put(folio);
		}
	}
}

/* Returns how long the call took; in an RCU read side. */
static u64 call_policy(struct cachebpf_reclaim *r, struct cachebpf_ops *ops,
		       struct cachebpf_evict *evict)
{
	struct cachebpf_policy *policy = r->policy;
	u64 ns = local_clock();

	ops->evict_folios(policy, evict);
	ns = max_t(s64, local_clock() - ns, 0);

	r->sum.ns += ns;
	cachebpf_count(policy, CACHEBPF_STAT_EVICT_CALLS, 1);
	cachebpf_count(policy, CACHEBPF_STAT_EVICT_NS, ns);
	return ns;
}

/* Have the policy make its proposals; in an RCU read side. */
static void ask_policy(struct cachebpf_reclaim *r, struct cachebpf_evict_call *call)
{
	struct cachebpf_policy *policy = r->policy;
	struct cachebpf_ops *ops = rcu_dereference(policy->ops);
	u64 ran_before = READ_ONCE(current->se.sum_exec_runtime), ns;
	struct cachebpf_evict *evict = &call->evict;

	if (policy->orders_uses) {
		preempt_disable();
		cachebpf_apply_uses(policy);
		preempt_enable();
	}
	if (!ops)
		return;
	ns = call_policy(r, ops, evict);
	/* all that it has may be unread: what has others to propose is asked again for the rest */
	if (unlikely(!evict->nr_folios && call->nr_spared)) {
		evict->unread_left = 0;
		call->nr_spared = 0;
		ns = max(ns, call_policy(r, ops, evict));
	}
	/* the slower call counts, or a fast one would excuse each slow one */
	cachebpf_watchdog_call(policy, ns, ran_before);
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
	struct cachebpf_evict_call call;
	struct cachebpf_evict *evict = &call.evict;

	evict->nr_wanted = min_t(unsigned long, nr, CACHEBPF_BATCH);
	evict->nr_proposed = 0;
	evict->nr_folios = 0;
	evict->nid = r->nid;
	evict->visits_left = CACHEBPF_MAX_VISITS;
	evict->unread_left = CACHEBPF_UNREAD_SPARED;
	evict->policy = policy;
	call.guard = some_are_protected(r) ? r : NULL;
	call.nr_spared = 0;
	r->nr_verdicts = 0;
	r->nr_folios = 0;
	r->nr_isolated = 0;

	rcu_read_lock();
	if (r->nr_rejected)
		cachebpf_offer_rejected(evict, &r->nr_rejected, r->nr_spared);
	if (!evict->nr_proposed && !(READ_ONCE(policy->flags) & CACHEBPF_NOT_ASKED)) {
		ask_policy(r, &call);
		/* without a policy to ask stock reclaim finds them, and others, on the LRU */
		if (!evict->nr_folios && r->nr_spared) {
			r->nr_rejected = r->nr_spared;
			r->nr_spared = 0;
			cachebpf_offer_rejected(evict, &r->nr_rejected, 0);
		}
	}
	cachebpf_delay(CACHEBPF_AT_PIN);
	pin_candidates(r, &call);
	/* it had to end before it came to what can be had */
	r->in_the_way = unlikely(!evict->visits_left);
	if (r->in_the_way)
		r->nr_refused += evict->nr_wanted;
	rcu_read_unlock();
	cachebpf_delay(CACHEBPF_AT_ISOLATE);

	cachebpf_count(policy, CACHEBPF_STAT_EVICT_PROPOSED, evict->nr_proposed);
	r->sum.proposed += evict->nr_folios;
	return evict->nr_folios;
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
	/* of two reclaimers that come at the same time one may not count */
	if (nr_reclaimed)
		WRITE_ONCE(r->policy->nr_vain, 0);
	else if (r->want)
		WRITE_ONCE(r->policy->nr_vain, READ_ONCE(r->policy->nr_vain) +
					       (r->in_the_way ? LONG_WALK : 1));
	/* unless it was not asked at all */
	if (unlikely(READ_ONCE(r->policy->in_the_way) != r->in_the_way) && r->sum.ns)
		WRITE_ONCE(r->policy->in_the_way, r->in_the_way);
	/* what the policy cannot know of is not held against it, whoever has the others */
	if (nr_reclaimed < r->want && nr_reclaimed + r->nr_refused < r->want)
		has_fallen_short(r->policy);
	cachebpf_watchdog_round(r, nr_reclaimed);
	cachebpf_policy_put(r->policy);
}

/* Does a policy serve the cgroup of @lruvec? */
bool cachebpf_serves(struct lruvec *lruvec)
{
	struct mem_cgroup *memcg = lruvec_memcg(lruvec);

	return memcg && rcu_access_pointer(memcg->cachebpf);
}
