// SPDX-License-Identifier: GPL-2.0-only
/*
 * LFU, approximated: of the folios next in line, evict those used least often.
 *
 * One list, which new folios join at the tail; the kernel counts their uses.
 * A request ranks the first nr_scan folios by that count and evicts the lowest,
 * exactly; all of them go to the tail, so that the next request looks at
 * others.  A folio that was read ahead and not read yet counts as used once,
 * like any new one.
 *
 * Source: cachebpf, section 4.2.5.
 */
#include "cachebpf.bpf.h"

CACHEBPF_TUNABLE(__u32, nr_scan, "32..65536", "folios", "ranked per request") = 512;

static __u32 queue;

__s32 CACHEBPF_SLEEPABLE_OP(lfu_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &queue, CACHEBPF_LIST_NEW_TAIL);
}

void CACHEBPF_OP(lfu_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	bpf_cachebpf_rank_list(evict, queue, nr_scan, CACHEBPF_BY_ACCESSES);
}

CACHEBPF_POLICY(lfu, "Evicts the least often used of those next in line",
		"cachebpf, section 4.2.5",
		.policy_init	= (void *)lfu_init,
		.evict_folios	= (void *)lfu_evict);
