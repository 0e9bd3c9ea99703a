// SPDX-License-Identifier: GPL-2.0-only
/*
 * Admission: folios that the policy does not want in the cache.
 *
 * There are no private pages.  A rejected folio is read, written, mapped and
 * shared through the page cache like any other; it only does not stay: it is
 * dropped behind the reader, or the pipe, that used it to its end.  What was
 * not, such as folios that were written or mapped, reclaim takes before
 * anything else.  Being on the list of rejected folios is all that tells it
 * apart, so that this follows it when it is migrated or split.
 *
 * A written folio is not dropped at the end of its writeback: that is an
 * interrupt in the case of most file systems, where nothing can be taken out
 * of the cache, and its memory is needed by nobody until somebody reclaims.
 */
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>

#include "../internal.h"
#include "delay.h"
#include "internal.h"
#include "list.h"

/* Rejected folios that reclaim looks at in vain before it goes on with the others. */
#define MAX_VAIN	1024

DEFINE_STATIC_KEY_FALSE(cachebpf_admission_key);

/* @policy, not yet published, has admit_folio(). */
void cachebpf_admission_start(struct cachebpf_policy *policy)
{
	policy->admits = true;
	static_branch_inc(&cachebpf_admission_key);
}

/* @policy has no folios any more. */
void cachebpf_admission_stop(struct cachebpf_policy *policy)
{
	if (policy->admits)
		static_branch_dec(&cachebpf_admission_key);
}

/*
 * Is this a page fault?  The first bit is for faults in user mode, if the
 * kernel has it; the other is for all but those in mappings that were declared
 * to be used at random or only once.
 */
bool cachebpf_in_fault(void)
{
#ifdef CONFIG_MEMCG_V1
	if (current->in_user_fault)
		return true;
#endif
	return lru_gen_in_fault();
}

/* Whoever inserts a folio tells by @gfp what for. */
static u32 insertion_flags(gfp_t gfp)
{
	const gfp_t readahead = __GFP_NORETRY | __GFP_NOWARN;

	if (gfp & __GFP_WRITE)
		return CACHEBPF_ADMISSION_WRITE;
	/* readahead_gfp_mask() */
	if ((gfp & readahead) == readahead)
		return CACHEBPF_ADMISSION_READ | CACHEBPF_ADMISSION_READAHEAD;
	return CACHEBPF_ADMISSION_READ;
}

/* Does the policy want @folio, which is locked, in the cache? */
static bool ask_admission(struct cachebpf_policy *policy, struct folio *folio, u32 flags)
{
	struct cachebpf_ops *ops = rcu_dereference(policy->ops);
	struct inode *inode = folio->mapping->host;
	struct cachebpf_admission admission = {
		.ino = inode->i_ino,
		.pos = folio_pos(folio),
		.dev = new_encode_dev(inode->i_sb->s_dev),
		.nr_pages = folio_nr_pages(folio),
		.flags = flags | (cachebpf_in_fault() ? CACHEBPF_ADMISSION_FAULT : 0),
	};

	return !ops || !ops->admit_folio || ops->admit_folio(policy, &admission);
}

/*
 * Remember for whom @f was rejected, in the bytes that the policy has no use
 * for yet.  A number, as a BPF program may come to see it.
 */
static void remember_task(struct cachebpf_folio *f)
{
	WRITE_ONCE(f->data[0], current->pid);
}

static bool was_asked(struct cachebpf_folio *f)
{
	return READ_ONCE(f->data[0]) == current->pid;
}

/* Take @f off the list of rejected ones if it is there, with the node locked. */
static bool take_rejected(struct cachebpf_policy *policy, struct cachebpf_node *node,
			  struct cachebpf_folio *f, struct folio *folio)
{
	if (f->owner != policy->id || f->list != CACHEBPF_REJECTED)
		return false;
	cachebpf_unlink(node, f, folio_pfn(folio));
	return true;
}

