// SPDX-License-Identifier: GPL-2.0-only
/*
 * What reclaim has chosen leaves the LRU, and what it did not take comes back:
 * both with the classic LRU and with generations.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>

#include "delay.h"
#include "internal.h"

/* Pages that leave the classic LRU lists, per list and zone. */
struct leaving {
	int nr[2][MAX_NR_ZONES];
};

#ifdef CONFIG_LRU_GEN
/*
 * Take @folio out of its generation, if it has one.  For shrink_folio_list(),
 * PG_referenced is to say that a mapping was in use.  lru_gen_look_around() has
 * seen that already of the neighbours of what was isolated before: it leaves
 * nothing in the page table, and puts them into the youngest generation.  What
 * is kept does not come back there.  What a fault has brought in begins there.
 */
static bool unlink_from_generation(struct lruvec *lruvec, struct folio *folio)
{
	int youngest = lru_gen_from_seq(lruvec->lrugen.max_seq);
	bool used = folio_mapped(folio) && folio_lru_gen(folio) == youngest;

	if (!lru_gen_del_folio(lruvec, folio, true))
		return false;
	/* as isolate_folio() does */
	if (!folio_test_referenced(folio))
		folio_clear_lru_refs(folio);
	if (used)
		folio_set_referenced(folio);
	else
		folio_clear_referenced(folio);
	return true;
}
#else
static bool unlink_from_generation(struct lruvec *lruvec, struct folio *folio)
{
	return false;
}
#endif

/* Take @folio off the LRU as lruvec_del_folio() does, but leave the sizes for later. */
static void unlink_from_lru(struct lruvec *lruvec, struct folio *folio, struct leaving *leaving)
{
	if (unlink_from_generation(lruvec, folio))
		return;
	list_del(&folio->lru);
	leaving->nr[folio_test_active(folio)][folio_zonenum(folio)] += folio_nr_pages(folio);
}

static void update_lru_sizes(struct lruvec *lruvec, const struct leaving *leaving)
{
	int active, zone;

	for (active = 0; active < 2; active++) {
		for (zone = 0; zone < MAX_NR_ZONES; zone++) {
			if (leaving->nr[active][zone])
				update_lru_size(lruvec, LRU_INACTIVE_FILE + active, zone,
						-leaving->nr[active][zone]);
		}
	}
}

/*
 * Keep @memcg, to which the caller will account what becomes of its folios: an
 * offline cgroup goes with the last of them.  Let go of the one before.
 */
