// SPDX-License-Identifier: GPL-2.0-only
/* Stock reclaim with windows as the test wants them; writes down what it is asked. */
#include "cachebpf.bpf.h"
#include "states.h"
#include "time.bpf.h"

struct readahead_state state SEC(".bss.state");

static void note(const struct cachebpf_readahead *ra)
{
	state.ino = ra->ino;
	state.stream = ra->stream;
	state.index = ra->index;
	state.file_pages = ra->file_pages;
	state.prev_end = ra->prev_end;
	state.room = ra->room;
	state.limit = ra->limit;
	state.dev = ra->dev;
	state.wanted = ra->wanted;
	state.last_window = ra->last_window;
	state.stock_window = ra->stock_window;
	state.mmap_miss = ra->mmap_miss;
	state.marked = ra->marked;
	state.size = ra->size;
}

static void prefetch(struct cachebpf_readahead *ra)
{
	__u32 i;

	for (i = 0; i < READAHEAD_MAX_RANGES; i++)
		if (state.ranges[i].nr)
			state.ranges[i].error = bpf_cachebpf_prefetch(ra, state.ranges[i].index,
								      state.ranges[i].nr);
}

bool CACHEBPF_OP(readahead_plan, struct cachebpf_policy *policy, struct cachebpf_readahead *ra)
{
	__u32 reason = ra->reason;
	const struct readahead_answer *answer;

	if (reason >= READAHEAD_REASONS)
		return false;
	answer = &state.answers[reason];
	note(ra);
	__sync_fetch_and_add(&state.asked[reason], 1);
	if (!answer->keeps) {
		ra->start = answer->start + (answer->absolute ? 0 : ra->index);
		ra->size = answer->size;
		ra->async_size = answer->async_size;
	}
	prefetch(ra);
	return !answer->declines;
}

SEC(".struct_ops.link") struct cachebpf_ops readahead = {
	.name		= "readahead",
	.flags		= CACHEBPF_F_STOCK_RECLAIM,
	.plan_readahead	= (void *)readahead_plan,
};

/* --- the same, and evicts in the order in which folios came */

static __u32 queue;

__s32 CACHEBPF_SLEEPABLE_OP(in_order_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &queue, CACHEBPF_LIST_NEW_TAIL);
}

/* that are looked at: to walk over all would take too long */
#define SOME	128

/* Walk over what is there, and do not propose anything. */
static __always_inline void look(struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, queue, SOME, 0)
		if (state.forgets)
			folio->accesses = 0;
}

void CACHEBPF_OP(in_order_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u32 flags = state.walk == READAHEAD_WALKS_AND_ROTATES ? CACHEBPF_ITER_ROTATE : 0;
	struct cachebpf_folio *folio;
	int i;

	state.evict_calls++;
	if (state.walk == READAHEAD_RANKS) {
		bpf_cachebpf_rank_list(evict, queue, ~0U, CACHEBPF_BY_ACCESSES);
		return;
	}
	if (state.walk == READAHEAD_WALKS_AGAIN)
		bpf_for(i, 0, 3)
			look(evict);
	if (state.forgets)
		look(evict);
	for_each_folio(folio, evict, queue, 0, flags)
		if (bpf_cachebpf_evict(evict, folio))
			break;
	if (state.slow_us && evict->nr_proposed < 2)
		spend_us(state.slow_us);
}

SEC(".struct_ops.link") struct cachebpf_ops in_order = {
	.name		= "in_order",
	.policy_init	= (void *)in_order_init,
	.evict_folios	= (void *)in_order_evict,
	.plan_readahead	= (void *)readahead_plan,
};

/* --- and has its own idea of how often folios were used */

void CACHEBPF_OP(counts_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	folio->accesses = state.new_accesses;
}

SEC(".struct_ops.link") struct cachebpf_ops counts = {
	.name		= "counts",
	.policy_init	= (void *)in_order_init,
	.folio_added	= (void *)counts_added,
	.evict_folios	= (void *)in_order_evict,
	.plan_readahead	= (void *)readahead_plan,
};

char LICENSE[] SEC("license") = "GPL";
