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
 * Source: Yang et al., "FIFO queues are all you need for cache eviction",
 * SOSP 2023, algorithm 1, which admits to S from the beginning; cachebpf,
 * section 5.1.3.
 */
#include "lib/ghost.bpf.h"

CACHEBPF_TUNABLE(__u32, small_percent, "1..90", "% of the cached pages",
		 "for what is new; SOSP 2023: 10") = 10;
CACHEBPF_TUNABLE(__u32, ghost_percent, "0..100", "% of the cached pages",
		 "whose like is remembered after eviction; SOSP 2023: 90") = 90;

#define MAX_FREQ	3

enum { G = 1 };

static __u32 S, M;

__s32 CACHEBPF_SLEEPABLE_OP(s3fifo_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &S, CACHEBPF_LIST_NEW_TAIL) ?:
	       list_create(policy, &M, 0) ?:
	       bpf_cachebpf_buckets_create(policy, 5);
}

static __u64 nr_cached(struct cachebpf_policy *policy)
{
	return bpf_cachebpf_list_len(policy, S) + bpf_cachebpf_list_len(policy, M);
}

void CACHEBPF_OP(s3fifo_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	if (ghost_take(policy, folio))
		bpf_cachebpf_list_move(policy, folio, M, TAIL);
}

void CACHEBPF_OP(s3fifo_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u64 nr = nr_cached(policy);

	/* what was read ahead and not used is not missed */
	if (why != CACHEBPF_REMOVED_RECLAIM || folio->list != S || !was_used(folio))
		return;
	ghost_make(policy, folio, G, nr);
	ghost_limit(G, nr * ghost_percent / 100);
}

/* Evict from S until it has less than @target pages. */
static bool evict_S(struct cachebpf_policy *policy, struct cachebpf_evict *evict, __u64 target)
{
	__u64 nr = bpf_cachebpf_list_len(policy, S);
	struct cachebpf_folio *folio;

	if (nr < target)
		return false;
	for_each_folio(folio, evict, S, 0, CACHEBPF_ITER_ROTATE) {
		nr -= folio_pages(folio);
		if (frequency(folio, MAX_FREQ) > 1) {
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
	if (evict_S(policy, evict, nr_cached(policy) * small_percent / 100))
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
