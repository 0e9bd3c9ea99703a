// SPDX-License-Identifier: GPL-2.0-only
/*
 * FIFO: evict in the order of arrival.
 *
 * One list, which new folios join at the tail; requests take from the head.
 * What was proposed goes to the tail at once, so that a folio which cannot be
 * evicted now is not proposed again and again.
 *
 * Source: cachebpf, section 5.1.6 and table 3.
 */
#include "cachebpf.bpf.h"

static __u32 queue;

__s32 CACHEBPF_SLEEPABLE_OP(fifo_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &queue, CACHEBPF_LIST_NEW_TAIL);
}

void CACHEBPF_OP(fifo_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, queue, 0, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			break;
}

CACHEBPF_POLICY(fifo, "Evicts in the order of arrival", "cachebpf, section 5.1.6",
		.policy_init	= (void *)fifo_init,
		.evict_folios	= (void *)fifo_evict);
