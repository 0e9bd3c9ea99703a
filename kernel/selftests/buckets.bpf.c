// SPDX-License-Identifier: GPL-2.0-only
/* MRU that remembers in its buckets which folios were added. */
#include "cachebpf.bpf.h"
#include "states.h"

#define NR_PLACES	16

struct buckets_state state SEC(".bss.state");

__s32 CACHEBPF_SLEEPABLE_OP(buckets_init, struct cachebpf_policy *policy)
{
	int list = bpf_cachebpf_list_create(policy, CACHEBPF_LIST_NEW_HEAD);
	__u32 i;

	for (i = 0; i < state.nr_creates && i < BUCKETS_MAX_CREATES; i++)
		state.errors[i] = bpf_cachebpf_buckets_create(policy, state.bytes_per_page[i]);
	return list < 0 ? list : 0;
}

static __u32 *bucket_of(struct cachebpf_policy *policy, __u64 key)
{
	return (__u32 *)bpf_cachebpf_bucket(policy, key, 4 * NR_PLACES);
}

static void remember(struct cachebpf_policy *policy, __u64 key)
{
	__u32 *bucket = bucket_of(policy, key), i;

	if (!bucket) {
		__sync_fetch_and_add(&state.none, 1);
		return;
	}
	for (i = 0; i < NR_PLACES; i++) {
		if (bucket[i])
			continue;
		bucket[i] = key;
		__sync_fetch_and_add(&state.remembered, 1);
		return;
	}
	__sync_fetch_and_add(&state.overflown, 1);
}

static void look(struct cachebpf_policy *policy, __u64 key)
{
	__u32 *bucket = bucket_of(policy, key), i;

	if (!bucket) {
		__sync_fetch_and_add(&state.none, 1);
		return;
	}
	for (i = 0; i < NR_PLACES; i++)
		if (bucket[i] == (__u32)key) {
			__sync_fetch_and_add(&state.found, 1);
			return;
		}
	__sync_fetch_and_add(&state.missing, 1);
}

void CACHEBPF_OP(buckets_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	if (state.remember)
		remember(policy, bpf_cachebpf_key(folio));
	if (!state.idle)
		bpf_cachebpf_bucket(policy, 0, 4 * NR_PLACES);
	if (bpf_cachebpf_bucket(policy, 0, 65))
		__sync_fetch_and_add(&state.too_large, 1);
}

void CACHEBPF_OP(buckets_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	if (state.look)
		look(policy, bpf_cachebpf_key(folio));
}

/* with interrupts off */
void CACHEBPF_OP(buckets_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	if (state.look)
		look(policy, bpf_cachebpf_key(folio));
}

void CACHEBPF_OP(buckets_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, 1, 0, 0)
		if (bpf_cachebpf_evict(evict, folio))
			break;
}

CACHEBPF_POLICY(buckets, "MRU with buckets", "kernel/selftests",
		.policy_init	= (void *)buckets_init,
		.folio_added	= (void *)buckets_added,
		.folio_accessed	= (void *)buckets_accessed,
		.folio_removed	= (void *)buckets_removed,
		.evict_folios	= (void *)buckets_evict);
