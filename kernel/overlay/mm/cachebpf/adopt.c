// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaching to a live cgroup: the folios that it has cached already are
 * handed to the policy, oldest first.
 *
 * Each LRU list is turned round once, in steps: take folios from the old end,
 * put them to the other, and, without the lru_lock, begin to manage them.
 * When as many folios as the list had were taken, it is in the order it was
 * in before: that is done even if the policy has gone meanwhile.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmzone.h>
#include <linux/pagemap.h>
#include <linux/swap.h>

#include "delay.h"
#include "internal.h"

/*
 * When to look for what is left, and how many times as long as that takes to wait then;
 * after a look in vain twice as long as before it, up to the last.
 */
#define REST_DELAY	(2UL * HZ)
#define REST_PAUSE	20
#define MAX_REST_DELAY	(60UL * HZ)

/*
 * Turn up to @nr_left pages of @list round, a batch at a time, and get references.
 * No more of them than are left of those that were on it when this began: *@last
 * was the newest then, NULL: it begins.
 */
static int take_oldest(struct lruvec *lruvec, struct list_head *list, struct list_head **last,
		       long *nr_left, struct folio **folios)
{
	int nr = 0;

	spin_lock_irq(&lruvec->lru_lock);
	if (!*last)
		*last = list->next;
	while (nr < CACHEBPF_BATCH && *nr_left > 0 && !list_empty(list)) {
		struct folio *folio = lru_to_folio(list);

		list_move(&folio->lru, list);
		*nr_left -= folio_nr_pages(folio);
		/* some may have left the list */
		if (&folio->lru == *last)
			*nr_left = 0;
		if (folio_try_get(folio))
			folios[nr++] = folio;
	}
	spin_unlock_irq(&lruvec->lru_lock);
	return nr;
}

static bool is_managed(unsigned long pfn)
{
	struct cachebpf_folio *f;
	bool managed;

	rcu_read_lock();
	f = cachebpf_table_lookup(pfn);
	managed = f && READ_ONCE(f->owner);
	rcu_read_unlock();
	return managed;
}

static void adopt_list(struct cachebpf_policy *policy, struct lruvec *lruvec,
		       struct list_head *list, long nr_pages, bool again)
{
	struct folio *folios[CACHEBPF_BATCH];
	struct list_head *last = NULL;
	int i, nr;

	do {
		nr = take_oldest(lruvec, list, &last, &nr_pages, folios);
		for (i = 0; i < nr; i++) {
			/* what is locked now is on its way in or out */
			if (folio_trylock(folios[i])) {
				cachebpf_manage_cached(policy, folios[i], again);
				folio_unlock(folios[i]);
			} else if (!is_managed(folio_pfn(folios[i]))) {
				cachebpf_lacks_entry(policy, folios[i]);
			}
			folio_put(folios[i]);
		}
		cond_resched();
	} while (nr);
}

#ifdef CONFIG_LRU_GEN
static void adopt_generations(struct cachebpf_policy *policy, struct lruvec *lruvec, bool again)
{
	struct lru_gen_folio *lrugen = &lruvec->lrugen;
	unsigned long seq, max_seq = READ_ONCE(lrugen->max_seq);
	int zone;

	for (seq = READ_ONCE(lrugen->min_seq[LRU_GEN_FILE]); seq <= max_seq; seq++) {
		int gen = lru_gen_from_seq(seq);

		for (zone = 0; zone < MAX_NR_ZONES; zone++)
			adopt_list(policy, lruvec, &lrugen->folios[gen][LRU_GEN_FILE][zone],
				   READ_ONCE(lrugen->nr_pages[gen][LRU_GEN_FILE][zone]), again);
	}
}
#else
static void adopt_generations(struct cachebpf_policy *policy, struct lruvec *lruvec, bool again)
{
}
#endif

static void adopt_lru(struct cachebpf_policy *policy, struct lruvec *lruvec, enum lru_list lru,
		      bool again)
{
	long nr_pages = 0;
	int zone;

	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		nr_pages += mem_cgroup_get_zone_lru_size(lruvec, lru, zone);
	adopt_list(policy, lruvec, &lruvec->lists[lru], nr_pages, again);
}

/**
 * cachebpf_adopt_cached - hand over what is cached already
 * @policy: the new owner, published, with a reference or a lock that keeps it
 * @again: it was tried before
 *
 * Folios of cgroups for which another policy is the effective one are passed
 * over.  What is added meanwhile is managed anyhow.
 */
void cachebpf_adopt_cached(struct cachebpf_policy *policy, bool again)
{
	struct mem_cgroup *memcg, *root = policy->memcg;
	int nid;

	/* what waits in a per-CPU batch is on no list yet */
	lru_add_drain_all();

	for (memcg = mem_cgroup_iter(root, NULL, NULL); memcg;
	     memcg = mem_cgroup_iter(root, memcg, NULL)) {
		if (rcu_access_pointer(memcg->cachebpf) != policy)
			continue;
		for_each_node_state(nid, N_MEMORY) {
			struct lruvec *lruvec = mem_cgroup_lruvec(memcg, NODE_DATA(nid));

			/* both: switching between the two kinds of LRU is not atomic either */
			adopt_generations(policy, lruvec, again);
			adopt_lru(policy, lruvec, LRU_INACTIVE_FILE, again);
			adopt_lru(policy, lruvec, LRU_ACTIVE_FILE, again);
		}
	}
}

