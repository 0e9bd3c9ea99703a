// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a managed folio: what the page cache does to folios, and what
 * the folio table and the policy are told.
 *
 * The folio lock, held by whoever inserts, removes, replaces or splits a
 * folio, serializes ownership of its entry; the only other party is detach,
 * which hands entries back under the node's lock.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/sched/mm.h>

#include "../internal.h"
#include "internal.h"

DEFINE_STATIC_KEY_FALSE(cachebpf_key);

/* The policy that should manage @folio; in an RCU read side. */
static struct cachebpf_policy *policy_of(struct folio *folio)
{
	struct mem_cgroup *memcg;

	if (unlikely(!folio_is_file_lru(folio)))
		return NULL;
	memcg = folio_memcg(folio);
	return memcg ? rcu_dereference(memcg->cachebpf) : NULL;
}

/* The policy that does manage @f, which may be gone as soon as this returns. */
static struct cachebpf_policy *owner_of(struct cachebpf_folio *f)
{
	u16 owner = f ? smp_load_acquire(&f->owner) : 0;

	return owner ? cachebpf_policy_by_id(owner) : NULL;
}

static void unmanage(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	lockdep_assert_held(&policy->nodes[cachebpf_folio_nid(f)]->lock);

	if (f->list != CACHEBPF_NO_LIST)
		cachebpf_unlink(policy, f);
	WRITE_ONCE(f->owner, 0);
}

/* Give up @f if it still is @policy's. */
void cachebpf_disown(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	struct cachebpf_node *node = policy->nodes[cachebpf_folio_nid(f)];
	unsigned long flags;
	bool owned;

	spin_lock_irqsave(&node->lock, flags);
	owned = f->owner == policy->id;
	if (owned)
		unmanage(policy, f);
	spin_unlock_irqrestore(&node->lock, flags);
	if (owned)
		cachebpf_table_put(f);
}

/*
 * Tell the policy about @f, which it already owns, and see that it ends up on
 * a list: the policy's choice, or the unlisted ones.
 */
void cachebpf_introduce(struct cachebpf_policy *policy, struct cachebpf_folio *f, u32 why)
{
	struct cachebpf_node *node = policy->nodes[cachebpf_folio_nid(f)];
	struct cachebpf_ops *ops = rcu_dereference(policy->ops);
	unsigned long flags;

	if (ops && ops->folio_added)
		ops->folio_added(policy, f, why);

	if (READ_ONCE(f->list) != CACHEBPF_NO_LIST)
		return;
	spin_lock_irqsave(&node->lock, flags);
	if (f->owner == policy->id && f->list == CACHEBPF_NO_LIST)
		cachebpf_link(policy, f, CACHEBPF_UNLISTED, true);
	spin_unlock_irqrestore(&node->lock, flags);
}

/* @f, of a folio that was cached before, has become @policy's and is on no list yet. */
void cachebpf_adopt(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	cachebpf_count(policy, CACHEBPF_STAT_ADOPTED, 1UL << f->order);
	cachebpf_introduce(policy, f, CACHEBPF_ADDED_ADOPTED);
}

/* @f leaves @policy for the reason @why; the policy is told, unless it had rejected it. */
static void remove(struct cachebpf_policy *policy, struct cachebpf_folio *f,
		   enum cachebpf_removed why)
{
	struct cachebpf_ops *ops = rcu_dereference(policy->ops);

	cachebpf_count(policy, CACHEBPF_STAT_REMOVED + why, 1UL << f->order);
	if (ops && ops->folio_removed && !cachebpf_is_rejected(f))
		ops->folio_removed(policy, f, why);
	cachebpf_disown(policy, f);
}

/* Begin to manage @folio; it is locked. */
static struct cachebpf_folio *manage(struct cachebpf_policy *policy, struct folio *folio)
{
	struct cachebpf_folio *f = cachebpf_table_get(folio_pfn(folio));
	struct cachebpf_policy *previous;
	struct mem_cgroup *memcg;