/**
 * cachebpf_admit - ask the policy about a folio that was just inserted
 * @policy: a policy
 * @folio: the folio, locked
 * @f: its entry, the policy's and on no list
 * @gfp: what it was inserted with
 *
 * File system metadata, which the cache of the block device holds, is never
 * asked for: it serves everybody.
 *
 * Return: false if it was rejected, and is on the list of those that were.
 */
bool cachebpf_admit(struct cachebpf_policy *policy, struct folio *folio,
		    struct cachebpf_folio *f, gfp_t gfp)
{
	struct cachebpf_node *node;
	unsigned long flags;

	if (!policy->admits || !S_ISREG(folio->mapping->host->i_mode))
		return true;
	cachebpf_count(policy, CACHEBPF_STAT_ADMIT_ASKED, 1UL << f->order);
	if (ask_admission(policy, folio, insertion_flags(gfp)))
		return true;

	cachebpf_count(policy, CACHEBPF_STAT_ADMIT_REJECTED, 1UL << f->order);
	remember_task(f);
	cachebpf_delay(CACHEBPF_AT_REJECT);
	node = policy->nodes[folio_nid(folio)];
	spin_lock_irqsave(&node->lock, flags);
	if (f->owner == policy->id) {
		/* a call about the folio that was here before may have put it on a list */
		if (f->list != CACHEBPF_NO_LIST)
			cachebpf_unlink(node, f, folio_pfn(folio));
		cachebpf_link(node, f, folio_pfn(folio), CACHEBPF_REJECTED, true);
	}
	spin_unlock_irqrestore(&node->lock, flags);
	return false;
}

/* Ask about @folio, rejected and locked, which is used again. */
static void reconsider_rejected(struct cachebpf_policy *policy, struct folio *folio,
				struct cachebpf_folio *f)
{
	struct cachebpf_node *node;
	unsigned long flags;
	bool taken;

	/*
	 * A policy that is going is not asked, and gets nothing: retire_policy()
	 * empties its lists as soon as those are gone who still saw its callbacks.
	 */
	if (!rcu_access_pointer(policy->ops))
		return;
	cachebpf_count(policy, CACHEBPF_STAT_ADMIT_ASKED_AGAIN, 1UL << f->order);
	if (!ask_admission(policy, folio, CACHEBPF_ADMISSION_REUSE)) {
		remember_task(f);
		return;
	}

	cachebpf_delay(CACHEBPF_AT_RECONSIDER);
	node = policy->nodes[folio_nid(folio)];
	spin_lock_irqsave(&node->lock, flags);
	taken = take_rejected(policy, node, f, folio);
	if (taken)
		memset(f->data, 0, sizeof(f->data));
	spin_unlock_irqrestore(&node->lock, flags);
	if (!taken)
		return;
	cachebpf_delay(CACHEBPF_AT_INTRODUCE);
	cachebpf_count(policy, CACHEBPF_STAT_ADMIT_REVERSED, 1UL << f->order);
	cachebpf_introduce(policy, f, folio, CACHEBPF_ADDED_ADMITTED);
}

/**
 * cachebpf_rejected_used - a rejected folio is used; any context
 * @policy: its policy
 * @folio: the folio, of which the caller has a reference
 * @f: its entry
 *
 * The first use by the task that brought it in is what it was rejected for.
 * Any other one may change the policy's mind.
 */
void cachebpf_rejected_used(struct cachebpf_policy *policy, struct folio *folio,
			    struct cachebpf_folio *f)
{
	u16 accesses = READ_ONCE(f->accesses);

	if ((s16)accesses >= 0)
		WRITE_ONCE(f->accesses, accesses + 1);
	cachebpf_count(policy, accesses ? CACHEBPF_STAT_HITS : CACHEBPF_STAT_MISSES, 1);
	if (unlikely(f->unread))
		cachebpf_unread_used(policy, f);
	if (unlikely(f->sampled))
		cachebpf_tell_used(policy, f);
	if (!accesses && was_asked(f))
		return;
	/* reclaim, which found that a mapping is in use: it cannot tell whose */
	if (current->flags & PF_MEMALLOC)
		return;

