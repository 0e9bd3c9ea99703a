/* SPDX-License-Identifier: GPL-2.0-only */
/* A policy object for test-policy: it is read, never loaded. */
#include "../../../bpf/cachebpf.bpf.h"

CACHEBPF_TUNABLE(__u32, nr_scan, "1..4096", "folios", "looked at") = 512;
CACHEBPF_TUNABLE(int, bias, "-10..10", "points", "added") = -3;
CACHEBPF_COUNTER(asked, "pages", "that were wanted");
CACHEBPF_COUNTER(again, "", "requests");
CACHEBPF_COUNTER(asked_total, "", "requests as well");

int CACHEBPF_OP(sample_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	counter_add(&asked, evict->nr_wanted);
	counter_add(&again, 1);
	return nr_scan + bias;
}

CACHEBPF_POLICY(sample, "A policy for a test", "nowhere",
	.evict_folios = (void *)sample_evict);
