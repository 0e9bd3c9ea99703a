// SPDX-License-Identifier: GPL-2.0-only
/*
 * A policy that does as it is told: numbers folios as they come, and serves a
 * request with walks described in its state.
 */
#include "cachebpf.bpf.h"
#include "states.h"

struct lists_state state SEC(".bss.state");

__s32 CACHEBPF_SLEEPABLE_OP(lists_init, struct cachebpf_policy *policy)
{
	__u32 i;

	for (i = 0; i < LISTS_MAX_LISTS && i < state.want_lists; i++) {
		int number = bpf_cachebpf_list_create(policy, i < LISTS_NR_FLAGS ?
							      state.list_flags[i] : 0);

		if (number < 0) {
			state.create_error = number;
			break;
		}
		state.numbers[i] = number;
		state.nr_lists++;
	}
	return 0;
}

/* in the second half of the policy's bytes; the first is for a score */
static __u32 *number_of(struct cachebpf_folio *folio)
{
	__u64 *data = (__u64 *)bpf_cachebpf_data(folio, 16);

	return data ? (__u32 *)&data[1] : NULL;
}

void CACHEBPF_OP(lists_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__u32 n = __sync_fetch_and_add(&state.nr_added, 1);
	__u32 *number = number_of(folio);

	if (!number)
		return;
	*number = n;
	if (state.data_is_score && n < LISTS_MAX_FOLIOS)
		((__s64 *)number)[-1] = state.scores[n];
	if (n == 0) {
		state.error_add = bpf_cachebpf_list_add(policy, folio, state.nr_lists + 1, TAIL);
		state.error_add_huge = bpf_cachebpf_list_add(policy, folio, ~0U, TAIL);
		state.error_move = bpf_cachebpf_list_move(policy, folio, state.nr_lists + 1, TAIL);
		state.len_of_none = bpf_cachebpf_list_len(policy, state.nr_lists + 1);
	}
	if (state.add_to)
		bpf_cachebpf_list_add(policy, folio, 1 + n % state.add_to, !state.add_to_head);
}

void CACHEBPF_OP(lists_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	if (state.del_accessed)
		bpf_cachebpf_list_del(policy, folio);
}

void CACHEBPF_OP(lists_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u32 *number = number_of(folio), n;

	if (!number || why != CACHEBPF_REMOVED_RECLAIM)
		return;
	n = __sync_fetch_and_add(&state.nr_reclaimed, 1);
	if (n < LISTS_MAX_FOLIOS)
		state.reclaimed[n] = *number;
}

/* Returns true if the walk need not go on. */
static __always_inline bool visit(struct cachebpf_policy *policy, struct cachebpf_evict *evict,
				  struct walk *walk, struct cachebpf_folio *folio)
{
	__u32 *number = number_of(folio), n = walk->nr_visited;

	if (!number)
		return true;
	if (n < LISTS_MAX_FOLIOS) {
		walk->visited[n] = *number;
		walk->nr_visited = n + 1;
	}

	switch (walk->action) {
	case WALK_MOVE:
		walk->last_error = bpf_cachebpf_list_move(policy, folio, walk->to, walk->tail);
		break;
	case WALK_ADD:
		walk->last_error = bpf_cachebpf_list_add(policy, folio, walk->to, walk->tail);
		break;
	case WALK_DEL:
		walk->last_error = bpf_cachebpf_list_del(policy, folio);
		break;
	case WALK_EVICT:
		return bpf_cachebpf_evict(evict, folio);
	case WALK_RANK:
		n = *number;
		if (n < LISTS_MAX_FOLIOS)
			bpf_cachebpf_rank(evict, folio, state.scores[n]);
		break;
	}
	return false;
}

static __always_inline void do_walk(struct cachebpf_policy *policy, struct cachebpf_evict *evict,
				    struct walk *walk)
{
	struct cachebpf_folio *folio;

	if (walk->action == WALK_RANK_LIST) {
		walk->last_error = bpf_cachebpf_rank_list(evict, walk->list, walk->nr_max, walk->to);
		return;
	}
	for_each_folio(folio, evict, walk->list, walk->nr_max, walk->flags)
		if (visit(policy, evict, walk, folio))
			break;
}

static __always_inline void wrong_walks(struct cachebpf_evict *evict)
{
	struct bpf_iter_cachebpf_list it;

	state.error_iter = bpf_iter_cachebpf_list_new(&it, evict, state.nr_lists + 1, 0, 0);
	if (bpf_iter_cachebpf_list_next(&it))
		state.error_iter = 0;
	bpf_iter_cachebpf_list_destroy(&it);

	state.error_iter_flags = bpf_iter_cachebpf_list_new(&it, evict, 1, 0, 1 << 31);
	if (bpf_iter_cachebpf_list_next(&it))
		state.error_iter_flags = 0;
	bpf_iter_cachebpf_list_destroy(&it);
}

void CACHEBPF_OP(lists_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u32 i;

	if (!state.armed)
		return;
	state.armed--;
	state.nr_wanted = evict->nr_wanted;
	for (i = 0; i < 128; i++)
		state.len_before[i] = bpf_cachebpf_list_len(policy, i + 1);

	wrong_walks(evict);
	if (state.nr_walks > 0)
		do_walk(policy, evict, &state.walks[0]);
	if (state.nr_walks > 1)
		do_walk(policy, evict, &state.walks[1]);
	if (state.nr_walks > 2)
		do_walk(policy, evict, &state.walks[2]);

	state.nr_proposed = evict->nr_proposed;
	for (i = 0; i < 128; i++)
		state.len_after[i] = bpf_cachebpf_list_len(policy, i + 1);
}

CACHEBPF_POLICY(lists, "Does as a test says", "kernel/selftests",
		.policy_init	= (void *)lists_init,
		.folio_added	= (void *)lists_added,
		.folio_accessed	= (void *)lists_accessed,
		.folio_removed	= (void *)lists_removed,
		.evict_folios	= (void *)lists_evict);
