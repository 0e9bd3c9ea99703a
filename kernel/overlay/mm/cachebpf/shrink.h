/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reclaim of what a BPF policy proposes, for both kinds of LRU.  A part of
 * mm/vmscan.c, which includes it: it works with what is static there.
 */

#ifdef CONFIG_CACHEBPF

#define MAX_VAIN_PROPOSALS	3

/*
 * Reclaim file folios that the BPF policy of @lruvec proposes.  @nr_share is
 * what stock reclaim would scan of its file folios, @nr_of_files the part of
 * files in what is to be reclaimed.  True if no more is to be done for files, else
 * @nr_left is what is left to be scanned, if the policy gave something.
 */
static bool shrink_cachebpf(struct lruvec *lruvec, struct scan_control *sc, unsigned long nr_share,
			    unsigned long nr_of_files, unsigned long *nr_reclaimed,
			    unsigned long *nr_left)
{
	struct pglist_data *pgdat = lruvec_pgdat(lruvec);
	enum vm_event_item item = PGSCAN_KSWAPD + reclaimer_offset();
	struct cachebpf_reclaim r __uninitialized;
	unsigned long nr_done = 0, nr_before, nr_taken, nr_freed, nr_kept;
	bool ask, stalled = false;
	int nr_vain = 0;

	/* most of it are arrays, which need not be cleared */
	r.target = sc->target_mem_cgroup;
	r.reclaim_idx = sc->reclaim_idx;
	r.may_unmap = sc->may_unmap;
	r.low_ok = sc->memcg_low_reclaim;
	r.nr_to_reclaim = sc->nr_to_reclaim;
	r.nr_of_files = nr_of_files;
	r.nr_reclaimed = sc->nr_reclaimed;
	r.turn_of_others = sc->turn_of_others;
	ask = cachebpf_reclaim_begin(&r, lruvec, nr_share);
	sc->turn_of_others = r.turn_of_others;
	if (!ask)
		return false;

	sc->own_policy = r.own;
	lru_add_drain();
	while (nr_done < r.want) {
		LIST_HEAD(folio_list);

		/* as shrink_inactive_list(); the policy cannot help it */
		if (!lru_gen_enabled() && unlikely(too_many_isolated(pgdat, true, sc))) {
			if (stalled || fatal_signal_pending(current)) {
				r.nr_refused += r.want - nr_done;
				break;
			}
			stalled = true;
			reclaim_throttle(pgdat, VMSCAN_THROTTLE_ISOLATED);
			continue;
		}
		stalled = false;
		nr_before = nr_done;
		nr_kept = 0;
		if (!cachebpf_reclaim_propose(&r, r.want - nr_done))
			break;
		while ((lruvec = cachebpf_reclaim_isolate(&r, &folio_list, &nr_taken))) {
			mod_node_page_state(pgdat, NR_ISOLATED_FILE, nr_taken);
			if (!cgroup_reclaim(sc))
				count_vm_events(item, nr_taken);
			count_memcg_events(lruvec_memcg(lruvec), item, nr_taken);
			count_vm_events(PGSCAN_FILE, nr_taken);
			nr_freed = shrink_isolated(&folio_list, nr_taken, nr_taken,
						   lruvec, sc, true);
			nr_done += nr_freed;
			nr_kept += nr_taken - nr_freed;
		}
		cachebpf_reclaim_settle(&r, nr_kept);
		/* another reclaimer may have been given the same folios */
		nr_vain = nr_done == nr_before ? nr_vain + 1 : 0;
		if (nr_vain == MAX_VAIN_PROPOSALS)
			break;
		/* the rest is stock reclaim's */
		if (cachebpf_reclaim_is_slow(&r, nr_done))
			break;
		cond_resched();
	}
	cachebpf_reclaim_end(&r, nr_done);
	*nr_reclaimed += nr_done;
	if (nr_done)
		*nr_left = min(*nr_left, r.share - min(r.share, nr_done));
	/* where there is no file, it is the turn of anon memory */
	return nr_done >= r.share && (r.share || r.own);
}

/* Have the policy of @lruvec give its share of the file folios that are to be scanned. */
static void lru_shrink_cachebpf(struct lruvec *lruvec, struct scan_control *sc,
				unsigned long nr[NR_LRU_LISTS], unsigned long *nr_reclaimed)
{
	unsigned long nr_file = nr[LRU_INACTIVE_FILE] + nr[LRU_ACTIVE_FILE];
	unsigned long nr_all = nr_file + nr[LRU_INACTIVE_ANON] + nr[LRU_ACTIVE_ANON];
	unsigned long nr_of_files = nr_file == nr_all ? sc->nr_to_reclaim : nr_file;

	/* where there are too few of both to tell whose turn it is, the next priority does */
	if (!nr_file && (nr_all || can_reclaim_anon_pages(lruvec_memcg(lruvec),
							  lruvec_pgdat(lruvec)->node_id, sc)))
		return;
	/* of a small list nothing is scanned at first: it is their turn until something is */
	sc->turn_of_others = false;
	if (!shrink_cachebpf(lruvec, sc, nr[LRU_INACTIVE_FILE], nr_of_files, nr_reclaimed,
			     &nr[LRU_INACTIVE_FILE]))
		return;
	nr[LRU_INACTIVE_FILE] = 0;
	/* that list is in order only where it decides how much is inactive */
	if (sc->own_policy)
		nr[LRU_ACTIVE_FILE] = 0;
}

