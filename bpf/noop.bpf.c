// SPDX-License-Identifier: GPL-2.0-only
/*
 * No-op: manages every folio and decides nothing.
 *
 * Reclaim stays the stock one.  This is what the framework costs by itself,
 * and a start for a policy of one's own.
 *
 * Source: cachebpf, section 5.3.2.
 */
#include "cachebpf.bpf.h"

static __u32 all;

__s32 CACHEBPF_SLEEPABLE_OP(noop_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &all, CACHEBPF_LIST_NEW_TAIL);
}

CACHEBPF_POLICY(noop, "Decides nothing: stock reclaim, with the statistics of a policy",
		"cachebpf, section 5.3.2",
		.flags		= CACHEBPF_F_STOCK_RECLAIM,
		.policy_init	= (void *)noop_init);
