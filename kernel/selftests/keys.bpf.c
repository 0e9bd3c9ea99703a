// SPDX-License-Identifier: GPL-2.0-only
/* FIFO on several lists that writes down the keys of its folios, and where it finds them. */
#include "cachebpf.bpf.h"
#include "states.h"

struct keys_state state SEC(".bss.state");

__s32 CACHEBPF_SLEEPABLE_OP(keys_init, struct cachebpf_policy *policy)
{
	int i, list = 0;

	/* numbers from 1 on */
	for (i = 0; i < KEYS_NR_LISTS && list >= 0; i++)
		list = bpf_cachebpf_list_create(policy, 0);
	return list < 0 ? list : 0;
}

/* The folio's number plus one; 0 if there were too many. */
static __u64 *number(struct cachebpf_folio *folio)
{
	return (__u64 *)bpf_cachebpf_data(folio, 8);
}

void CACHEBPF_OP(keys_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__u32 n = __sync_fetch_and_add(&state.nr_added, 1);
	__u64 *nr = number(folio);

	if (nr && n < KEYS_MAX_FOLIOS) {
		*nr = n + 1;
		state.added[n] = bpf_cachebpf_key(folio);
	}
	bpf_cachebpf_list_move(policy, folio, 1 + n % KEYS_NR_LISTS, TAIL);
}

void CACHEBPF_OP(keys_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__u64 *nr = number(folio), n;

	if (!nr || !*nr)
		return;
	n = (*nr - 1) % KEYS_MAX_FOLIOS;
	state.accessed[n] = bpf_cachebpf_key(folio);
	state.list_accessed[n] = folio->list;
}

void CACHEBPF_OP(keys_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__u64 *nr = number(folio), n;

	if (!nr || !*nr)
		return;
	n = (*nr - 1) % KEYS_MAX_FOLIOS;
	state.removed[n] = bpf_cachebpf_key(folio);
	state.list_removed[n] = folio->list;
}

void CACHEBPF_OP(keys_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;
	int i;

	__sync_fetch_and_or(&state.nodes, 1ULL << (evict->nid & 63));
	for (i = 0; i < KEYS_NR_LISTS; i++)
		for_each_folio(folio, evict, 1 + i, 0, CACHEBPF_ITER_ROTATE)
			if (bpf_cachebpf_evict(evict, folio))
				return;
}

CACHEBPF_POLICY(keys, "FIFO that knows its folios by their keys", "kernel/selftests",
		.policy_init	= (void *)keys_init,
		.folio_added	= (void *)keys_added,
		.folio_accessed	= (void *)keys_accessed,
		.folio_removed	= (void *)keys_removed,
		.evict_folios	= (void *)keys_evict);