	/* keeps it from being removed before the policy has been told that it is there */
	if (!folio_trylock(folio))
		return;
	if (folio->mapping && READ_ONCE(f->owner) == policy->id && cachebpf_is_rejected(f))
		reconsider_rejected(policy, folio, f);
	folio_unlock(folio);
}

/* Is @folio, of which the caller has a reference, rejected, and needed by nobody else? */
static bool may_drop(struct folio *folio)
{
	struct cachebpf_folio *f;
	long nr_expected;
	bool rejected;

	rcu_read_lock();
	f = cachebpf_table_lookup(folio_pfn(folio));
	rejected = f && cachebpf_is_rejected(f);
	rcu_read_unlock();

	if (!rejected || folio_test_dirty(folio) || folio_test_writeback(folio) ||
	    folio_mapped(folio))
		return false;
	/*
	 * The cache's references and the caller's, and that of a batch on its
	 * way to the LRU.  With more it can be somebody who is going to write
	 * to it, such as a device: what is written must find its way to the
	 * file, and out of the cache it would not.
	 */
	nr_expected = folio_nr_pages(folio) + folio_has_private(folio) + 1 +
		      !folio_test_lru(folio);
	return folio_ref_count(folio) <= nr_expected;
}

/* End the management of @folio, about to be dropped; false if it is not rejected any more. */
static bool give_up_entry(struct folio *folio)
{
	struct cachebpf_policy *policy;
	struct cachebpf_folio *f;
	struct cachebpf_node *node;
	unsigned long flags;
	bool taken = false;

	rcu_read_lock();
	f = cachebpf_table_lookup(folio_pfn(folio));
	policy = f ? cachebpf_owner_of(f) : NULL;
	if (policy) {
		node = policy->nodes[folio_nid(folio)];
		spin_lock_irqsave(&node->lock, flags);
		taken = take_rejected(policy, node, f, folio);
		if (taken)
			WRITE_ONCE(f->owner, 0);
		spin_unlock_irqrestore(&node->lock, flags);
	}
	if (taken) {
		cachebpf_count(policy, CACHEBPF_STAT_REMOVED + CACHEBPF_REMOVED_DROPPED,
			       1UL << f->order);
		cachebpf_table_put(f, folio_pfn(folio));
	}
	rcu_read_unlock();
	return taken;
}

/*
 * Take @folio, locked and without private data, out of the cache, as
 * invalidation does it: references do not matter.
 */
static void drop_folio(struct folio *folio)
{
	struct address_space *mapping = folio->mapping;
	void (*free_folio)(struct folio *folio) = mapping->a_ops->free_folio;
	bool dropped;

	spin_lock(&mapping->host->i_lock);
	xa_lock_irq(&mapping->i_pages);
	dropped = !folio_test_dirty(folio) && give_up_entry(folio);
	if (dropped)
		__filemap_remove_folio(folio, NULL);
	xa_unlock_irq(&mapping->i_pages);
	if (dropped && mapping_shrinkable(mapping))
		inode_add_lru(mapping->host);
	/* with this the inode may go, if it is only the page that somebody has left */
	spin_unlock(&mapping->host->i_lock);

	if (dropped) {
		if (free_folio)
			free_folio(folio);
		folio_put_refs(folio, folio_nr_pages(folio));
	}
}

/* Does a read of a file of @size bytes that has come to @pos need no more of @folio? */
static bool read_to_end(struct folio *folio, loff_t pos, loff_t size)
{
	return pos >= min_t(loff_t, folio_pos(folio) + folio_size(folio), size);
}

/* Drop @folio, read up to @pos, if there is nothing to be said against it. */
static void drop_behind(struct folio *folio, loff_t pos)
{
	struct address_space *mapping;

	if (!may_drop(folio) || !folio_trylock(folio))
		return;
	cachebpf_delay(CACHEBPF_AT_DROP);
	/* while it is locked nobody takes it out, or begins to map it */
	mapping = folio->mapping;
	if (mapping && read_to_end(folio, pos, i_size_read(mapping->host)) && may_drop(folio) &&
	    filemap_release_folio(folio, 0))
		drop_folio(folio);
	folio_unlock(folio);
}

