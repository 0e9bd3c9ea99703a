// SPDX-License-Identifier: GPL-2.0-only
/* Stock reclaim with readahead that adapts. */
#include "lib/readahead.bpf.h"

bool CACHEBPF_OP(adaptive_plan, struct cachebpf_policy *policy, struct cachebpf_readahead *ra)
{
	return readahead_plan(ra, READAHEAD_ADAPTIVE);
}

SEC(".struct_ops.link") struct cachebpf_ops adaptive = {
	.name		= "adaptive",
	.flags		= CACHEBPF_F_STOCK_RECLAIM,
	.plan_readahead	= (void *)adaptive_plan,
};

char LICENSE[] SEC("license") = "GPL";
