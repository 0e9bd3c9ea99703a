// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests of the daemon: FIFO that asks for its program to be run, once for
 * so many folios, and counts what it asked for and what it got.
 */
#include "cachebpf.bpf.h"

CACHEBPF_TUNABLE(__u32, nr_added, "1..1048576", "folios", "added between two events") = 64;
CACHEBPF_TUNABLE(__u32, run_ms, "0..20000", "ms", "that the program takes") = 0;
CACHEBPF_TUNABLE(__s32, result, "-4095..4095", "errno", "of the program, 0 or what it fails with") = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} cachebpf_events SEC(".maps");

__u64 added;
__u64 posted;
__u64 lost;
__u64 begun;
__u64 ended;

static __u32 queue;

__s32 CACHEBPF_SLEEPABLE_OP(asking_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &queue, CACHEBPF_LIST_NEW_TAIL);
}

void CACHEBPF_OP(asking_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u64 nr = __sync_fetch_and_add(&added, 1) + 1;

	if (nr % nr_added)
		return;
	if (bpf_ringbuf_output(&cachebpf_events, &nr, sizeof(nr), 0))
		__sync_fetch_and_add(&lost, 1);
	else
		__sync_fetch_and_add(&posted, 1);
}

void CACHEBPF_OP(asking_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, queue, 0, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			break;
}

static long spin(__u32 i, void *ctx)
{
	return 0;
}

static long spin_until(__u32 i, __u64 *end)
{
	bpf_loop(4096, spin, NULL, 0);
	return bpf_ktime_get_ns() >= *end;
}

SEC("syscall")
int asking_reconfigure(void *ctx)
{
	__u64 end = bpf_ktime_get_ns() + run_ms * 1000000ULL;

	begun++;
	if (run_ms)
		bpf_loop(1 << 23, spin_until, &end, 0);
	ended++;
	return result;
}

CACHEBPF_POLICY(asking, "FIFO that asks for its program to be run", "tests",
		.policy_init	= (void *)asking_init,
		.folio_added	= (void *)asking_added,
		.evict_folios	= (void *)asking_evict);