	if (unlikely(!f)) {
		/* the block that was prepared may have gone with the last of its folios */
		memcg = set_active_memcg(folio_memcg(folio));
		if (cachebpf_table_populate(folio_pfn(folio),
					    GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT))
			f = cachebpf_table_get(folio_pfn(folio));
		set_active_memcg(memcg);
	}
	if (!f) {
		cachebpf_count(policy, CACHEBPF_STAT_UNMANAGED, folio_nr_pages(folio));
		return NULL;
	}

	previous = owner_of(f);
	if (previous)
		remove(previous, f, CACHEBPF_REMOVED_HANDOVER);

	f->list = CACHEBPF_NO_LIST;
	f->order = folio_order(folio);
	f->accesses = 0;
	f->data[0] = f->data[1] = 0;
	smp_store_release(&f->owner, policy->id);
	return f;
}

/* Begin to manage @folio, locked and cached for long, for an attached @policy. */
void cachebpf_manage_cached(struct cachebpf_policy *policy, struct folio *folio)
{
	struct cachebpf_folio *f;

	rcu_read_lock();
	if (!folio->mapping || policy_of(folio) != policy || READ_ONCE(policy->dead))
		goto out;
	f = cachebpf_table_lookup(folio_pfn(folio));
	if (f && owner_of(f) == policy)
		goto out;
	f = manage(policy, folio);
	if (!f)
		goto out;
	f->accesses = 1 + folio_test_referenced(folio) + folio_test_active(folio);
	cachebpf_adopt(policy, f);
out:
	rcu_read_unlock();
}

void __cachebpf_folio_prepare(struct folio *folio, gfp_t gfp)
{
	struct cachebpf_policy *policy;
	struct mem_cgroup *old;

	rcu_read_lock();
	policy = policy_of(folio);
	if (!policy || cachebpf_table_lookup(folio_pfn(folio)) ||
	    !refcount_inc_not_zero(&policy->ref)) {
		rcu_read_unlock();
		return;
	}
	rcu_read_unlock();

	gfp = (gfp & GFP_RECLAIM_MASK) | __GFP_NOWARN | __GFP_ACCOUNT;
	old = set_active_memcg(folio_memcg(folio));
	cachebpf_table_populate(folio_pfn(folio), gfp);
	set_active_memcg(old);
	cachebpf_policy_put(policy);
}

void __cachebpf_folio_added(struct folio *folio, gfp_t gfp, bool refault)
{
	struct cachebpf_policy *policy;
	struct cachebpf_folio *f;

	rcu_read_lock();
	policy = policy_of(folio);
	if (!policy || READ_ONCE(policy->dead))
		goto out;
	f = manage(policy, folio);
	if (!f)
		goto out;

	cachebpf_count(policy, CACHEBPF_STAT_ADDED, 1UL << f->order);
	if (refault)
		cachebpf_count(policy, CACHEBPF_STAT_REFAULTS, 1UL << f->order);
	if (!cachebpf_admission_enabled() || cachebpf_admit(policy, folio, f, gfp))
		cachebpf_introduce(policy, f, refault ? CACHEBPF_ADDED_REFAULT : 0);
out:
	rcu_read_unlock();
}

void __cachebpf_folio_accessed(struct folio *folio)
{
	struct cachebpf_policy *policy;
	struct cachebpf_folio *f;
	struct cachebpf_ops *ops;
	u16 accesses;

	rcu_read_lock();
	policy = policy_of(folio);
	if (!policy)
		goto out;
	f = cachebpf_table_lookup(folio_pfn(folio));
	if (!f || READ_ONCE(f->owner) != policy->id)
		goto out;
	if (cachebpf_is_rejected(f)) {
		cachebpf_rejected_used(policy, folio, f);
		goto out;
	}

	/* racing increments may be lost: it is a statistic, not a reference */
	accesses = READ_ONCE(f->accesses);
	if (likely(accesses != U16_MAX))
		WRITE_ONCE(f->accesses, accesses + 1);
	if (!accesses) {
		cachebpf_count(policy, CACHEBPF_STAT_MISSES, 1);
		goto out;
	}

	cachebpf_count(policy, CACHEBPF_STAT_HITS, 1);
	ops = rcu_dereference(policy->ops);
	if (ops && ops->folio_accessed)
		ops->folio_accessed(policy, f);
out:
	rcu_read_unlock();
}

