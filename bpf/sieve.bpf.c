// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIEVE: sift out what was not used since the hand passed it last.
 *
 * The paper has one queue in the order of arrival and a hand that wanders from
 * its old end to its new one, and begins again: a visited object stays in
 * place and is no longer visited, any other is evicted.  Here the hand is the
 * border between two lists.  What it has passed is on "passed"; what it comes
 * to next is at the head of "ahead", after which it comes to what arrived in
 * the meantime, on "arrived".  When there is nothing before it any more, the
 * hand begins again: passed and ahead change their roles.  Visited is what the
 * kernel has counted more uses of than the first one, so there is nothing to
 * do when a folio is used or added.  NUMA nodes have a hand each.
 *
 * Source: Zhang et al., "SIEVE is simpler than LRU", NSDI 2024, algorithm 1.
 */
#include "cachebpf.bpf.h"

#define NR_HANDS	64

static __u32 sides[2], arrived;
/* per node: which of the two sides is ahead of the hand */
static __u32 ahead[NR_HANDS];

__s32 CACHEBPF_SLEEPABLE_OP(sieve_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &sides[0], 0) ?:
	       list_create(policy, &sides[1], 0) ?:
	       list_create(policy, &arrived, CACHEBPF_LIST_NEW_TAIL);
}

/* Have the hand pass the folios of @list.  Returns whether the request is full. */
static bool pass(struct cachebpf_policy *policy, struct cachebpf_evict *evict, __u32 list,
		 __u32 passed)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, list, 0, CACHEBPF_ITER_ROTATE) {
		bpf_cachebpf_list_move(policy, folio, passed, TAIL);
		if (uses_since(folio))
			set_uses(folio, 0);
		else if (bpf_cachebpf_evict(evict, folio))
			return true;
	}
	return false;
}

void CACHEBPF_OP(sieve_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u32 *hand = &ahead[(__u32)evict->nid % NR_HANDS];
	__u32 side = *hand & 1;

	if ((pass(policy, evict, sides[side], sides[!side]) ||
	     pass(policy, evict, arrived, sides[!side])) &&
	    bpf_cachebpf_list_len(policy, sides[side]) + bpf_cachebpf_list_len(policy, arrived))
		return;
	/* it begins again, unless another reclaimer has had it do so in the meantime */
	__sync_bool_compare_and_swap(hand, side, !side);
	if (!evict->nr_proposed)
		pass(policy, evict, sides[!side], sides[side]);
}

CACHEBPF_POLICY(sieve, "Evicts what was not used since it was looked at last", "NSDI 2024",
		.policy_init	= (void *)sieve_init,
		.evict_folios	= (void *)sieve_evict);