/**
 * __cachebpf_drop_behind - drop rejected folios that were read to their end
 * @fbatch: folios that a read has used, with references
 * @pos: where it has arrived
 * @size: size of the file
 *
 * What is read in small pieces stays until the last of them.  Whatever stands
 * in the way of dropping a folio now leaves it to reclaim.
 */
void __cachebpf_drop_behind(struct folio_batch *fbatch, loff_t pos, loff_t size)
{
	int i;

	for (i = 0; i < folio_batch_count(fbatch); i++) {
		if (!read_to_end(fbatch->folios[i], pos, size))
			break;
		drop_behind(fbatch->folios[i], pos);
	}
}

/**
 * __cachebpf_drop_spliced - drop a rejected folio that has left a pipe
 * @page: a page of it, with a reference
 * @end: up to where in the page the pipe had it
 */
void __cachebpf_drop_spliced(struct page *page, unsigned int end)
{
	struct folio *folio = page_folio(page);

	drop_behind(folio, folio_pos(folio) + folio_page_idx(folio, page) * PAGE_SIZE + end);
}

/**
 * cachebpf_some_rejected_used - may there be rejected folios that are not spared?
 * @policy: a policy that has rejected folios
 * @nid: the node
 *
 * Without the lock, and so no more than a guess.  In an RCU read side, which
 * keeps the entry.
 */
bool cachebpf_some_rejected_used(struct cachebpf_policy *policy, int nid)
{
	struct cachebpf_list *list = &policy->nodes[nid]->rejected;
	struct cachebpf_folio *f = READ_ONCE(list->head.f);

	return f && READ_ONCE(f->accesses);
}

/*
 * Was the first folio of @list used, and the one that came after it as well?
 * Then its reader has gone on, if not from its end: what is padded at the end
 * of each page is not read there.
 */
static bool left_behind(struct cachebpf_list *list)
{
	struct cachebpf_folio *f = list->head.f;

	return READ_ONCE(f->accesses) && f->next &&
	       READ_ONCE(cachebpf_table_entry(f->next)->accesses) &&
	       !folio_mapped(pfn_folio(list->head.pfn));
}

/**
 * cachebpf_offer_rejected - propose rejected folios for eviction
 * @evict: the request, empty
 * @nr_left: how many of them may still be looked at; counted down
 * @nr_spared: how many of these only if they were left behind by their readers
 *
 * Those that were looked at go to the end: what cannot be evicted now, or is
 * not of the cgroup that is being reclaimed, is not in the way of the others.
 * In an RCU read side.
 */
void cachebpf_offer_rejected(struct cachebpf_evict *evict, unsigned long *nr_left,
			     unsigned long nr_spared)
{
	struct cachebpf_policy *policy = evict->policy;
	struct cachebpf_node *node = policy->nodes[evict->nid];
	struct cachebpf_list *list = &node->rejected;
	int nr_vain = 0;

	spin_lock_irq(&node->lock);
	while (evict->nr_proposed < evict->nr_wanted && *nr_left && list->head.f &&
	       (*nr_left > nr_spared || left_behind(list))) {
		struct cachebpf_folio *f = list->head.f;
		u32 pfn = list->head.pfn;

		cachebpf_move_to_end(list, f, pfn, true);
		if (cachebpf_worth_offering(evict, pfn_folio(pfn))) {
			cachebpf_call(evict)->candidates[evict->nr_folios++].folio = f;
			evict->nr_proposed += 1U << f->order;
		} else if (++nr_vain == MAX_VAIN) {
			*nr_left = 0;
			break;
		}
		if (--*nr_left % CACHEBPF_LOCK_BATCH == 0) {
			spin_unlock_irq(&node->lock);
			spin_lock_irq(&node->lock);
		}
	}
	if (!list->head.f)
		*nr_left = 0;
	spin_unlock_irq(&node->lock);
}
