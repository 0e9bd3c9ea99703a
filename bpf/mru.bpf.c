// SPDX-License-Identifier: GPL-2.0-only
/*
 * MRU: evict what was used last; the best there is for repeated scans of more
 * data than fit, since it keeps a part of them instead of nothing.
 *
 * One list, the most recently used folio at its head: new ones come there, and
 * used ones come back there.  Requests take from the head but leave alone what
 * readahead brought in and nobody has read yet; the papers skip a fixed number
 * of the newest folios for that.  If that is not enough among the newest
 * nr_scan folios, unread ones have to go as well.
 *
 * Source: cachebpf, section 5.1.1.
 */
#include "cachebpf.bpf.h"

CACHEBPF_TUNABLE(__u32, nr_scan, "32..65536", "folios",
		 "searched for ones that were read, per request") = 1024;

static __u32 stack;

__s32 CACHEBPF_SLEEPABLE_OP(mru_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &stack, CACHEBPF_LIST_NEW_HEAD | CACHEBPF_LIST_USED_HEAD);
}

void CACHEBPF_OP(mru_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, stack, nr_scan, 0)
		if (was_used(folio) && bpf_cachebpf_evict(evict, folio))
			return;

	for_each_folio(folio, evict, stack, nr_scan, 0)
		if (!was_used(folio) && bpf_cachebpf_evict(evict, folio))
			return;
}

CACHEBPF_POLICY(mru, "Evicts the most recently used; for repeated scans", "cachebpf, section 5.1.1",
		.policy_init	= (void *)mru_init,
		.evict_folios	= (void *)mru_evict);
