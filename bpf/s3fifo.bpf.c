// SPDX-License-Identifier: GPL-2.0-only
/*
 * S3-FIFO: three queues, first in, first out.
 *
 * New folios join S, the small queue, a tenth of the cache, unless they were
 * evicted from there not long ago, which their ghost in G tells: then they join
 * M, the main queue.  From S, what was used twice or more since goes on to M and
 * the rest is evicted, so what is used once only is gone soon.  In M, what was
 * used since goes round again, once for each use, up to three.  The use that
 * brings a folio in does not count; the kernel counts the others, and there is
 * nothing to do on a hit.  There are ghosts of 9/10 as many pages as cached.
 *
 * Other values make it S4-FIFO, or Clock2Q+.  With skip_percent, the newest part
 * of the small queue is a queue of its own, W, the window: what leaves W for S
 * has its uses forgotten, as those right after the first one say little.  Nobody
 * looks at W but evict_folios(), so W may have some pages more than it should.
 *
 * Source: Yang et al., "FIFO queues are all you need for cache eviction",
 * SOSP 2023, algorithm 1, which admits to S from the beginning; cachebpf,
 * section 5.1.3.  S4-FIFO: Xia et al., "Learning-augmented heuristics: simple,
 * yet smart, robust and interpretable cache eviction", OSDI 2026.  The window:
 * Zhai et al., "Clock2Q+: a simple and efficient replacement algorithm for
 * metadata cache in VMware vSAN", VLDB 2026.
 */
#include "lib/ghost.bpf.h"

CACHEBPF_TUNABLE(__u32, small_percent, "1..90", "% of the cached pages",
		 "for what is new; SOSP 2023: 10") = 10;
CACHEBPF_TUNABLE(__u32, ghost_percent, "0..600", "% of the cached pages",
		 "whose like is remembered after eviction; SOSP 2023: 90; more than 90 takes memory") = 90;
CACHEBPF_TUNABLE(__u32, skip_percent, "0..90", "% of small_percent",
		 "in which uses do not count; S4-FIFO: 0 or 25, Clock2Q+: 50") = 0;
CACHEBPF_TUNABLE(__u32, uses_for_main, "1..3", "",
		 "uses while it is new that a page needs to stay; S4-FIFO: 1 or 2, Clock2Q+: 1") = 2;
CACHEBPF_TUNABLE(__u32, ghost_hits_for_main, "1..2", "",
		 "how often it has to come back soon after eviction to stay; S4-FIFO: 1 or 2") = 1;

#define MAX_FREQ	3
/* pages that leave W in one request: twice what a request makes room for */
#define AT_ONCE		64

enum { G = 1 };

static __u32 W, S, M;
/* pages when they were counted last, for the request before */
static __u64 nr_counted;

static int create_S(struct cachebpf_policy *policy)
{
	if (!skip_percent)
		return list_create(policy, &S, CACHEBPF_LIST_NEW_TAIL);
	return list_create(policy, &W, CACHEBPF_LIST_NEW_TAIL) ?: list_create(policy, &S, 0);
}

__s32 CACHEBPF_SLEEPABLE_OP(s3fifo_init, struct cachebpf_policy *policy)
{
	return create_S(policy) ?:
	       list_create(policy, &M, 0) ?:
	       bpf_cachebpf_buckets_create(policy, 5 * max(ghost_percent, 90) / 90);
}

static __u64 nr_small(struct cachebpf_policy *policy)
{
	return bpf_cachebpf_list_len(policy, S) +
	       (skip_percent ? bpf_cachebpf_list_len(policy, W) : 0);
}

static __u64 nr_cached(struct cachebpf_policy *policy)
{
	return nr_small(policy) + bpf_cachebpf_list_len(policy, M);
}

/* Where @folio's ghost belongs: it is marked if the last one was not enough for M. */
static __u32 ghost_of(struct cachebpf_folio *folio)
{
	__u8 *came_back = ghost_hits_for_main > 1 ? folio_data(folio, __u8) : NULL;

	return came_back && *came_back ? G | GHOST_MARK : G;
}

