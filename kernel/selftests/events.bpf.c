// SPDX-License-Identifier: GPL-2.0-only
/*
 * FIFO that writes down what it is told, and leaves a mark in the 16 bytes of
 * each folio that it checks when the folio goes.
 */
#include "cachebpf.bpf.h"
#include "states.h"

struct events_state state SEC(".bss.state");

static __u32 queue;

__s32 CACHEBPF_SLEEPABLE_OP(events_init, struct cachebpf_policy *policy)
{
	int list = bpf_cachebpf_list_create(policy, 0);

	if (list < 0)
		return list;
	queue = list;
	return 0;
}

void CACHEBPF_OP(events_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u64 n = __sync_fetch_and_add(&state.nr_added, 1);
	__u64 *mark = (__u64 *)bpf_cachebpf_data(folio, 16);

	if (mark) {
		/* they must be empty when a folio comes */
		if (mark[0] || mark[1])
			__sync_fetch_and_add(&state.damaged, 1);
		mark[0] = n;
		mark[1] = ~n;
	}
	__sync_fetch_and_add(&state.added[why & 3], 1ULL << (folio->order & 15));
	if (why & CACHEBPF_ADDED_WRITTEN)
		__sync_fetch_and_add(&state.added_written, 1ULL << (folio->order & 15));
	if (why & CACHEBPF_ADDED_ADOPTED)
		__sync_fetch_and_add(&state.adopted_accesses[folio->accesses & 7], 1);
	bpf_cachebpf_list_add(policy, folio, queue, TAIL);
}

void CACHEBPF_OP(events_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__sync_fetch_and_add(&state.accessed, 1);
	state.accesses_seen = folio->accesses;
	if (state.write_accesses)
		folio->accesses = state.write_accesses;
}

void CACHEBPF_OP(events_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u64 *mark = (__u64 *)bpf_cachebpf_data(folio, 16), n;

	__sync_fetch_and_add(&state.removed[why & 7], 1ULL << (folio->order & 15));
	state.accesses_at_end = folio->accesses;
	if (!mark)
		return;
	n = mark[0];
	if (n != ~mark[1]) {
		__sync_fetch_and_add(&state.damaged, 1);
		return;
	}
	__sync_fetch_and_add(&state.intact, 1);
	if (n < EVENTS_MAX_FOLIOS)
		state.ends[n]++;
}

void CACHEBPF_OP(events_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, queue, 0, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			break;
}

CACHEBPF_POLICY(events, "FIFO that keeps books", "kernel/selftests",
		.policy_init	= (void *)events_init,
		.folio_added	= (void *)events_added,
		.folio_accessed	= (void *)events_accessed,
		.folio_removed	= (void *)events_removed,
		.evict_folios	= (void *)events_evict);
