// SPDX-License-Identifier: GPL-2.0-only
/*
 * Folios that are read in for a policy with plan_readahead(), and that nobody
 * has used yet.
 *
 * A window of readahead comes in at once and is read page by page.  The newest
 * list of some policies is shorter than a window: what is read ahead would be
 * evicted before its reader comes to it.  So the walks of a few requests pass
 * over it, whatever the policy, and within a bound for each request.
 *
 * What goes without having been used was read for nothing, and if it is read
 * again soon after that it was right to read it, and went too early.  Both are
 * counted: whether readahead pays cannot be known otherwise.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "internal.h"

#define GONE_BITS	10

/* The last folios that went unused, by a part of their keys; 0: none. */
struct cachebpf_gone {
	u32	keys[1 << GONE_BITS];
};

/* Where the key of @folio is noted, and what in *@note. */
static u32 *place_of(struct cachebpf_gone *gone, struct folio *folio, u32 *note)
{
	u64 key = cachebpf_key_of(folio, 0);

	*note = (u32)key ?: 1;
	return gone->keys + hash_64(key, GONE_BITS);
}

/* For @policy, not yet published, which plans.  Without memory for that nothing is noted. */
void cachebpf_unread_start(struct cachebpf_policy *policy)
{
	struct mem_cgroup *old = set_active_memcg(policy->memcg);

	/* not worth an OOM kill */
	policy->gone = kzalloc(sizeof(*policy->gone),
			       GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
	set_active_memcg(old);
}

void cachebpf_unread_free(struct cachebpf_policy *policy)
{
	kfree(policy->gone);
}

/* @folio of @policy was not used, and leaves the cache for the reason @why. */
void cachebpf_unread_gone(struct cachebpf_policy *policy, struct folio *folio,
			  enum cachebpf_removed why)
{
	u32 *place, note;

	if (why == CACHEBPF_REMOVED_HANDOVER || why == CACHEBPF_REMOVED_MIGRATE)
		return;
	cachebpf_count(policy, CACHEBPF_STAT_READAHEAD_UNUSED, folio_nr_pages(folio));
	if (!policy->gone || why != CACHEBPF_REMOVED_RECLAIM)
		return;
	place = place_of(policy->gone, folio, &note);
	WRITE_ONCE(*place, note);
}

/* @folio comes into the cache of @policy again. */
void cachebpf_unread_again(struct cachebpf_policy *policy, struct folio *folio)
{
	u32 *place, note;

	if (!policy->gone)
		return;
	place = place_of(policy->gone, folio, &note);
	if (READ_ONCE(*place) != note)
		return;
	WRITE_ONCE(*place, 0);
	cachebpf_count(policy, CACHEBPF_STAT_READAHEAD_AGAIN, folio_nr_pages(folio));
}

/* @f of @policy, which is unread, is used; any context, in an RCU read side. */
void cachebpf_unread_used(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	struct cachebpf_node *node = cachebpf_node_of(policy, f);
	unsigned long flags;

	spin_lock_irqsave(&node->lock, flags);
	if (cachebpf_owns(policy, f))
		f->unread = 0;
	spin_unlock_irqrestore(&node->lock, flags);
}

/* Did a walk of this request pass over the folio @pfn? */
static bool is_spared(const struct cachebpf_evict_call *call, u32 pfn)
{
	u32 i;

	for (i = 0; i < call->nr_spared; i++)
		if (call->spared[i] == pfn)
			return true;
	return false;
}

/* Is a walk for @evict to pass over @f, which is unread?  Under the node's lock. */
bool __cachebpf_spare_unread(struct cachebpf_evict *evict, struct cachebpf_folio *f)
{
	struct cachebpf_evict_call *call = cachebpf_call(evict);
	u32 pfn = cachebpf_folio_pfn(f);

	/* one request may walk over the same folios several times */
	if (f->unread < CACHEBPF_UNREAD_NEW && is_spared(call, pfn))
		return true;
	if (f->unread == CACHEBPF_UNREAD_NO_MORE || !evict->unread_left)
		return false;
	evict->unread_left -= min(evict->unread_left, 1U << f->order);
	call->spared[call->nr_spared++] = pfn;
	f->unread--;
	return true;
}
