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
#include <linux/slab.h>

#include "../internal.h"
#include "delay.h"
#include "internal.h"
#include "list.h"

DEFINE_STATIC_KEY_FALSE(cachebpf_key);

/* A reference to the folio that begins with @page; NULL if none does, or it is being freed. */
struct folio *cachebpf_get_folio(struct page *page)
{
	struct folio *folio = page_folio(page);

	if (PageTail(page) || !folio_try_get(folio))
		return NULL;
	if (page_folio(page) == folio && folio_page(folio, 0) == page)
		return folio;
	folio_put(folio);
	return NULL;
}

/*
 * Give up @f, the entry of @folio: off its list, out of use.  Returns false if
 * it is not @policy's any more: detach hands over or back at any moment, and
 * the node's lock decides.
 */
static __always_inline bool disown_entry(struct cachebpf_policy *policy, struct cachebpf_folio *f,
					 struct folio *folio)
{
	struct cachebpf_node *node = policy->nodes[folio_nid(folio)];
	unsigned long pfn = folio_pfn(folio);
	unsigned long flags;
	bool owned;

	cachebpf_delay(CACHEBPF_AT_DISOWN);
	spin_lock_irqsave(&node->lock, flags);
	owned = f->owner == policy->id;
	if (likely(owned)) {
		if (likely(f->list != CACHEBPF_NO_LIST))
			cachebpf_unlink(node, f, pfn);
		WRITE_ONCE(f->owner, 0);
	}
	spin_unlock_irqrestore(&node->lock, flags);
	if (likely(owned))
		cachebpf_table_put(f, pfn);
	return owned;
}

/*
 * Put @f, the entry of @folio, on @list, unless it is on one already or @policy
 * does not own it any more.
 */
static __always_inline void enlist_entry(struct cachebpf_policy *policy, struct cachebpf_folio *f,
					 struct folio *folio, u16 list, bool tail)
{
	struct cachebpf_node *node = policy->nodes[folio_nid(folio)];
	unsigned long flags;

	spin_lock_irqsave(&node->lock, flags);
	if (likely(f->owner == policy->id && f->list == CACHEBPF_NO_LIST))
		cachebpf_link_new(policy, node, f, folio_pfn(folio), list, tail);
	spin_unlock_irqrestore(&node->lock, flags);
}

/*
 * Tell the policy of @f, which it owns already and finds on its list for new
 * folios, if it has one.  A policy without one chooses a list itself; if it
 * does not, the folio joins the unlisted ones.
 */
static noinline void tell_added(struct cachebpf_policy *policy, struct cachebpf_folio *f,
				struct folio *folio, u32 why)
{
	struct cachebpf_ops *ops = rcu_dereference(policy->ops);

	if (ops)
		ops->folio_added(policy, cachebpf_held(f), why);
	if (READ_ONCE(f->list) == CACHEBPF_NO_LIST)
		enlist_entry(policy, f, folio, CACHEBPF_UNLISTED, true);
}

/* Put @f, which @policy owns already, where new folios go and tell the policy. */
static __always_inline void introduce(struct cachebpf_policy *policy, struct cachebpf_folio *f,
				      struct folio *folio, u32 why)
{
	/* a policy that is told puts it on a list itself, or wants to find it there */
	if (!policy->hears_added || policy->new_list != CACHEBPF_UNLISTED)
		enlist_entry(policy, f, folio, policy->new_list, policy->new_at_tail);
	if (policy->hears_added)
		tell_added(policy, f, folio, why);
}

/* introduce() for others; rarely */
void cachebpf_introduce(struct cachebpf_policy *policy, struct cachebpf_folio *f,
			struct folio *folio, u32 why)
{
	introduce(policy, f, folio, why);
}

static noinline void tell_removed(struct cachebpf_policy *policy, struct cachebpf_folio *f,
				  enum cachebpf_removed why)
{
	struct cachebpf_ops *ops = rcu_dereference(policy->ops);

	if (ops)
		ops->folio_removed(policy, cachebpf_held(f), why);
}

/*
 * @f, the entry of @folio, leaves its policy for the reason @why; the policy is
 * told, unless it had rejected it.  If it was just handed over, the successor
 * has it to let go as well, unless that is @heir.
 */