void __cachebpf_folio_removed(struct folio *folio, enum cachebpf_removed why)
{
	struct cachebpf_policy *policy;
	struct cachebpf_folio *f;

	rcu_read_lock();
	f = cachebpf_table_lookup(folio_pfn(folio));
	policy = owner_of(f);
	if (policy)
		remove(policy, f, why);
	rcu_read_unlock();
}

/*
 * Migration, or a file system that replaces a folio: @new inherits everything
 * @old had, its place in the list too unless it lies on another node.
 */
void __cachebpf_folio_replaced(struct folio *old, struct folio *new)
{
	struct cachebpf_folio *from, *to;
	struct cachebpf_policy *policy;
	struct cachebpf_node *node;
	struct mem_cgroup *memcg;
	unsigned long flags;
	u8 list;

	memcg = set_active_memcg(folio_memcg(new));
	rcu_read_lock();
	from = cachebpf_table_lookup(folio_pfn(old));
	policy = owner_of(from);
	if (!policy)
		goto out;

	cachebpf_table_populate(folio_pfn(new), GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	to = folio_order(old) == folio_order(new) ? manage(policy, new) : NULL;
	if (!to) {
		__cachebpf_folio_removed(old, CACHEBPF_REMOVED_MIGRATE);
		goto out;
	}

	node = policy->nodes[cachebpf_folio_nid(from)];
	spin_lock_irqsave(&node->lock, flags);
	to->accesses = from->accesses;
	to->data[0] = from->data[0];
	to->data[1] = from->data[1];
	list = from->list;
	if (from->owner != policy->id || list == CACHEBPF_NO_LIST) {
		/* handed back in the meantime; so shall @to be, below */
		list = CACHEBPF_NO_LIST;
	} else if (folio_nid(old) == folio_nid(new)) {
		cachebpf_list_replace(policy, from, to);
	}
	spin_unlock_irqrestore(&node->lock, flags);

	if (list == CACHEBPF_NO_LIST) {
		cachebpf_disown(policy, to);
	} else if (to->list == CACHEBPF_NO_LIST) {
		node = policy->nodes[cachebpf_folio_nid(to)];
		spin_lock_irqsave(&node->lock, flags);
		cachebpf_link(policy, to, list, true);
		spin_unlock_irqrestore(&node->lock, flags);
	}
	cachebpf_disown(policy, from);
out:
	rcu_read_unlock();
	set_active_memcg(memcg);
}

/* @tail is a new folio of its own; @head has shrunk. */
void __cachebpf_folio_split(struct folio *head, struct folio *tail)
{
	struct cachebpf_folio *f, *new;
	struct cachebpf_policy *policy;
	struct cachebpf_node *node;
	struct mem_cgroup *memcg;
	unsigned long flags;
	u8 list;

	memcg = set_active_memcg(folio_memcg(head));
	rcu_read_lock();
	f = cachebpf_table_lookup(folio_pfn(head));
	policy = owner_of(f);
	if (!policy)
		goto out;

	node = policy->nodes[cachebpf_folio_nid(f)];
	spin_lock_irqsave(&node->lock, flags);
	list = f->owner == policy->id ? f->list : CACHEBPF_NO_LIST;
	if (list != CACHEBPF_NO_LIST && f->order != folio_order(head)) {
		policy->nodes[cachebpf_folio_nid(f)]->lists[list]->nr_pages -=
			(1UL << f->order) - folio_nr_pages(head);
		f->order = folio_order(head);
	}
	spin_unlock_irqrestore(&node->lock, flags);
	if (list == CACHEBPF_NO_LIST || !tail->mapping)
		goto out;

	cachebpf_table_populate(folio_pfn(tail), GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	new = manage(policy, tail);
	if (!new)
		goto out;
	new->accesses = f->accesses;
	new->data[0] = f->data[0];
	new->data[1] = f->data[1];
	spin_lock_irqsave(&node->lock, flags);
	cachebpf_link(policy, new, list, true);
	spin_unlock_irqrestore(&node->lock, flags);
out:
	rcu_read_unlock();
	set_active_memcg(memcg);
}
