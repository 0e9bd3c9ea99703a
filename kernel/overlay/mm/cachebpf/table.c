// SPDX-License-Identifier: GPL-2.0-only
/*
 * The folio table: one struct cachebpf_folio per page cache folio in the reach
 * of a policy, found by PFN without a lock and without hashing.
 *
 * Two levels below a static array: a section covers 128 MiB of physical memory
 * and points to blocks of 16 entries, which exist only where a policy manages
 * a folio.  Readers are in RCU read sides; a block that lost its last entry is
 * freed after a grace period, so a pointer to an entry stays good, if perhaps
 * out of date, until its holder leaves its read side.
 */
#include <linux/memblock.h>
#include <linux/slab.h>

#include "internal.h"

#define BLOCK_SHIFT		4
#define BLOCK_ENTRIES		(1 << BLOCK_SHIFT)
#define SECTION_SHIFT		15
#define SECTION_BLOCKS		(1 << (SECTION_SHIFT - BLOCK_SHIFT))

struct cachebpf_block {
	struct rcu_head		rcu;
	u32			base;
	/* entries in use; what takes it from 0 or to 0 holds the section lock */
	atomic_t		used;
	struct cachebpf_folio	entries[BLOCK_ENTRIES];
};

struct cachebpf_section {
	spinlock_t		lock;
	struct cachebpf_block __rcu *blocks[SECTION_BLOCKS];
};

static struct cachebpf_section __rcu **sections;
static unsigned long nr_sections;
static struct kmem_cache *block_cache;

int cachebpf_table_init(void)
{
	unsigned long nr;

	if (!block_cache)
		block_cache = KMEM_CACHE(cachebpf_block, SLAB_ACCOUNT);
	if (!block_cache)
		return -ENOMEM;

	/* links between entries are 32 bits wide: folios beyond 16 TiB stay unmanaged */
	nr = (min_t(u64, max_possible_pfn, U32_MAX) >> SECTION_SHIFT) + 1;
	sections = kvcalloc(nr, sizeof(*sections), GFP_KERNEL);
	if (!sections)
		return -ENOMEM;
	smp_store_release(&nr_sections, nr);
	return 0;
}

/* After the last policy is gone. */
void cachebpf_table_destroy(void)
{
	unsigned long i, j, nr = nr_sections;

	/* hooks on unmanaged folios may still be looking */
	WRITE_ONCE(nr_sections, 0);
	synchronize_rcu();

	for (i = 0; i < nr; i++) {
		struct cachebpf_section *section = rcu_dereference_protected(sections[i], true);

		for (j = 0; section && j < SECTION_BLOCKS; j++) {
			struct cachebpf_block *block =
				rcu_dereference_protected(section->blocks[j], true);

			if (!block)
				continue;
			WARN_ON_ONCE(atomic_read(&block->used));
			kmem_cache_free(block_cache, block);
		}
		kfree(section);
	}
	kvfree(sections);
	sections = NULL;
}

static struct cachebpf_section *section_of(unsigned long pfn)
{
	unsigned long nr = pfn >> SECTION_SHIFT;

	return likely(nr < smp_load_acquire(&nr_sections)) ? rcu_dereference(sections[nr]) : NULL;
}

static struct cachebpf_block __rcu **block_slot(struct cachebpf_section *section,
						unsigned long pfn)
{
	return &section->blocks[(pfn >> BLOCK_SHIFT) & (SECTION_BLOCKS - 1)];
}

static struct cachebpf_block *block_of(const struct cachebpf_folio *f)
{
	return container_of(f - f->slot, struct cachebpf_block, entries[0]);
}

u32 cachebpf_folio_pfn(const struct cachebpf_folio *f)
{
	return block_of(f)->base + f->slot;
}

/* The entry of @pfn, in use or not; NULL if there is no memory for it. */
struct cachebpf_folio *cachebpf_table_lookup(unsigned long pfn)
{
	struct cachebpf_section *section = section_of(pfn);
	struct cachebpf_block *block;

	if (!section)
		return NULL;
	block = rcu_dereference(*block_slot(section, pfn));
	return block ? &block->entries[pfn & (BLOCK_ENTRIES - 1)] : NULL;
}

/* Like lookup, and the block stays until cachebpf_table_put(). */
struct cachebpf_folio *cachebpf_table_get(unsigned long pfn)
{
	struct cachebpf_section *section = section_of(pfn);
	struct cachebpf_block *block;
	unsigned long flags;

	if (!section)
		return NULL;
	block = rcu_dereference(*block_slot(section, pfn));
	if (!block)
		return NULL;
	if (!atomic_inc_not_zero(&block->used)) {
		spin_lock_irqsave(&section->lock, flags);
		block = rcu_dereference_protected(*block_slot(section, pfn),
						  lockdep_is_held(&section->lock));
		if (block)
			atomic_inc(&block->used);
		spin_unlock_irqrestore(&section->lock, flags);
	}
	return block ? &block->entries[pfn & (BLOCK_ENTRIES - 1)] : NULL;
}

void cachebpf_table_put(struct cachebpf_folio *f)
{
	struct cachebpf_block *block = block_of(f);
	struct cachebpf_section *section;
	unsigned long flags;

	if (atomic_add_unless(&block->used, -1, 1))
		return;

	section = section_of(block->base);
	spin_lock_irqsave(&section->lock, flags);
	if (atomic_dec_and_test(&block->used)) {
		RCU_INIT_POINTER(*block_slot(section, block->base), NULL);
		kfree_rcu(block, rcu);
	}
	spin_unlock_irqrestore(&section->lock, flags);
}

static struct cachebpf_section *section_populate(unsigned long pfn, gfp_t gfp)
{
	unsigned long nr = pfn >> SECTION_SHIFT;
	struct cachebpf_section *section, *old;

	/* 16 KiB for 128 MiB of memory, whoever uses it: no cgroup's expense */
	section = kzalloc(sizeof(*section), gfp & ~__GFP_ACCOUNT);
	if (!section)
		return NULL;
	spin_lock_init(&section->lock);
	old = unrcu_pointer(cmpxchg(&sections[nr], NULL, RCU_INITIALIZER(section)));
	if (!old)
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

	if (pfn >> SECTION_SHIFT >= nr_sections)
		return false;

	section = rcu_access_pointer(sections[pfn >> SECTION_SHIFT]);
	if (!section) {
		section = section_populate(pfn, gfp);
		if (!section)
			return false;
	}
	if (rcu_access_pointer(*block_slot(section, pfn)))
		return true;

	block = kmem_cache_zalloc(block_cache, gfp);
	if (!block)
		return false;
	block->base = ALIGN_DOWN(pfn, BLOCK_ENTRIES);
	for (i = 0; i < BLOCK_ENTRIES; i++)
		block->entries[i].slot = i;

	spin_lock_irqsave(&section->lock, flags);
	if (!rcu_access_pointer(*block_slot(section, pfn))) {
		rcu_assign_pointer(*block_slot(section, pfn), block);
		block = NULL;
	}
	spin_unlock_irqrestore(&section->lock, flags);

	if (block)
		kmem_cache_free(block_cache, block);
	return true;
}