static void take_from(struct cachebpf_reclaim *r, struct mem_cgroup *memcg)
{
	if (memcg)
		css_get(&memcg->css);
	mem_cgroup_put(r->taken_from);
	r->taken_from = memcg;
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
 * Return: the lruvec they came from, valid until the next call.
 */
noinline_for_stack struct lruvec *
cachebpf_reclaim_isolate(struct cachebpf_reclaim *r, struct list_head *list,
			 unsigned long *nr_taken)
{
	struct folio *busy[CACHEBPF_BATCH];
	struct mem_cgroup *memcg;
	struct leaving leaving;
	struct lruvec *lruvec;
	int i, nr_others, nr_busy;

	*nr_taken = 0;
	while (r->nr_folios) {
		memset(&leaving, 0, sizeof(leaving));
		nr_others = 0;
		nr_busy = 0;
		lruvec = folio_lruvec_lock_irq(r->folios[0]);
		__acquire(&lruvec->lru_lock);
		for (i = 0; i < r->nr_folios; i++) {
			struct folio *folio = r->folios[i];

			if (unlikely(!folio_matches_lruvec(folio, lruvec))) {
				r->folios[nr_others++] = folio;
				continue;
			}
			/* mlocked, another reclaimer's, or the same candidate twice */
			if (unlikely(folio_test_unevictable(folio) ||
				     !folio_test_clear_lru(folio))) {
				busy[nr_busy++] = folio;
				continue;
			}
			unlink_from_lru(lruvec, folio, &leaving);
			if (folio_test_active(folio)) {
				folio_clear_active(folio);
				folio_set_workingset(folio);
			}
			list_add_tail(&folio->lru, list);
			*nr_taken += folio_nr_pages(folio);
			r->isolated[r->nr_isolated++] = folio_pfn(folio);
			r->sum.isolated++;
		}
		r->nr_folios = nr_others;
		update_lru_sizes(lruvec, &leaving);
		/* while folios, which are charged to it, are still isolated */
		memcg = *nr_taken ? lruvec_memcg(lruvec) : NULL;
		unlock_page_lruvec_irq(lruvec);
		take_from(r, memcg);

		/* a last reference must not be dropped under the lru_lock */
		for (i = 0; i < nr_busy; i++) {
			cachebpf_reject_candidate(r, busy[i], CACHEBPF_STAT_REJECT_BUSY);
			folio_put(busy[i]);
		}
		if (*nr_taken) {
			cachebpf_count(r->policy, CACHEBPF_STAT_EVICT_ISOLATED, *nr_taken);
			return lruvec;
		}
	}
	take_from(r, NULL);
	return NULL;
}

/* Has reclaim looked at the mappings of @folio no more often than its fault explains? */
static bool is_fresh(struct folio *folio)
{
	struct cachebpf_policy *policy;
	struct cachebpf_node *node;
	struct cachebpf_folio *f;
	unsigned long flags;
	bool fresh = false;

	rcu_read_lock();
	f = cachebpf_table_lookup(folio_pfn(folio));
	policy = f ? cachebpf_owner_of(f) : NULL;
	if (policy && f->fresh) {
		node = policy->nodes[folio_nid(folio)];
		spin_lock_irqsave(&node->lock, flags);
		fresh = f->owner == policy->id && f->fresh;
		if (fresh)
			f->fresh--;
		spin_unlock_irqrestore(&node->lock, flags);
	}
	rcu_read_unlock();
	return fresh;
}

/*
 * A fault has used @folio, or mapped it beside the page it was for, though policies
 * hear of no use.
 */
static void note_first_use(struct folio *folio)
{
	struct cachebpf_policy *policy;
	struct cachebpf_folio *f;

	rcu_read_lock();
	f = cachebpf_table_lookup(folio_pfn(folio));
	policy = f ? cachebpf_owner_of(f) : NULL;
	if (policy && f->unread)
		cachebpf_unread_used(policy, f);
	rcu_read_unlock();
}

/*
 * @folio was used.  Whoever finds it on the LRU again is to know, so the note does not
 * wait for others; nor does one that would make a batch full, of which some may be lost.
 */
static void use_at_once(struct folio *folio)
{
	struct cachebpf_policy *policy;
	struct cachebpf_folio *f;
	bool orders_uses;

	rcu_read_lock();
	f = cachebpf_table_lookup(folio_pfn(folio));
	policy = f ? cachebpf_owner_of(f) : NULL;
	orders_uses = policy && policy->orders_uses;
	/* notes are of one processor */
	preempt_disable();
	if (orders_uses)
		cachebpf_apply_uses(policy);
	__cachebpf_folio_accessed(folio);
	if (orders_uses)
		cachebpf_apply_uses(policy);
	preempt_enable();
	rcu_read_unlock();
}

/**
 * __cachebpf_folios_kept - what shrink_folio_list() had and did not take
 * @folios: on their way back to the LRU; of anon ones there are no entries
 *
 * Their policies hear of uses through mappings, which it has looked for.  The
 * classic LRU activates what was used when it looked twice: the first time it may
 * be the fault that brought the folio in.  MGLRU takes that for a use, and says
 * so by PG_referenced: twice, since its fault puts a folio into the youngest
 * generation as well.  Of what a fault has used either says so: that is not unread.
 */
void __cachebpf_folios_kept(struct list_head *folios)
{
	struct folio *folio;

	list_for_each_entry(folio, folios, lru) {
		/* these are activated for other reasons */
		if (!folio_mapped(folio) || folio_test_dirty(folio) || folio_test_writeback(folio))
			continue;
		if (lru_gen_enabled() ? folio_test_referenced(folio) && !is_fresh(folio) :
					folio_test_active(folio))
			use_at_once(folio);
		else if (folio_test_referenced(folio))
			note_first_use(folio);
	}
}

/**
 * cachebpf_reclaim_settle - what became of the folios that were isolated
 * @r: the round, after shrink_folio_list()
 * @nr_left: pages of them that it did not take
 */
void cachebpf_reclaim_settle(struct cachebpf_reclaim *r, unsigned long nr_left)
{
	int i, nr_kept = 0;

	if (likely(r->nr_isolated && !nr_left))
		return;

	cachebpf_delay(CACHEBPF_AT_SETTLE);
	rcu_read_lock();
	for (i = 0; i < r->nr_isolated; i++) {
		struct cachebpf_folio *f = cachebpf_table_lookup(r->isolated[i]);

		if (!f || READ_ONCE(f->owner) != r->policy->id)
			continue;
		nr_kept++;
		if (folio_mapped(pfn_folio(r->isolated[i])))
			r->nr_refused += 1UL << f->order;
	}
	rcu_read_unlock();
	cachebpf_count(r->policy, CACHEBPF_STAT_REJECT_KEPT, nr_kept);
	/* not one could be had: it is the policy's turn */
	if (nr_kept == r->nr_isolated)
		r->nr_rejected = 0;
}
