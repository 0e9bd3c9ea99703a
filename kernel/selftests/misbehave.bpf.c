// SPDX-License-Identifier: GPL-2.0-only
/* Policies that are of no use, or worse; a test loads one of them. */
#include "cachebpf.bpf.h"
#include "states.h"

char LICENSE[] SEC("license") = "GPL";

struct misbehave_state state SEC(".bss.state");

static __u32 queue, other;

__s32 CACHEBPF_SLEEPABLE_OP(two_lists, struct cachebpf_policy *policy)
{
	int list = bpf_cachebpf_list_create(policy, 0);

	if (list < 0)
		return list;
	queue = list;
	list = bpf_cachebpf_list_create(policy, 0);
	if (list < 0)
		return list;
	other = list;
	return 0;
}

void CACHEBPF_OP(append, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	bpf_cachebpf_list_add(policy, folio, queue, TAIL);
}

#define MISBEHAVIOUR(id, how)						\
	SEC(".struct_ops.link") struct cachebpf_ops id = {		\
		.name		= #id,					\
		.policy_init	= (void *)two_lists,			\
		.folio_added	= (void *)append,			\
		.evict_folios	= (void *)how,				\
	}

/* --- proposes nothing */

void CACHEBPF_OP(nothing_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	state.requests++;
}

MISBEHAVIOUR(nothing, nothing_evict);

/* --- proposes one and the same folio over and over */

void CACHEBPF_OP(same_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;
	int i;

	state.requests++;
	for_each_folio(folio, evict, queue, 1, 0)
		for (i = 0; i < 40; i++)
			bpf_cachebpf_evict(evict, folio);
	state.proposals += evict->nr_proposed;
}

MISBEHAVIOUR(same, same_evict);

/* --- ranks one and the same folio over and over, and then the others */

void CACHEBPF_OP(same_rank_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;
	int i;

	state.requests++;
	for_each_folio(folio, evict, queue, 1, 0)
		for (i = 0; i < 100; i++)
			bpf_cachebpf_rank(evict, folio, -i);
	for_each_folio(folio, evict, queue, 0, 0)
		bpf_cachebpf_rank(evict, folio, 0);
}

MISBEHAVIOUR(same_rank, same_rank_evict);

/* --- looks at everything, again and again, and proposes the last it saw */

void CACHEBPF_OP(busybody_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;
	__s64 n = 0;
	int i;

	state.requests++;
	for (i = 0; i < 5; i++)
		for_each_folio(folio, evict, queue, 0, i & 3)
			__sync_fetch_and_add(&state.visits, 1);
	for_each_folio(folio, evict, queue, 0, CACHEBPF_ITER_ROTATE)
		bpf_cachebpf_rank(evict, folio, --n);
}

MISBEHAVIOUR(busybody, busybody_evict);

/* --- walks a list inside of a walk of the same list, and pulls it from under it */

void CACHEBPF_OP(nested_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *outer, *inner;

	state.requests++;
	for_each_folio(outer, evict, queue, 64, CACHEBPF_ITER_ROTATE) {
		state.visits++;
		bpf_cachebpf_list_move(policy, outer, other, HEAD);
		for_each_folio(inner, evict, queue, 3, CACHEBPF_ITER_REVERSE)
			bpf_cachebpf_list_move(policy, inner, other, TAIL);
		for_each_folio(inner, evict, queue, 3, 0)
			bpf_cachebpf_list_del(policy, inner);
		for_each_folio(inner, evict, other, 2, 0)
			bpf_cachebpf_list_move(policy, inner, queue, HEAD);
	}
	for_each_folio(outer, evict, other, 0, 0)
		if (bpf_cachebpf_evict(evict, outer))
			return;
	for_each_folio(outer, evict, queue, 0, 0)
		if (bpf_cachebpf_evict(evict, outer))
			return;
	for_each_folio(outer, evict, 0, 0, 0)
		if (bpf_cachebpf_evict(evict, outer))
			return;
}

MISBEHAVIOUR(nested, nested_evict);

/* --- every folio goes back and forth between two lists for as long as it can */

void CACHEBPF_OP(shuffle_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	state.requests++;
	for_each_folio(folio, evict, queue, 0, 0) {
		state.visits++;
		bpf_cachebpf_list_move(policy, folio, other, TAIL);
		bpf_cachebpf_list_move(policy, folio, queue, TAIL);
		bpf_cachebpf_list_move(policy, folio, other, HEAD);
	}
	for_each_folio(folio, evict, other, 0, CACHEBPF_ITER_ROTATE) {
		state.visits++;
		bpf_cachebpf_list_move(policy, folio, queue, TAIL);
	}
	for_each_folio(folio, evict, queue, 0, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			break;
}

MISBEHAVIOUR(shuffle, shuffle_evict);

/* --- puts no folio on any list */

void CACHEBPF_OP(unlisted_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	state.requests++;
	for_each_folio(folio, evict, queue, 0, 0)
		state.visits++;
	for_each_folio(folio, evict, other, 0, 0)
		state.visits++;
}

SEC(".struct_ops.link") struct cachebpf_ops unlisted = {
	.name		= "unlisted",
	.policy_init	= (void *)two_lists,
	.evict_folios	= (void *)unlisted_evict,
};

/* --- and no more than the one thing that must be there */

SEC(".struct_ops.link") struct cachebpf_ops minimal = {
	.name		= "minimal",
	.evict_folios	= (void *)nothing_evict,
};
