// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies that the watchdog has to find out, or must leave alone; a test loads
 * one of them and tells it what to do.
 */
#include "cachebpf.bpf.h"
#include "states.h"
#include "time.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct watchdog_state state SEC(".bss.state");

static __u32 queue;

static __always_inline int create_queue(struct cachebpf_policy *policy)
{
	int list = bpf_cachebpf_list_create(policy, 0);

	if (list < 0)
		return list;
	queue = list;
	return 0;
}

__s32 CACHEBPF_SLEEPABLE_OP(one_list, struct cachebpf_policy *policy)
{
	return create_queue(policy);
}

void CACHEBPF_OP(append, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	bpf_cachebpf_list_add(policy, folio, queue, TAIL);
}

#define POLICY(id, how)							\
	SEC(".struct_ops.link") struct cachebpf_ops id = {		\
		.name		= #id,					\
		.policy_init	= (void *)one_list,			\
		.folio_added	= (void *)append,			\
		.evict_folios	= (void *)how,				\
	}

static __always_inline void propose(struct cachebpf_evict *evict, __u32 nr)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, queue, nr, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			break;
}

/* --- proposes a part of what is wanted, and nothing else */

void CACHEBPF_OP(lazy_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	state.requests++;
	if (state.requests % state.one_in == 0)
		propose(evict, 0);
}

POLICY(lazy, lazy_evict);

/* --- does its work, and takes its time */

void CACHEBPF_OP(slow_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	state.requests++;
	propose(evict, 0);
	/* every so many requests it is quick */
	if (state.one_in && state.requests % state.one_in == 0)
		return;
	spend_us(state.slow_us);
}

POLICY(slow, slow_evict);

/* --- one page at a time, and takes its time for each */

void CACHEBPF_OP(drip_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	state.requests++;
	propose(evict, 1);
	spend_us(state.slow_us);
}

POLICY(drip, drip_evict);

/* --- serves whole batches, and not what is left of a share in the end */

void CACHEBPF_OP(whole_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	state.requests++;
	if (evict->nr_wanted == 32)
		propose(evict, 0);
}

POLICY(whole, whole_evict);

/* --- walks and walks, and never comes to an end by itself */

void CACHEBPF_OP(endless_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *outer, *inner, *last;
	__u64 before = state.visits;
	int i;

	state.requests++;
	bpf_for(i, 0, 1000)
		for_each_folio(outer, evict, queue, 0, 0) {
			state.visits++;
			for_each_folio(inner, evict, queue, 0, CACHEBPF_ITER_REVERSE) {
				state.visits++;
				for_each_folio(last, evict, queue, 0, CACHEBPF_ITER_ROTATE)
					state.visits++;
			}
		}
	if (state.visits - before > state.most_visits)
		state.most_visits = state.visits - before;
}

POLICY(endless, endless_evict);

/* --- proposes folios, and waits until they are gone before it says so */

static long wait_for_user(__u32 i, void *ctx)
{
	return *(volatile __u32 *)&state.gone != 0;
}

void CACHEBPF_OP(stale_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;
	int i;

	state.requests++;
	if (!state.armed)
		return;
	for_each_folio(folio, evict, queue, 0, 0)
		if (bpf_cachebpf_evict(evict, folio))
			break;
	state.proposed = evict->nr_proposed;
	state.armed = 0;
	bpf_for(i, 0, 100)
		if (bpf_loop(MAX_LOOPS, wait_for_user, NULL, 0) < MAX_LOOPS)
			break;
}

POLICY(stale, stale_evict);

/* --- brings about reclaim while it starts, of the cgroup that it is for */

extern int bpf_copy_from_user_str(void *dst, __u32 dst__sz, const void *unsafe_ptr__ign,
				  __u64 flags) __ksym;

__s32 CACHEBPF_SLEEPABLE_OP(reenter_init, struct cachebpf_policy *policy)
{
	char text[8];
	int i;

	bpf_for(i, 0, (int)state.nr_pages)
		if (bpf_copy_from_user_str(text, sizeof(text),
					   (const void *)(state.pages + i * 4096ULL), 0) < 0)
			state.errors++;
	/* nobody asks a policy that has not started */
	state.errors += state.requests;
	return create_queue(policy);
}

void CACHEBPF_OP(take_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	state.requests++;
	propose(evict, 0);
}

SEC(".struct_ops.link") struct cachebpf_ops reenter = {
	.name		= "reenter",
	.policy_init	= (void *)reenter_init,
	.folio_added	= (void *)append,
	.evict_folios	= (void *)take_evict,
};