static __always_inline void unmanage(struct cachebpf_folio *f, struct folio *folio,
				     enum cachebpf_removed why, struct cachebpf_policy *heir)
{
	struct cachebpf_policy *policy;
	unsigned long nr;

	do {
		policy = cachebpf_owner_of(f);
		if (!policy || policy == heir)
			return;
		if (unlikely(policy->hears_removed) && !cachebpf_is_rejected(f))
			tell_removed(policy, f, why);
	} while (unlikely(!disown_entry(policy, f, folio)));
	/* nobody claims the entry yet: the folio is locked */
	nr = folio_nr_pages(folio);
	if (unlikely(f->sampled) &&
	    (why == CACHEBPF_REMOVED_TRUNCATE || why == CACHEBPF_REMOVED_INVALIDATE))
		cachebpf_tell_gone(policy, f, 0, nr);
	if (unlikely(f->unread))
		cachebpf_unread_gone(policy, folio, why);
	cachebpf_count(policy, CACHEBPF_STAT_REMOVED + why, nr);
	if (why == CACHEBPF_REMOVED_RECLAIM)
		cachebpf_reclaimed(policy, nr);
}

/* unmanage() for those who do it rarely */
static noinline void unmanage_slow(struct cachebpf_folio *f, struct folio *folio,
				   enum cachebpf_removed why, struct cachebpf_policy *heir)
{
	unmanage(f, folio, why, heir);
}

/* There is no memory for an entry of @folio: until there is, stock reclaim has to find it. */
static void has_no_entry(struct cachebpf_policy *policy, struct folio *folio)
{
	cachebpf_count(policy, CACHEBPF_STAT_UNMANAGED, folio_nr_pages(folio));
	cachebpf_lacks_entry(policy, folio);
}

/* Memory for an entry of @folio, charged to its cgroup; NULL without. */
static struct cachebpf_block *new_block(struct folio *folio, struct cachebpf_account *account,
					gfp_t gfp)
{
	struct mem_cgroup *old = set_active_memcg(folio_memcg(folio));
	struct cachebpf_block *block;

	block = cachebpf_block_new(folio_pfn(folio), account, gfp | __GFP_NOWARN | __GFP_ACCOUNT);
	set_active_memcg(old);
	return block;
}

/* An entry for @folio, where there seems to be none, without waiting for memory. */
static struct cachebpf_folio *populate(struct cachebpf_policy *policy, struct folio *folio,
				       gfp_t gfp)
{
	unsigned long pfn = folio_pfn(folio);

	return cachebpf_table_insert(pfn, new_block(folio, policy->account, gfp),
				     cachebpf_section_new(pfn, gfp));
}

/*
 * An entry for @folio of *@policy, for which memory may be waited for: leaves
 * the RCU read side in between, after which *@policy may be another one, or none.
 */
static noinline struct cachebpf_folio *get_entry(struct cachebpf_policy **policy,
						 struct folio *folio, gfp_t gfp)
{
	struct cachebpf_account *account = cachebpf_account_get((*policy)->account);
	unsigned long pfn = folio_pfn(folio);
	struct cachebpf_section *section;
	struct cachebpf_block *block;

	/*
	 * The policy is not kept: the cgroup may have us wait for long, at
	 * memory.high or by cpu.max, and whoever replaces it would wait for us.
	 */
	rcu_read_unlock();
	/* an entry is not worth that anybody is killed for it, nor to wait for ever */
	gfp &= GFP_RECLAIM_MASK & ~(__GFP_NOFAIL | __GFP_RETRY_MAYFAIL);
	gfp |= __GFP_NORETRY;
	block = new_block(folio, account, gfp);
	section = cachebpf_section_new(pfn, gfp);
	rcu_read_lock();
	cachebpf_account_put(account);

	*policy = cachebpf_policy_of(folio);
	if (!*policy) {
		cachebpf_block_free(block);
		kfree(section);
		return NULL;
	}
	/* here is where all growth comes along, and nothing else */
	cachebpf_check_buckets(*policy);
	return cachebpf_table_insert(pfn, block, section);
}

/*
 * Begin to use @f, with the reference that was taken to it, for @folio; it is locked.
 * @fresh: see is_fresh()
 * @unread: CACHEBPF_UNREAD_*, or 0
 */
