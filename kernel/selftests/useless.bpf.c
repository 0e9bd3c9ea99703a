// SPDX-License-Identifier: GPL-2.0-only
/* A policy to be installed for a test, which the kernel ejects: it proposes nothing. */
#include "cachebpf.bpf.h"

void CACHEBPF_OP(useless_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
}

CACHEBPF_POLICY(useless, "Never evicts anything", "kernel/selftests",
		.evict_folios	= (void *)useless_evict);
