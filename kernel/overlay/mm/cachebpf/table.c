// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the folio table; looking things up is in table.h.
 */
#include <linux/kmemleak.h>
#include <linux/llist.h>
#include <linux/memblock.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internal.h"

struct cachebpf_section __rcu **cachebpf_sections __ro_after_init;
unsigned long cachebpf_nr_sections __ro_after_init;
struct cachebpf_section cachebpf_no_section = {
	.lock = __SPIN_LOCK_UNLOCKED(cachebpf_no_section.lock),
};

static struct kmem_cache *block_cache __ro_after_init;

/* At boot: what the table costs without a policy, 256 KiB for a TiB of memory. */
int __init cachebpf_table_init(void)
{
	unsigned long i, nr;

	block_cache = KMEM_CACHE(cachebpf_block, SLAB_ACCOUNT);
	if (!block_cache)
		return -ENOMEM;

	/*
	 * Links between entries are 32 bits wide: folios beyond 16 TiB stay
	 * unmanaged.  So do those of memory that is added beyond what was there at
	 * boot, where the firmware does not announce it (max_possible_pfn).
	 */
	nr = (min_t(u64, max_t(u64, max_possible_pfn, max_pfn), U32_MAX) >>
	      CACHEBPF_SECTION_SHIFT) + 1;
	cachebpf_sections = kvcalloc(nr, sizeof(*cachebpf_sections), GFP_KERNEL);
	if (!cachebpf_sections)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		RCU_INIT_POINTER(cachebpf_sections[i], &cachebpf_no_section);
	cachebpf_nr_sections = nr;
	return 0;
}

/* With the reference of a policy; NULL without memory. */
struct cachebpf_account *cachebpf_account_new(void)
{
	struct cachebpf_account *account = kzalloc(sizeof(*account), GFP_KERNEL);

	if (account)
		atomic_long_set(&account->nr, 1);
	return account;
}

void cachebpf_account_put(struct cachebpf_account *account)
{
	if (account && atomic_long_dec_and_test(&account->nr))
		kfree_rcu(account, rcu);
}

/* @block: never inserted, or found by nobody any more; or NULL */
void cachebpf_block_free(struct cachebpf_block *block)
{
	if (!block)
		return;
	cachebpf_account_put(block->account);
	kmem_cache_free(block_cache, block);
}

/* The block that @slot points to; NULL if there is none.  With the section locked. */
static struct cachebpf_block *block_at(struct cachebpf_folio __rcu **slot, u32 pfn)
{
	struct cachebpf_folio *entries = rcu_dereference_protected(*slot, true);

	return entries ? cachebpf_block(entries + pfn, pfn) : NULL;
}

static void free_section(struct cachebpf_section *section)
{
	u32 pfn = section->base;
	int i;

	for (i = 0; i < CACHEBPF_SECTION_BLOCKS; i++, pfn += CACHEBPF_BLOCK_ENTRIES) {
		struct cachebpf_block *block = block_at(&section->entries[i], pfn);

		if (!block)
			continue;
		WARN_ON_ONCE(atomic_read(&block->used));
		cachebpf_block_free(block);
		cond_resched();
	}
	kfree(section);
}

static void free_dead_blocks(struct work_struct *work);

static LLIST_HEAD(dead_blocks);

static DECLARE_WORK(dead_blocks_work, free_dead_blocks);

static void free_dead_blocks(struct work_struct *work)
{
	struct llist_node *node = llist_del_all(&dead_blocks), *next;

	/* those who are looking at them */
	synchronize_rcu();
	for (; node; node = next) {
		next = node->next;
		kmem_cache_free(block_cache, container_of((void *)node, struct cachebpf_block,
							  entries[0]));
		cond_resched();
	}
}