static __always_inline void claim_entry(struct cachebpf_policy *policy, struct cachebpf_folio *f,
					struct folio *folio, u8 fresh, u8 unread)
{
	bool sampled;

	/* in use for another policy: that of the cgroup which the folio came from */
	if (unlikely(READ_ONCE(f->owner)))
		unmanage_slow(f, folio, CACHEBPF_REMOVED_HANDOVER, NULL);

	f->list = CACHEBPF_NO_LIST;
	f->order = folio_order(folio);
	f->accesses = 0;
	sampled = cachebpf_to_sample(policy, f);
	f->fresh = fresh;
	f->sampled = sampled;
	f->unread = unread;
	memset(f->data, 0, sizeof(f->data));
	cachebpf_delay(CACHEBPF_AT_PUBLISH);
	/* whoever finds an owner finds the rest of the entry valid; see cachebpf_owner_of() */
	smp_store_release(&f->owner, policy->id);
	cachebpf_delay(CACHEBPF_AT_INTRODUCE);
}

/*
 * Begin to manage @folio, locked and cached for long, for an attached @policy.
 * @again: it is not the first attempt, and is not worth to wait for memory.
 */
void cachebpf_manage_cached(struct cachebpf_policy *policy, struct folio *folio, bool again)
{
	struct cachebpf_policy *now;
	struct cachebpf_folio *f;

	rcu_read_lock();
	now = cachebpf_policy_of(folio);
	/* anon folios are on the LRU of files after MADV_FREE */
	if (!folio->mapping || folio_test_anon(folio) || now != policy)
		goto out;
	f = cachebpf_table_get(folio_pfn(folio));
	if (f) {
		cachebpf_delay(CACHEBPF_AT_ADOPT);
		unmanage_slow(f, folio, CACHEBPF_REMOVED_HANDOVER, policy);
		/* or who hands it over to @policy at this moment tells it, and nobody else */
		if (READ_ONCE(f->owner)) {
			cachebpf_table_put(f, folio_pfn(folio));
			goto out;
		}
	}
	/* of many folios one after the other, mostly there is memory without waiting */
	if (!f)
		f = populate(policy, folio, again ? GFP_ATOMIC | __GFP_NOMEMALLOC : GFP_NOWAIT);
	if (!f && again) {
		cachebpf_lacks_entry(policy, folio);
		goto out;
	}
	if (!f)
		f = get_entry(&now, folio, GFP_NOFS);
	if (!f) {
		has_no_entry(policy, folio);
		goto out;
	}
	if (now != policy) {
		cachebpf_table_put(f, folio_pfn(folio));
		goto out;
	}
	claim_entry(policy, f, folio, 0, 0);
	f->accesses = 1 + folio_test_referenced(folio) + folio_test_active(folio);
	cachebpf_count(policy, CACHEBPF_STAT_ADOPTED, folio_nr_pages(folio));
	cachebpf_introduce(policy, f, folio, CACHEBPF_ADDED_ADOPTED);
out:
	rcu_read_unlock();
}

/* Begin to manage @folio, locked and just cached, with its entry @f. */
static __always_inline void manage_new(struct cachebpf_policy *policy, struct cachebpf_folio *f,
				       struct folio *folio, gfp_t gfp, bool refault)
{
	u32 why = gfp & __GFP_WRITE ? CACHEBPF_ADDED_WRITTEN : 0;
	/* one of that size has its content from others, which khugepaged has put together */
	bool unread = policy->plans && !why && !folio_test_pmd_mappable(folio);
	unsigned long nr;

	/* see __cachebpf_folios_kept() */
	claim_entry(policy, f, folio, lru_gen_in_fault() ? 2 : 0,
		    unread ? CACHEBPF_UNREAD_NEW : 0);
	nr = 1UL << f->order;
	cachebpf_count(policy, CACHEBPF_STAT_ADDED, nr);
	if (refault) {
		cachebpf_count(policy, CACHEBPF_STAT_REFAULTS, nr);
		why |= CACHEBPF_ADDED_REFAULT;
		if (folio_test_active(folio) || folio_test_workingset(folio))
			why |= CACHEBPF_ADDED_WORKINGSET;
		if (unlikely(policy->plans))
			cachebpf_unread_again(policy, folio);
	}
	if (!cachebpf_admission_enabled() || cachebpf_admit(policy, folio, f, gfp))
		introduce(policy, f, folio, why);
}