/* Something that @policy should have it has not got.  In an RCU read side, or with @policy held. */
void cachebpf_adopt_later(struct cachebpf_policy *policy)
{
	/*
	 * Without writing: every miss may come here, on all processors.  Whoever is
	 * just beginning finds it on its list, if it seems not to have begun.
	 */
	smp_mb();
	if (!delayed_work_pending(&policy->rest))
		queue_delayed_work(system_unbound_wq, &policy->rest, READ_ONCE(policy->rest_delay));
}

/* @folio of @policy has no entry: try again, if it can have one at all. */
void cachebpf_lacks_entry(struct cachebpf_policy *policy, struct folio *folio)
{
	if (!folio_test_anon(folio) && cachebpf_table_reaches(folio_pfn(folio)))
		cachebpf_adopt_later(policy);
}

/*
 * The folio of the frame @pfn, with a reference, if @policy should have it and
 * one above has; in an RCU read side.  An error if that cannot be said now:
 * somebody is just splitting it, or it is about to be freed.
 */
static struct folio *get_misplaced(struct cachebpf_policy *policy, unsigned long pfn)
{
	struct cachebpf_folio *f = cachebpf_table_lookup(pfn);
	u16 owner = f ? READ_ONCE(f->owner) : 0;
	struct cachebpf_policy *above = cachebpf_policy_by_id(owner);
	struct mem_cgroup *memcg;
	struct folio *folio;

	/* of strangers there is always one that is about to be freed */
	if (!above || above == policy || !mem_cgroup_is_descendant(policy->memcg, above->memcg))
		return NULL;
	folio = cachebpf_get_folio(pfn_to_page(pfn));
	if (!folio)
		return PageTail(pfn_to_page(pfn)) ? NULL : ERR_PTR(-EAGAIN);
	memcg = folio_memcg_check(folio);
	if (memcg && rcu_access_pointer(memcg->cachebpf) == policy)
		return folio;
	folio_put(folio);
	return NULL;
}

/* Adopt the folio of the frame @pfn if another policy has it; false if it is in use. */
static bool adopt_frame(struct cachebpf_policy *policy, unsigned long pfn)
{
	struct folio *folio;
	bool done;

	rcu_read_lock();
	folio = get_misplaced(policy, pfn);
	rcu_read_unlock();
	if (IS_ERR_OR_NULL(folio))
		return !folio;
	done = folio_trylock(folio);
	if (done) {
		/* whoever takes a managed folio out of the page cache has it locked */
		if (is_managed(pfn))
			cachebpf_manage_cached(policy, folio, true);
		folio_unlock(folio);
	}
	folio_put(folio);
	return done;
}

/**
 * cachebpf_adopt_managed - take over what the policy above still has
 * @policy: the new owner, published before a grace period; it cannot go
 *
 * cachebpf_adopt_cached() finds what is on an LRU list and not locked.  The
 * rest would stay with a policy that may not evict it any more.  What is locked
 * is tried again later, for as long as it takes: the disk may be slow.
 */
void cachebpf_adopt_managed(struct cachebpf_policy *policy)
{
	unsigned long pfn;

	for (pfn = 0; cachebpf_table_next(&pfn); pfn++)
		if (!adopt_frame(policy, pfn))
			cachebpf_adopt_later(policy);
}

/*
 * Adopt what could not be adopted, or managed from the beginning: it was locked,
 * by the kernel or in memory, or there was no memory for an entry.  Without one
 * nobody proposes it, and it would stay for as long as the policy has others.
 */
static void adopt_rest(struct work_struct *work)
{
	struct cachebpf_policy *policy = container_of(to_delayed_work(work),
						      struct cachebpf_policy, rest);
	struct mem_cgroup *parent = parent_mem_cgroup(policy->memcg);
	u64 nr_adopted = cachebpf_stat_sum(policy, CACHEBPF_STAT_ADOPTED);
	unsigned long start = jiffies, pause, nr_others = 0;
	bool left, vain;
	int nid;

	/* who counts meanwhile finds them again; see count_others() */
	for_each_node_state(nid, N_MEMORY)
		nr_others += READ_ONCE(policy->nodes[nid]->nr_others);
	WRITE_ONCE(policy->nr_hopeless, nr_others);

	cachebpf_adopt_cached(policy, true);
	if (parent && rcu_access_pointer(parent->cachebpf))
		cachebpf_adopt_managed(policy);
	pause = REST_PAUSE * (jiffies - start);
	left = delayed_work_pending(&policy->rest);
	vain = cachebpf_stat_sum(policy, CACHEBPF_STAT_ADOPTED) == nr_adopted;
	/* what is left now may be left for long: some server does not answer */
	if (left || vain)
		pause = max(pause, min(2 * policy->rest_delay, MAX_REST_DELAY));
	WRITE_ONCE(policy->rest_delay, max(pause, REST_DELAY));
	if (!vain)
		WRITE_ONCE(policy->nr_hopeless, 0);
	/* it was to be looked for as soon as the last time */
	if (left)
		mod_delayed_work(system_unbound_wq, &policy->rest, policy->rest_delay);
}

void cachebpf_init_rest(struct cachebpf_policy *policy)
{
	INIT_DELAYED_WORK(&policy->rest, adopt_rest);
	policy->rest_delay = REST_DELAY;
}