/* Free the block of @pfn if it has no entry in use; in an RCU read side. */
static void drop_block(u32 pfn)
{
	struct cachebpf_section *section = cachebpf_section(pfn);
	struct cachebpf_folio __rcu **slot = cachebpf_slot(section, pfn);
	struct cachebpf_block *block;
	unsigned long flags;

	spin_lock_irqsave(&section->lock, flags);
	block = block_at(slot, pfn);
	if (block && !atomic_cmpxchg(&block->used, 0, INT_MIN))
		RCU_INIT_POINTER(*slot, NULL);
	else
		block = NULL;
	spin_unlock_irqrestore(&section->lock, flags);
	if (!block)
		return;

	cachebpf_account_put(block->account);
	/* of an entry without an owner nobody looks at the links */
	if (llist_add((struct llist_node *)&block->entries[0], &dead_blocks))
		queue_work(system_unbound_wq, &dead_blocks_work);
}

/* @block is empty: keep it, and not one that was kept before; in an RCU read side. */
void cachebpf_block_emptied(struct cachebpf_block *block)
{
	struct cachebpf_account *account = block->account;
	u32 nr, old;

	/* the folios of a policy that was detached are with the one above */
	if (unlikely(READ_ONCE(account->ended))) {
		drop_block(block->base);
		return;
	}
	nr = atomic_inc_return(&account->nr_emptied);
	old = xchg(&account->emptied[nr % CACHEBPF_KEPT_BLOCKS], block->base + 1);
	if (old && old != block->base + 1)
		drop_block(old - 1);
	/* it ends at this moment, and may have been trimmed just before */
	if (unlikely(READ_ONCE(account->ended)))
		cachebpf_account_trim(account);
}

/* Do not keep what is empty of @account; in the end of a policy, or an RCU read side. */
void cachebpf_account_trim(struct cachebpf_account *account)
{
	u32 pfn;
	int i;

	rcu_read_lock();
	for (i = 0; i < CACHEBPF_KEPT_BLOCKS; i++) {
		pfn = xchg(&account->emptied[i], 0);
		if (pfn)
			drop_block(pfn - 1);
	}
	rcu_read_unlock();
}

/* After the last policy is gone: give all memory back. */
void cachebpf_table_empty(void)
{
	struct cachebpf_section *section, *unused = NULL;
	unsigned long nr;

	for (nr = 0; nr < cachebpf_nr_sections; nr++) {
		section = unrcu_pointer(xchg(&cachebpf_sections[nr],
					     RCU_INITIALIZER(&cachebpf_no_section)));
		cond_resched();
		if (section == &cachebpf_no_section)
			continue;
		section->next = unused;
		unused = section;
	}

	/* hooks on unmanaged folios may still be looking */
	synchronize_rcu_expedited();
	while ((section = unused)) {
		unused = section->next;
		free_section(section);
	}
}

/* Advance *@pfn to the next frame, from there on, that has an entry; false if there is none. */
bool cachebpf_table_next(unsigned long *pfn)
{
	bool found = false;

	while (!found && *pfn >> CACHEBPF_SECTION_SHIFT < cachebpf_nr_sections) {
		rcu_read_lock();
		if (cachebpf_table_lookup(*pfn))
			found = true;
		else if (cachebpf_section(*pfn) == &cachebpf_no_section)
			*pfn = ALIGN(*pfn + 1, 1UL << CACHEBPF_SECTION_SHIFT);
		else
			*pfn = ALIGN(*pfn + 1, CACHEBPF_BLOCK_ENTRIES);
		rcu_read_unlock();
		cond_resched();
	}
	return found;
}

/**
 * cachebpf_section_new - memory for a section, if that of a frame is missing
 * @pfn: page frame number
 * @gfp: how memory may be found
 *
 * 16 KiB for 32 MiB of memory, whoever uses it: no cgroup's expense.
 *
 * Return: a section for cachebpf_table_insert() or kfree(); NULL if there is one, or
 * no memory.
 */
struct cachebpf_section *cachebpf_section_new(unsigned long pfn, gfp_t gfp)
{
	unsigned long nr = pfn >> CACHEBPF_SECTION_SHIFT;
	struct cachebpf_section *section;

