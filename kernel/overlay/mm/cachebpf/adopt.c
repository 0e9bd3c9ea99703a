// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaching to a live cgroup: the folios that it has cached already are
 * handed to the policy, oldest first.
 *
 * Each LRU list is turned round once, in steps: take folios from the old end,
 * put them to the other, and, without the lru_lock, begin to manage them.
 * When as many folios as the list had were taken, it is in the order it was
 * in before.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmzone.h>
#include <linux/pagemap.h>
#include <linux/swap.h>

#include "internal.h"

/* Turn up to @nr_left pages of @list round, a batch at a time, and get references. */
static int take_oldest(struct lruvec *lruvec, struct list_head *list, long *nr_left,
		       struct folio **folios)
{
	int nr = 0;

	spin_lock_irq(&lruvec->lru_lock);
	while (nr < CACHEBPF_BATCH && *nr_left > 0 && !list_empty(list)) {
		struct folio *folio = lru_to_folio(list);

		list_move(&folio->lru, list);
		*nr_left -= folio_nr_pages(folio);
		if (folio_try_get(folio))
			folios[nr++] = folio;
	}
	spin_unlock_irq(&lruvec->lru_lock);
	return nr;
}

static void adopt_list(struct cachebpf_policy *policy, struct lruvec *lruvec,
		       struct list_head *list, long nr_pages)
{
	struct folio *folios[CACHEBPF_BATCH];
	int i, nr;

	do {
		nr = take_oldest(lruvec, list, &nr_pages, folios);
		for (i = 0; i < nr; i++) {
			/* what is locked now is on its way in or out: stock reclaim keeps it */
			if (folio_trylock(folios[i])) {
				cachebpf_manage_cached(policy, folios[i]);
				folio_unlock(folios[i]);
			}
			folio_put(folios[i]);
		}
		cond_resched();
	} while (nr);
}

#ifdef CONFIG_LRU_GEN
static void adopt_generations(struct cachebpf_policy *policy, struct lruvec *lruvec)
{
	struct lru_gen_folio *lrugen = &lruvec->lrugen;
	unsigned long seq, max_seq = READ_ONCE(lrugen->max_seq);
	int zone;

	for (seq = READ_ONCE(lrugen->min_seq[LRU_GEN_FILE]); seq <= max_seq; seq++) {
		int gen = lru_gen_from_seq(seq);

		for (zone = 0; zone < MAX_NR_ZONES; zone++)
			adopt_list(policy, lruvec, &lrugen->folios[gen][LRU_GEN_FILE][zone],
				   READ_ONCE(lrugen->nr_pages[gen][LRU_GEN_FILE][zone]));
	}
}
#else
static void adopt_generations(struct cachebpf_policy *policy, struct lruvec *lruvec)
{
}
#endif

static void adopt_lru(struct cachebpf_policy *policy, struct lruvec *lruvec, enum lru_list lru)
{
	long nr_pages = 0;
	int zone;

	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		nr_pages += mem_cgroup_get_zone_lru_size(lruvec, lru, zone);
	adopt_list(policy, lruvec, &lruvec->lists[lru], nr_pages);
}

/**
 * cachebpf_adopt_cached - hand over what is cached already
 * @policy: the new owner, published, with a reference or a lock that keeps it
 * @root: for the folios of this cgroup and of those below it
 *
 * Folios of cgroups for which another policy is the effective one are passed
 * over.  What is added meanwhile is managed anyhow.
 */
void cachebpf_adopt_cached(struct cachebpf_policy *policy, struct mem_cgroup *root)
{
	struct mem_cgroup *memcg;
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
			adopt_generations(policy, lruvec);
			adopt_lru(policy, lruvec, LRU_INACTIVE_FILE);
			adopt_lru(policy, lruvec, LRU_ACTIVE_FILE);
		}
	}
}
