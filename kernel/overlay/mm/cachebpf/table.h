/* SPDX-License-Identifier: GPL-2.0-only */
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
#ifndef _MM_CACHEBPF_TABLE_H
#define _MM_CACHEBPF_TABLE_H

#include <linux/atomic.h>
#include <linux/cachebpf.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#define CACHEBPF_BLOCK_SHIFT	4
#define CACHEBPF_BLOCK_ENTRIES	BIT(CACHEBPF_BLOCK_SHIFT)
#define CACHEBPF_SECTION_SHIFT	15
#define CACHEBPF_SECTION_BLOCKS	(1 << (CACHEBPF_SECTION_SHIFT - CACHEBPF_BLOCK_SHIFT))

struct cachebpf_block {
	struct rcu_head		rcu;
	u32			base;
	/* entries in use; what takes it from 0 or to 0 holds the section lock */
	atomic_t		used;
	struct cachebpf_folio	entries[CACHEBPF_BLOCK_ENTRIES];
};

struct cachebpf_section {
	/*
	 * Each is the entries of a block, less its first PFN: an entry is found
	 * by adding the whole PFN, as sparsemem finds the struct page
	 */
	struct cachebpf_folio __rcu *entries[CACHEBPF_SECTION_BLOCKS];
	/* its first PFN */
	u32			base;
	/* of the appearance of blocks, and of their first and last use */
	spinlock_t		lock;
	/* on its way out */
	struct cachebpf_section	*next;
};

extern struct cachebpf_section __rcu **cachebpf_sections;
extern unsigned long cachebpf_nr_sections;
/* stands for every section that does not exist; has no block ever */
extern struct cachebpf_section cachebpf_no_section;

static inline struct cachebpf_section *cachebpf_section(unsigned long pfn)
{
	unsigned long nr = pfn >> CACHEBPF_SECTION_SHIFT;

	return likely(nr < cachebpf_nr_sections) ? rcu_dereference(cachebpf_sections[nr]) :
						   &cachebpf_no_section;
}

static inline struct cachebpf_folio __rcu **cachebpf_slot(struct cachebpf_section *section,
							  unsigned long pfn)
{
	return &section->entries[(pfn >> CACHEBPF_BLOCK_SHIFT) & (CACHEBPF_SECTION_BLOCKS - 1)];
}

/*
 * The block with the entry of @pfn, which had one once, as it is in its
 * section: add @pfn.  NULL if it is gone.
 */
static __always_inline struct cachebpf_folio *cachebpf_table_known(unsigned long pfn)
{
	struct cachebpf_section *section =
		rcu_dereference(cachebpf_sections[pfn >> CACHEBPF_SECTION_SHIFT]);

	return rcu_dereference(*cachebpf_slot(section, pfn));
}

/* The same for any @pfn, which need never have had an entry. */
static __always_inline struct cachebpf_folio *cachebpf_table_entries(unsigned long pfn)
{
	if (unlikely(pfn >> CACHEBPF_SECTION_SHIFT >= cachebpf_nr_sections))
		return NULL;
	return cachebpf_table_known(pfn);
}

/* The entry of @pfn, in use or not; NULL if there is no memory for it. */
static inline struct cachebpf_folio *cachebpf_table_lookup(unsigned long pfn)
{
	struct cachebpf_folio *entries = cachebpf_table_entries(pfn);

	return entries ? entries + pfn : NULL;
}

/* The entry of @pfn, which is in use and stays so: a neighbour on a locked list. */
static inline struct cachebpf_folio *cachebpf_table_entry(u32 pfn)
{
	struct cachebpf_section *section =
		rcu_dereference_protected(cachebpf_sections[pfn >> CACHEBPF_SECTION_SHIFT], true);

	return rcu_dereference_protected(*cachebpf_slot(section, pfn), true) + pfn;
}

/* The block of @f, the entry of @pfn. */
static inline struct cachebpf_block *cachebpf_block(const struct cachebpf_folio *f,
						    unsigned long pfn)
{
	return container_of(f - pfn % CACHEBPF_BLOCK_ENTRIES, struct cachebpf_block, entries[0]);
}

static inline u32 cachebpf_folio_pfn(const struct cachebpf_folio *f)
{
	return cachebpf_block(f, f->slot)->base + f->slot;
}

struct cachebpf_folio *cachebpf_table_get_slow(unsigned long pfn);
void cachebpf_table_put_slow(struct cachebpf_block *block);

/* Like lookup, and the entry stays until cachebpf_table_put(). */
static inline struct cachebpf_folio *cachebpf_table_get(unsigned long pfn)
{
	struct cachebpf_folio *f = cachebpf_table_lookup(pfn);

	if (f && unlikely(!atomic_inc_not_zero(&cachebpf_block(f, pfn)->used)))
		f = cachebpf_table_get_slow(pfn);
	return f;
}

/* End the use of @f, the entry of @pfn. */
static inline void cachebpf_table_put(struct cachebpf_folio *f, unsigned long pfn)
{
	struct cachebpf_block *block = cachebpf_block(f, pfn);

	if (unlikely(!atomic_add_unless(&block->used, -1, 1)))
		cachebpf_table_put_slow(block);
}

bool cachebpf_table_next(unsigned long *pfn);
bool cachebpf_table_populate(unsigned long pfn, gfp_t gfp);
int cachebpf_table_init(void);
void cachebpf_table_empty(void);

#endif /* _MM_CACHEBPF_TABLE_H */