/* The same where there is no memory for an entry yet. */
static noinline void manage_new_slow(struct cachebpf_policy *policy, struct folio *folio,
				     gfp_t gfp, bool refault)
{
	struct cachebpf_folio *f = get_entry(&policy, folio, gfp);

	if (f)
		manage_new(policy, f, folio, gfp, refault);
	else if (policy)
		has_no_entry(policy, folio);
}

void __cachebpf_folio_added(struct folio *folio, gfp_t gfp, bool refault)
{
	struct cachebpf_policy *policy;
	struct cachebpf_folio *f;

	rcu_read_lock();
	policy = cachebpf_policy_of(folio);
	if (!policy)
		goto out;
	f = cachebpf_table_get(folio_pfn(folio));
	if (likely(f))
		manage_new(policy, f, folio, gfp, refault);
	else
		manage_new_slow(policy, folio, gfp, refault);
out:
	rcu_read_unlock();
}

void __cachebpf_folio_removed(struct folio *folio, enum cachebpf_removed why)
{
	struct cachebpf_folio *f;

	rcu_read_lock();
	f = cachebpf_table_lookup(folio_pfn(folio));
	if (f)
		unmanage(f, folio, why, NULL);
	rcu_read_unlock();
}

/*
 * Give @folio an entry of @policy that says the same as @from; it is on no list
 * yet.  Returns NULL if there is no memory for it.
 */
static struct cachebpf_folio *own_like(struct cachebpf_policy *policy, struct folio *folio,
				       const struct cachebpf_folio *from, u8 unread)
{
	struct cachebpf_folio *f = cachebpf_table_get(folio_pfn(folio));

	/* at the cgroup's limit, too: it would lose an entry without having grown */
	if (!f)
		f = populate(policy, folio, GFP_ATOMIC);
	if (!f) {
		has_no_entry(policy, folio);
		return NULL;
	}
	claim_entry(policy, f, folio, from ? from->fresh : 0, unread);
	if (from) {
		f->accesses = from->accesses;
		f->data[0] = from->data[0];
		f->data[1] = from->data[1];
	}
	return f;
}

/*
 * Tell @policy of @folio, which takes over from one that @policy did not know.
 * Returns false if there is no memory for that.
 */
static bool introduce_like(struct cachebpf_policy *policy, struct folio *folio,
			   const struct cachebpf_folio *from)
{
	struct cachebpf_folio *f = own_like(policy, folio, from, 0);

	if (!f)
		return false;
	memset(f->data, 0, sizeof(f->data));
	cachebpf_introduce(policy, f, folio, CACHEBPF_ADDED_ADOPTED);
	return true;
}

/*
 * @folio takes over from one whose policy is just being detached or replaced,
 * or has nothing to do with it: the policy of @folio adopts it.
 */
static void adopt_successor(struct folio *folio, const struct cachebpf_folio *from)
{
	struct cachebpf_policy *policy = cachebpf_policy_of(folio);

	if (policy && introduce_like(policy, folio, from))
		cachebpf_count(policy, CACHEBPF_STAT_ADOPTED, folio_nr_pages(folio));
}

/*
 * May @f have been passed to @policy by pass_first() without that it knows of it
 * yet?  Then it is to be told of who takes over.
 */
static bool is_passed_on(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	return policy->hears_added && READ_ONCE(f->list) == CACHEBPF_UNLISTED;
}

/*
 * Migration, or a file system that replaces a folio: @new inherits everything
 * @old had, its place in the list too unless it lies on another node.
 */