	if (nr >= cachebpf_nr_sections ||
	    rcu_access_pointer(cachebpf_sections[nr]) != &cachebpf_no_section)
		return NULL;
	section = kzalloc(sizeof(*section), (gfp & ~__GFP_ACCOUNT) | __GFP_NOWARN);
	if (!section)
		return NULL;
	section->base = ALIGN_DOWN(pfn, 1UL << CACHEBPF_SECTION_SHIFT);
	spin_lock_init(&section->lock);
	return section;
}

/* The section of @pfn, which becomes @new if it is missing; NULL if both are. */
static struct cachebpf_section *install_section(unsigned long pfn, struct cachebpf_section *new)
{
	struct cachebpf_section __rcu **slot = &cachebpf_sections[pfn >> CACHEBPF_SECTION_SHIFT];
	struct cachebpf_section *old = rcu_access_pointer(*slot);

	if (new && old == &cachebpf_no_section) {
		old = unrcu_pointer(cmpxchg(slot, RCU_INITIALIZER(&cachebpf_no_section),
					    RCU_INITIALIZER(new)));
		if (old == &cachebpf_no_section)
			return new;
	}
	kfree(new);
	return old == &cachebpf_no_section ? NULL : old;
}

/**
 * cachebpf_block_new - memory for the entry of a frame and those of its neighbours
 * @pfn: page frame number of a folio that is about to be managed
 * @account: of the policy that is about to manage it
 * @gfp: how memory may be found; it is charged to the active memcg
 *
 * Return: a block with the entry of @pfn in use, for cachebpf_table_insert() or
 * cachebpf_block_free(); NULL without memory.
 */
struct cachebpf_block *cachebpf_block_new(unsigned long pfn, struct cachebpf_account *account,
					  gfp_t gfp)
{
	struct cachebpf_block *block;
	int i;

	if (!cachebpf_table_reaches(pfn))
		return NULL;
	block = kmem_cache_zalloc(block_cache, gfp);
	if (!block)
		return NULL;
	block->account = cachebpf_account_get(account);
	block->base = ALIGN_DOWN(pfn, CACHEBPF_BLOCK_ENTRIES);
	atomic_set(&block->used, 1);
	for (i = 0; i < CACHEBPF_BLOCK_ENTRIES; i++)
		block->entries[i].slot = i;
	return block;
}

/**
 * cachebpf_table_insert - the entry of @pfn, where there seemed to be none
 * @pfn: page frame number
 * @block: new, for @pfn; or NULL, and then there will be no entry
 * @section: new, for @pfn; NULL if it seemed to be there
 *
 * The table owns both then.  In an RCU read side in which there is a policy.
 *
 * Return: the entry, in use as after cachebpf_table_get(); NULL without memory.
 */
struct cachebpf_folio *cachebpf_table_insert(unsigned long pfn, struct cachebpf_block *block,
					     struct cachebpf_section *section)
{
	struct cachebpf_folio __rcu **slot;
	struct cachebpf_block *old;
	unsigned long flags;

	if (!block) {
		kfree(section);
		return NULL;
	}
	section = install_section(pfn, section);
	if (!section) {
		cachebpf_block_free(block);
		return NULL;
	}

	slot = cachebpf_slot(section, pfn);
	spin_lock_irqsave(&section->lock, flags);
	old = block_at(slot, pfn);
	if (!old) {
		/* no pointer to it remains that kmemleak would recognize */
		kmemleak_not_leak(block);
		rcu_assign_pointer(*slot, block->entries - block->base);
	} else {
		/* somebody else was faster; what is found under the lock is not on its way out */
		atomic_inc(&old->used);
	}
	spin_unlock_irqrestore(&section->lock, flags);

	if (old) {
		cachebpf_block_free(block);
		block = old;
	}
	return &block->entries[pfn % CACHEBPF_BLOCK_ENTRIES];
}
