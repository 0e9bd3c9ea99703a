// SPDX-License-Identifier: GPL-2.0-only
/*
 * @NAME@: say here, in a few sentences, what it evicts and why.
 *
 * To begin with, this is FIFO with second chances (the "clock"): what is next in
 * line is evicted, unless it was used since it was looked at last.
 *
 * How to go on: writing-a-policy.md in /usr/share/doc/cachebpf.  What there is to
 * write a policy with: <cachebpf/cachebpf.bpf.h>, and cachebpf(3).
 */
#include <cachebpf/cachebpf.bpf.h>

/*
 * What an administrator may set, with CachePolicyOptions=chances=3: type, name,
 * range, unit, and what it is good for.  The default follows.  Inside the policy
 * it is a constant.
 */
CACHEBPF_TUNABLE(__u32, chances, "0..3", "rounds", "that a folio gets at most, one for each use") = 1;

/* The number of a list of folios.  There can be several. */
static __u32 queue;

/*
 * Called once, when the policy is attached.  Lists are made here and nowhere else.
 * The flags say what the kernel does with the list by itself:
 *
 *	CACHEBPF_LIST_NEW_HEAD, CACHEBPF_LIST_NEW_TAIL
 *		new folios join it, at this end
 *	CACHEBPF_LIST_USED_HEAD, CACHEBPF_LIST_USED_TAIL
 *		a folio on it that is used again moves to this end
 *
 * What is not 0 is an error, and the policy is not attached.
 */
__s32 CACHEBPF_SLEEPABLE_OP(@ID@_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &queue, CACHEBPF_LIST_NEW_TAIL);
}

/* Look at each folio once, from the head of the queue.  Returns whether the request is full. */
static bool go_round(struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	/* CACHEBPF_ITER_ROTATE: what was looked at goes to the tail */
	for_each_folio(folio, evict, queue, 0, CACHEBPF_ITER_ROTATE) {
		/* its uses, of which the one that brought it in is none */
		__u32 left = frequency(folio, chances);

		if (left)
			set_uses(folio, left - 1);
		else if (bpf_cachebpf_evict(evict, folio))
			return true;
	}
	return false;
}

/*
 * Called when memory is needed: propose folios worth evict->nr_wanted pages.  What
 * is missing, or cannot be evicted, the kernel chooses as it does without a policy;
 * a policy of which that is true all the time is thrown out.
 */
void CACHEBPF_OP(@ID@_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	/* after so many rounds nothing has a chance left */
	bpf_repeat(4)
		if (go_round(evict) || evict->nr_proposed)
			return;
}

/*
 * More callbacks, for policies that need them; name them below as well.
 *
 *	void CACHEBPF_OP(@ID@_added, struct cachebpf_policy *policy,
 *			 struct cachebpf_folio *folio, __u32 why)
 *		a folio came into the cache; why: CACHEBPF_ADDED_*
 *
 *	void CACHEBPF_OP(@ID@_accessed, struct cachebpf_policy *policy,
 *			 struct cachebpf_folio *folio)
 *		it was used again; do without, if uses_since() is enough: this is the
 *		one callback that every hit has to pay for
 *
 *	void CACHEBPF_OP(@ID@_removed, struct cachebpf_policy *policy,
 *			 struct cachebpf_folio *folio, __u32 why)
 *		it left the cache; why: CACHEBPF_REMOVED_*
 *
 *	void CACHEBPF_SLEEPABLE_OP(@ID@_exit, struct cachebpf_policy *policy)
 *		the policy was detached
 */

/* Its name, one line about it, where the idea comes from, and the callbacks. */
CACHEBPF_POLICY(@ID@, "FIFO with second chances", "your own policy",
		.policy_init	= (void *)@ID@_init,
		.evict_folios	= (void *)@ID@_evict);
