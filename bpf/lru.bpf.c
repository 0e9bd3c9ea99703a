// SPDX-License-Identifier: GPL-2.0-only
/*
 * LRU: evict what was not used for longest.
 *
 * One list, the least recently used folio at its head: new ones join at the
 * tail, and the kernel moves those that are used again there, a batch at a
 * time.  Requests take from the head; what was proposed and cannot be evicted
 * now goes to the tail, so that it is not proposed again and again.
 *
 * Source: Mattson et al., "Evaluation techniques for storage hierarchies", IBM
 * Systems Journal 9(2), 1970.
 */
#include "cachebpf.bpf.h"

static __u32 stack;

__s32 CACHEBPF_SLEEPABLE_OP(lru_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &stack, CACHEBPF_LIST_NEW_TAIL | CACHEBPF_LIST_USED_TAIL);
}

void CACHEBPF_OP(lru_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, stack, 0, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			break;
}

CACHEBPF_POLICY(lru, "Evicts the least recently used",
		"Mattson et al., IBM Systems Journal 9(2), 1970",
		.policy_init	= (void *)lru_init,
		.evict_folios	= (void *)lru_evict);
