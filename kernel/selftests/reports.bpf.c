// SPDX-License-Identifier: GPL-2.0-only
/*
 * FIFO on two lists that reports each call through a ring buffer, and a
 * program that user space runs, which has the policy begin with the other list.
 */
#include "cachebpf.bpf.h"
#include "states.h"

struct reports_state state SEC(".bss.state");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

static __u32 nr_added;

__s32 CACHEBPF_SLEEPABLE_OP(reports_init, struct cachebpf_policy *policy)
{
	int list = bpf_cachebpf_list_create(policy, 0);

	return list < 0 ? list : bpf_cachebpf_list_create(policy, 0) < 0 ? -12 /* ENOMEM */ : 0;
}

/* one way to write to a ring buffer, and the other below */
static void output(__u32 kind)
{
	struct report report = {
		.kind = kind,
		.nr = __sync_fetch_and_add(&state.sent[kind % REPORT_KINDS], 1),
	};

	if (bpf_ringbuf_output(&ring, &report, sizeof(report), 0))
		__sync_fetch_and_add(&state.lost, 1);
}

void CACHEBPF_OP(reports_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	/* the first of two goes to list 1 */
	bpf_cachebpf_list_add(policy, folio, 1 + (__sync_fetch_and_add(&nr_added, 1) & 1), TAIL);
	output(REPORT_ADDED);
}

void CACHEBPF_OP(reports_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	output(REPORT_ACCESSED);
}

void CACHEBPF_OP(reports_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	struct report *report = bpf_ringbuf_reserve(&ring, sizeof(*report), 0);
	__u32 nr = __sync_fetch_and_add(&state.sent[REPORT_REMOVED], 1);

	if (!report) {
		__sync_fetch_and_add(&state.lost, 1);
		return;
	}
	report->kind = REPORT_REMOVED;
	report->nr = nr;
	bpf_ringbuf_submit(report, 0);
}

void CACHEBPF_OP(reports_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	output(REPORT_EVICT);
	for_each_folio(folio, evict, state.other_first ? 2 : 1, 0, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			return;
}

SEC("syscall") int reports_flip(void *ctx)
{
	state.other_first = !state.other_first;
	return ++state.flips;
}

CACHEBPF_POLICY(reports, "FIFO that reports", "kernel/selftests",
		.policy_init	= (void *)reports_init,
		.folio_added	= (void *)reports_added,
		.folio_accessed	= (void *)reports_accessed,
		.folio_removed	= (void *)reports_removed,
		.evict_folios	= (void *)reports_evict);