#ifdef CONFIG_LRU_GEN

/* Pages of the file generation that is evicted next, in zones up to @max_zone. */
static unsigned long lru_gen_oldest(struct lruvec *lruvec, int max_zone)
{
	struct lru_gen_folio *lrugen = &lruvec->lrugen;
	int zone, gen = lru_gen_from_seq(READ_ONCE(lrugen->min_seq[LRU_GEN_FILE]));
	unsigned long nr = 0;

	for (zone = 0; zone <= max_zone; zone++)
		nr += max(READ_ONCE(lrugen->nr_pages[gen][LRU_GEN_FILE][zone]), 0L);
	return nr;
}

/*
 * A policy uses up a generation as well, if it gives folios of others.  So do those
 * that come back, which evict_folios() would have spared, where other cgroups take
 * part and pay for it.  Half as many again make up for that it does not find them in
 * its way.
 */
static void lru_gen_use_up(struct lruvec *lruvec, struct scan_control *sc)
{
	struct lru_gen_folio *lrugen = &lruvec->lrugen;
	unsigned long nr, nr_oldest;
	int hist, tier;

	spin_lock_irq(&lruvec->lru_lock);
	do {
		hist = lru_hist_from_seq(lrugen->min_seq[LRU_GEN_FILE]);
		nr = lruvec->cachebpf_given;
		for (tier = 0; !sc->own_policy && tier < MAX_NR_TIERS; tier++)
			nr += atomic_long_read(&lrugen->refaulted[hist][LRU_GEN_FILE][tier]);
		nr_oldest = lru_gen_oldest(lruvec, MAX_NR_ZONES - 1);
		if (nr < nr_oldest + nr_oldest / 2 ||
		    lrugen->min_seq[LRU_GEN_FILE] + MIN_NR_GENS > lrugen->max_seq ||
		    !inc_min_seq(lruvec, LRU_GEN_FILE, true))
			break;
		lruvec->cachebpf_given = 0;
	} while (true);
	spin_unlock_irq(&lruvec->lru_lock);
}

/*
 * Have the policy of @lruvec give what evict_folios() would take of the oldest
 * file generation.  Returns false if it is not to be asked again.
 */
static bool lru_gen_shrink_cachebpf(struct lruvec *lruvec, struct scan_control *sc, int *delta)
{
	struct lru_gen_mm_walk *walk = current->reclaim_state->mm_walk;
	unsigned long nr_oldest, nr_gone, nr_left = 0, nr_reclaimed = 0;
	bool done;

	nr_oldest = lru_gen_oldest(lruvec, sc->reclaim_idx);
	if (!nr_oldest) {
		/* as evict_folios() does in the end */
		spin_lock_irq(&lruvec->lru_lock);
		try_to_inc_min_seq(lruvec, get_swappiness(lruvec, sc));
		spin_unlock_irq(&lruvec->lru_lock);
		nr_oldest = lru_gen_oldest(lruvec, sc->reclaim_idx);
	}
	/* it batches changes of one lruvec: a policy proposes folios of several */
	current->reclaim_state->mm_walk = NULL;
	done = shrink_cachebpf(lruvec, sc, min(nr_oldest, MIN_LRU_BATCH),
			       min(MIN_LRU_BATCH, sc->nr_to_reclaim), &nr_reclaimed, &nr_left);
	current->reclaim_state->mm_walk = walk;

	nr_gone = nr_oldest - min(nr_oldest, lru_gen_oldest(lruvec, sc->reclaim_idx));
	/* of two reclaimers that come at the same time one may be forgotten */
	WRITE_ONCE(lruvec->cachebpf_given,
		   lruvec->cachebpf_given + nr_reclaimed - min(nr_reclaimed, nr_gone));
	if (nr_reclaimed)
		lru_gen_use_up(lruvec, sc);
	sc->nr_reclaimed += nr_reclaimed;
	*delta = nr_reclaimed;
	return done;
}

#endif /* CONFIG_LRU_GEN */

#else /* !CONFIG_CACHEBPF */

static inline void lru_shrink_cachebpf(struct lruvec *lruvec, struct scan_control *sc,
				       unsigned long nr[NR_LRU_LISTS],
				       unsigned long *nr_reclaimed) {}

static inline bool lru_gen_shrink_cachebpf(struct lruvec *lruvec, struct scan_control *sc,
					   int *delta)
{
	return false;
}

#endif /* CONFIG_CACHEBPF */
