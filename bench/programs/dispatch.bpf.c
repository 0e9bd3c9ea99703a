// SPDX-License-Identifier: GPL-2.0-only
/*
 * For a measurement: a policy that would be decided in user space.
 *
 * Each folio that is added, used again or removed is told through a ring
 * buffer to a program that reads it; see dispatch-reader.c, which does nothing
 * with it.  Nothing comes back, and reclaim stays the stock one: what this
 * costs is the least that such a policy could.
 *
 * Source: cachebpf, section 4.1 and table 1.
 */
#include "cachebpf.bpf.h"
#include "dispatch.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, DISPATCH_RING_SIZE);
} dispatch_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, DISPATCH_COUNTS_MAX);
	__type(key, __u32);
	__type(value, __u64);
} dispatch_counts SEC(".maps");

static __u32 all;

__s32 CACHEBPF_SLEEPABLE_OP(dispatch_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &all, CACHEBPF_LIST_NEW_TAIL);
}

static __always_inline void count(__u32 what)
{
	__u64 *counter = bpf_map_lookup_elem(&dispatch_counts, &what);

	if (counter)
		__sync_fetch_and_add(counter, 1);
}

static __always_inline void send(struct cachebpf_folio *folio, __u32 kind, __u32 why)
{
	struct dispatch_event *event = bpf_ringbuf_reserve(&dispatch_events, sizeof(*event), 0);

	if (!event) {
		count(DISPATCH_LOST);
		return;
	}
	event->key = bpf_cachebpf_key(folio);
	event->kind = kind;
	event->why = why;
	bpf_ringbuf_submit(event, 0);
	count(kind);
}

void CACHEBPF_OP(dispatch_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	send(folio, DISPATCH_ADDED, why);
}

void CACHEBPF_OP(dispatch_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	send(folio, DISPATCH_ACCESSED, 0);
}

void CACHEBPF_OP(dispatch_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	send(folio, DISPATCH_REMOVED, why);
}

CACHEBPF_POLICY(dispatch, "Tells user space of everything, and decides nothing",
		"cachebpf, section 4.1",
		.flags		= CACHEBPF_F_STOCK_RECLAIM,
		.policy_init	= (void *)dispatch_init,
		.folio_added	= (void *)dispatch_added,
		.folio_accessed	= (void *)dispatch_accessed,
		.folio_removed	= (void *)dispatch_removed);
