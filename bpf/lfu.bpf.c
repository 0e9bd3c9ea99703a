// SPDX-License-Identifier: GPL-2.0-only
/*
 * LFU, approximated: of the folios next in line, evict those used least often.
 *
 * One list.  A folio is appended when it is added, and its uses are counted by
 * the kernel, so that a hit costs no call.  A request takes the first nr_scan
 * folios, ranks them by their count and evicts the lowest, exactly; all of
 * them go to the tail, so that the next request looks at others.  A folio that
 * was read ahead and not read yet counts as used once, like any new one.
 *
 * Source: cachebpf, section 4.2.5.
 */
#include "cachebpf.bpf.h"

CACHEBPF_TUNABLE(__u32, nr_scan, "32..65536", "folios", "ranked per request") = 512;

static __u32 queue;

__s32 CACHEBPF_SLEEPABLE_OP(lfu_init, struct cachebpf_policy *policy)
{
	int list = bpf_cachebpf_list_create(policy);

	if (list < 0)
		return list;
	queue = list;
	return 0;
}

void CACHEBPF_OP(lfu_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	bpf_cachebpf_list_add(policy, folio, queue, TAIL);
}

void CACHEBPF_OP(lfu_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, queue, nr_scan, CACHEBPF_ITER_ROTATE)
		bpf_cachebpf_rank(evict, folio, folio->accesses ?: 1);
}

CACHEBPF_POLICY(lfu, "Evicts the least often used of those next in line",
		"cachebpf, section 4.2.5",
		.policy_init	= (void *)lfu_init,
		.folio_added	= (void *)lfu_added,
		.evict_folios	= (void *)lfu_evict);