void CACHEBPF_OP(s3fifo_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u32 ghost = ghost_take(policy, folio);
	__u8 *came_back;

	if (!ghost)
		return;
	if (ghost_hits_for_main > 1 && !(ghost & GHOST_MARK)) {
		came_back = folio_data(folio, __u8);
		if (came_back)
			*came_back = true;
		return;
	}
	bpf_cachebpf_list_move(policy, folio, M, TAIL);
}

void CACHEBPF_OP(s3fifo_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	/* what was read ahead and not used is not missed */
	if (!ghost_percent || why != CACHEBPF_REMOVED_RECLAIM || folio->list == M || !was_used(folio))
		return;
	ghost_make(policy, folio, ghost_of(folio), nr_counted);
}

/* Move to S what W has no room for: it is to have @target pages, the one to come included. */
static void shorten_W(struct cachebpf_policy *policy, struct cachebpf_evict *evict, __u64 target)
{
	__u64 nr = bpf_cachebpf_list_len(policy, W);
	struct cachebpf_folio *folio;

	if (nr < target)
		return;
	for_each_folio(folio, evict, W, AT_ONCE, CACHEBPF_ITER_ROTATE) {
		/* what should have left long ago was used since, as before the first eviction */
		if (nr - target < AT_ONCE && uses_since(folio))
			set_uses(folio, 0);
		bpf_cachebpf_list_move(policy, folio, S, TAIL);
		nr -= folio_pages(folio);
		if (nr < target)
			break;
	}
}

/* Evict from @list, S or W, until both have less than @target pages. */
static bool evict_small(struct cachebpf_policy *policy, struct cachebpf_evict *evict, __u32 list,
			__u64 target)
{
	__u64 nr = nr_small(policy) - evict->nr_proposed;
	struct cachebpf_folio *folio;

	if (nr < target)
		return false;
	for_each_folio(folio, evict, list, 0, CACHEBPF_ITER_ROTATE) {
		nr -= folio_pages(folio);
		if (frequency(folio, MAX_FREQ) >= uses_for_main) {
			set_uses(folio, 0);
			bpf_cachebpf_list_move(policy, folio, M, TAIL);
		} else if (bpf_cachebpf_evict(evict, folio)) {
			return true;
		}
		if (nr < target)
			break;
	}
	return false;
}

static bool evict_S(struct cachebpf_policy *policy, struct cachebpf_evict *evict, __u64 target)
{
	return evict_small(policy, evict, S, target) ||
	       (skip_percent && evict_small(policy, evict, W, target));
}

static bool evict_M(struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, M, 0, CACHEBPF_ITER_ROTATE) {
		__u32 freq = frequency(folio, MAX_FREQ);

		if (freq)
			set_uses(folio, freq - 1);
		else if (bpf_cachebpf_evict(evict, folio))
			return true;
	}
	return false;
}

void CACHEBPF_OP(s3fifo_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u64 nr = nr_cached(policy), target = nr * small_percent / 100;
	__u64 nr_ghosts = nr * ghost_percent / 100;

	nr_counted = nr;
	/* with room for those of what is evicted now */
	ghost_limit(G, nr_ghosts - min(nr_ghosts, evict->nr_wanted));
	if (skip_percent)
		shorten_W(policy, evict, target * skip_percent / 100);
	if (evict_S(policy, evict, target))
		return;
	bpf_repeat(MAX_FREQ + 1)
		if (evict_M(evict) || evict->nr_proposed)
			return;
	evict_S(policy, evict, 0);
}

CACHEBPF_POLICY(s3fifo, "Evicts early what is used once; keeps what is used again", "SOSP 2023",
		.policy_init	= (void *)s3fifo_init,
		.evict_folios	= (void *)s3fifo_evict,
		.folio_added	= (void *)s3fifo_added,
		.folio_removed	= (void *)s3fifo_removed);
