// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the folio table, and the use counts of its blocks; looking things
 * up is in table.h.
 */
#include <linux/kmemleak.h>
#include <linux/memblock.h>
#include <linux/slab.h>

#include "internal.h"

struct cachebpf_section __rcu **cachebpf_sections __ro_after_init;
unsigned long cachebpf_nr_sections __ro_after_init;
struct cachebpf_section cachebpf_no_section;
static struct kmem_cache *block_cache __ro_after_init;

/* At boot: what the table costs without a policy, 64 KiB for a TiB of memory. */
int __init cachebpf_table_init(void)
{
	unsigned long i, nr;

	block_cache = KMEM_CACHE(cachebpf_block, SLAB_ACCOUNT);
	if (!block_cache)
		return -ENOMEM;

	/* links between entries are 32 bits wide: folios beyond 16 TiB stay unmanaged */
	nr = (min_t(u64, max_possible_pfn, U32_MAX) >> CACHEBPF_SECTION_SHIFT) + 1;
	cachebpf_sections = kvcalloc(nr, sizeof(*cachebpf_sections), GFP_KERNEL);
	if (!cachebpf_sections)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		RCU_INIT_POINTER(cachebpf_sections[i], &cachebpf_no_section);
	cachebpf_nr_sections = nr;
	return 0;
}

static void free_section(struct cachebpf_section *section)
{
	u32 pfn = section->base;
	int i;

	for (i = 0; i < CACHEBPF_SECTION_BLOCKS; i++, pfn += CACHEBPF_BLOCK_ENTRIES) {
		struct cachebpf_folio *entries =
			rcu_dereference_protected(section->entries[i], true);
		struct cachebpf_block *block;

		if (!entries)
			continue;
		block = cachebpf_block(entries + pfn, pfn);
		WARN_ON_ONCE(atomic_read(&block->used));
		kmem_cache_free(block_cache, block);
	}
	kfree(section);
}

/* After the last policy is gone: give all memory back. */
void cachebpf_table_empty(void)
{
	struct cachebpf_section *section, *unused = NULL;
	unsigned long nr;

	for (nr = 0; nr < cachebpf_nr_sections; nr++) {
		section = unrcu_pointer(xchg(&cachebpf_sections[nr],
					     RCU_INITIALIZER(&cachebpf_no_section)));
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

/* Another use of the block of @pfn, perhaps the first one again: NULL if it is gone. */
struct cachebpf_folio *cachebpf_table_get_slow(unsigned long pfn)
{
	struct cachebpf_section *section = cachebpf_section(pfn);
	struct cachebpf_folio *entries, *f = NULL;
	unsigned long flags;

	spin_lock_irqsave(&section->lock, flags);
	entries = rcu_dereference_protected(*cachebpf_slot(section, pfn),
					    lockdep_is_held(&section->lock));
	if (entries) {
		f = entries + pfn;
		atomic_inc(&cachebpf_block(f, pfn)->used);
	}
	spin_unlock_irqrestore(&section->lock, flags);
	return f;
}

/* The end of a use of @block, perhaps the last one. */
void cachebpf_table_put_slow(struct cachebpf_block *block)
{
	struct cachebpf_section *section = cachebpf_section(block->base);
	unsigned long flags;

	spin_lock_irqsave(&section->lock, flags);
	if (atomic_dec_and_test(&block->used)) {
		RCU_INIT_POINTER(*cachebpf_slot(section, block->base), NULL);
		kfree_rcu(block, rcu);
	}
	spin_unlock_irqrestore(&section->lock, flags);
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
	}
	return found;
}

static struct cachebpf_section *section_populate(unsigned long pfn, gfp_t gfp)
{
	unsigned long nr = pfn >> CACHEBPF_SECTION_SHIFT;
	struct cachebpf_section *section, *old;

	/* 16 KiB for 128 MiB of memory, whoever uses it: no cgroup's expense */
	section = kzalloc(sizeof(*section), gfp & ~__GFP_ACCOUNT);
	if (!section)
		return NULL;
	section->base = ALIGN_DOWN(pfn, 1UL << CACHEBPF_SECTION_SHIFT);
	spin_lock_init(&section->lock);
	old = unrcu_pointer(cmpxchg(&cachebpf_sections[nr], RCU_INITIALIZER(&cachebpf_no_section),
				    RCU_INITIALIZER(section)));
	if (old == &cachebpf_no_section)
		return section;
	kfree(section);
	return old;
}

/**
 * cachebpf_table_populate - make sure that @pfn has an entry
 * @pfn: page frame number of a folio that is about to be managed
 * @gfp: how memory may be found; it is charged to the active memcg
 *
 * The caller holds a reference to a policy, or is in an RCU read side and @gfp
 * does not sleep.  Until the entry is used it can still disappear.
 */
bool cachebpf_table_populate(unsigned long pfn, gfp_t gfp)
{
	struct cachebpf_section *section;
	struct cachebpf_block *block;
	unsigned long flags;
	int i;

	if (pfn >> CACHEBPF_SECTION_SHIFT >= cachebpf_nr_sections)
		return false;

	section = rcu_access_pointer(cachebpf_sections[pfn >> CACHEBPF_SECTION_SHIFT]);
	if (section == &cachebpf_no_section) {
		section = section_populate(pfn, gfp);
		if (!section)
			return false;
	}
	if (rcu_access_pointer(*cachebpf_slot(section, pfn)))
		return true;

	block = kmem_cache_zalloc(block_cache, gfp);
	if (!block)
		return false;
	block->base = ALIGN_DOWN(pfn, CACHEBPF_BLOCK_ENTRIES);
	for (i = 0; i < CACHEBPF_BLOCK_ENTRIES; i++)
		block->entries[i].slot = i;

	spin_lock_irqsave(&section->lock, flags);
	if (!rcu_access_pointer(*cachebpf_slot(section, pfn))) {
		/* no pointer to it remains that kmemleak would recognize */
		kmemleak_not_leak(block);
		rcu_assign_pointer(*cachebpf_slot(section, pfn), block->entries - block->base);
		block = NULL;
	}
	spin_unlock_irqrestore(&section->lock, flags);

	if (block)
		kmem_cache_free(block_cache, block);
	return true;
}