void __cachebpf_folio_replaced(struct folio *old, struct folio *new)
{
	struct cachebpf_folio *from, *to = NULL;
	struct cachebpf_policy *policy;
	struct cachebpf_node *node;
	unsigned long flags;

	/*
	 * Of these there are no entries: what was truncated while it was isolated,
	 * and anon folios, which are on the LRU of files after MADV_FREE.
	 */
	if (!new->mapping || folio_test_anon(new) || folio_test_hugetlb(new))
		return;

	rcu_read_lock();
	cachebpf_delay(CACHEBPF_AT_REPLACE);
	from = cachebpf_table_lookup(folio_pfn(old));
	policy = from ? cachebpf_owner_of(from) : NULL;
	/*
	 * FUSE, for one, may bring in a folio of another cgroup.  A migrated one has
	 * lost its own by now, and so its policy if that is just being replaced.
	 */
	if (!policy) {
		if (folio_memcg(old) != folio_memcg(new))
			adopt_successor(new, NULL);
		goto out;
	}
	if (cachebpf_policy_of(new) != policy || is_passed_on(policy, from)) {
		adopt_successor(new, from);
		unmanage_slow(from, old, CACHEBPF_REMOVED_MIGRATE, NULL);
		goto out;
	}

	/* from here on, until the end of the RCU read side, it keeps its folios */
	if (folio_order(old) == folio_order(new))
		to = own_like(policy, new, from, from->unread);
	cachebpf_delay(CACHEBPF_AT_REPLACE);
	if (!to) {
		unmanage_slow(from, old, CACHEBPF_REMOVED_MIGRATE, NULL);
		goto out;
	}
	if (folio_nid(old) == folio_nid(new)) {
		node = policy->nodes[folio_nid(old)];
		spin_lock_irqsave(&node->lock, flags);
		cachebpf_list_replace(node, from, to);
		spin_unlock_irqrestore(&node->lock, flags);
	} else {
		node = policy->nodes[folio_nid(old)];
		cachebpf_enlist_heir(policy, to, cachebpf_settled_list(node, from));
	}
	disown_entry(policy, from, old);
out:
	rcu_read_unlock();
}

/*
 * @f, the entry of @head that has shrunk, gets its new size.  Returns the list
 * it is on, and its policy in @policy; detach may be handing it over.
 */
static u16 shrink_entry(struct cachebpf_folio *f, struct folio *head,
			struct cachebpf_policy **policy)
{
	struct cachebpf_node *node;
	unsigned long flags;
	unsigned long nr_gone;
	bool owned;
	u16 list;

	do {
		*policy = cachebpf_owner_of(f);
		if (!*policy)
			return CACHEBPF_NO_LIST;

		node = (*policy)->nodes[folio_nid(head)];
		spin_lock_irqsave(&node->lock, flags);
		owned = f->owner == (*policy)->id;
		list = f->list;
		if (owned) {
			nr_gone = (1UL << f->order) - folio_nr_pages(head);
			cachebpf_list_of(node, list)->nr_pages -= nr_gone;
			node->nr_pages -= nr_gone;
			f->order = folio_order(head);
		}
		spin_unlock_irqrestore(&node->lock, flags);
	} while (!owned);
	return list;
}

/* @tail is a new folio of its own; @head has shrunk. */
void __cachebpf_folio_split(struct folio *head, struct folio *tail)
{
	struct cachebpf_policy *policy;
	struct cachebpf_folio *f, *new;
	u16 list;

	rcu_read_lock();
	cachebpf_delay(CACHEBPF_AT_SPLIT);
	f = cachebpf_table_lookup(folio_pfn(head));
	list = f ? shrink_entry(f, head, &policy) : CACHEBPF_NO_LIST;
	if (list == CACHEBPF_NO_LIST)
		goto out;
	cachebpf_delay(CACHEBPF_AT_SPLIT);
	/* beyond the end of the file: the folio has become smaller, and that is all */
	if (!tail->mapping) {
		cachebpf_count(policy, CACHEBPF_STAT_REMOVED + CACHEBPF_REMOVED_TRUNCATE,
			       folio_nr_pages(tail));
		if (unlikely(f->unread))
			cachebpf_unread_gone(policy, tail, CACHEBPF_REMOVED_TRUNCATE);
		if (unlikely(f->sampled))
			cachebpf_tell_gone(policy, f, tail->index - head->index,
					   folio_nr_pages(tail));
		goto out;
	}

	if (cachebpf_policy_of(tail) != policy) {
		cachebpf_count(policy, CACHEBPF_STAT_REMOVED + CACHEBPF_REMOVED_HANDOVER,
			       folio_nr_pages(tail));
		adopt_successor(tail, f);
	} else if (is_passed_on(policy, f)) {
		/* it was counted as a part of the whole */
		introduce_like(policy, tail, f);
	} else {
		new = own_like(policy, tail, f, f->unread);
		if (new)
			cachebpf_enlist_heir(policy, new, list);
	}
out:
	rcu_read_unlock();
}
