/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The folio table: one struct cachebpf_folio per page cache folio in the reach
 * of a policy, found by PFN without a lock and without hashing.
 *
 * Two levels below a static array: a section covers 32 MiB of physical memory
 * and points to blocks of 4 entries, which exist only where a policy manages
 * a folio, or did so a moment ago.  Four is what costs least in the end: fewer
 * spread the head of a block over too little, more leave too much unused where
 * a cgroup's folios lie here and there.  Readers are in RCU read sides; a block
 * is freed a grace period after nobody can find it any more, so a pointer to an
 * entry stays good, if perhaps out of date, until its holder leaves its read
 * side.
 */
#ifndef _MM_CACHEBPF_TABLE_H
#define _MM_CACHEBPF_TABLE_H

#include <linux/atomic.h>
#include <linux/cachebpf.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#define CACHEBPF_BLOCK_SHIFT	2
#define CACHEBPF_BLOCK_ENTRIES	BIT(CACHEBPF_BLOCK_SHIFT)
#define CACHEBPF_SECTION_SHIFT	13
#define CACHEBPF_SECTION_BLOCKS	(1 << (CACHEBPF_SECTION_SHIFT - CACHEBPF_BLOCK_SHIFT))

/* Blocks without an entry in use that a cgroup may keep. */
#define CACHEBPF_KEPT_BLOCKS	64

/*
 * The blocks that a cgroup pays for, be they full or with a single entry in
 * use.  Blocks can outlive the policy for which they were made: all of these
 * hold a reference.
 */
struct cachebpf_account {
	struct rcu_head		rcu;
	/* blocks, and one more for each policy that has it */
	atomic_long_t		nr;
	/* no policy has it any more */
	bool			ended;
	/*
	 * Those that became empty last, by their first PFN plus 1: mostly their
	 * frames are used for the same cache again at once.
	 */
	atomic_t		nr_emptied;
	u32			emptied[CACHEBPF_KEPT_BLOCKS];
};

struct cachebpf_block {
	/* of the cgroup for which it was made, and which pays */
	struct cachebpf_account	*account;
	u32			base;
	/* entries in use; negative: on its way out, and found by nobody who comes now */
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
	/* of the appearance and disappearance of blocks */
	spinlock_t		lock;
	/* on its way out */
	struct cachebpf_section	*next;
};

extern struct cachebpf_section __rcu **cachebpf_sections;
extern unsigned long cachebpf_nr_sections;
/* stands for every section that does not exist; has no block ever */
extern struct cachebpf_section cachebpf_no_section;

/* Can the frame @pfn have an entry?  See cachebpf_table_init(); and a link of 0 is none. */
static inline bool cachebpf_table_reaches(unsigned long pfn)
{
	return pfn && pfn >> CACHEBPF_SECTION_SHIFT < cachebpf_nr_sections;
}

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

void cachebpf_block_emptied(struct cachebpf_block *block);

/* One more entry of @block is in use; false if it is on its way out. */
static inline bool cachebpf_block_get(struct cachebpf_block *block)
{
	int used = atomic_read(&block->used);

	do {
		if (unlikely(used < 0))
			return false;
	} while (unlikely(!atomic_try_cmpxchg(&block->used, &used, used + 1)));
	return true;
}

/* Like lookup, and the entry stays until cachebpf_table_put(). */
static inline struct cachebpf_folio *cachebpf_table_get(unsigned long pfn)
{
	struct cachebpf_folio *f = cachebpf_table_lookup(pfn);

	return f && likely(cachebpf_block_get(cachebpf_block(f, pfn))) ? f : NULL;
}

/* End the use of @f, the entry of @pfn. */
static inline void cachebpf_table_put(struct cachebpf_folio *f, unsigned long pfn)
{
	struct cachebpf_block *block = cachebpf_block(f, pfn);

	if (unlikely(atomic_dec_and_test(&block->used)))
		cachebpf_block_emptied(block);
}

static inline struct cachebpf_account *cachebpf_account_get(struct cachebpf_account *account)
{
	atomic_long_inc(&account->nr);
	return account;
}

/* What blocks cost that a policy with @account has, or those before it had. */
static inline unsigned long cachebpf_account_bytes(struct cachebpf_account *account)
{
	/* less its own reference */
	return (atomic_long_read(&account->nr) - 1) * sizeof(struct cachebpf_block);
}

struct cachebpf_account *cachebpf_account_new(void);
void cachebpf_account_put(struct cachebpf_account *account);
void cachebpf_account_trim(struct cachebpf_account *account);

bool cachebpf_table_next(unsigned long *pfn);
struct cachebpf_block *cachebpf_block_new(unsigned long pfn, struct cachebpf_account *account,
					  gfp_t gfp);
void cachebpf_block_free(struct cachebpf_block *block);
struct cachebpf_section *cachebpf_section_new(unsigned long pfn, gfp_t gfp);
struct cachebpf_folio *cachebpf_table_insert(unsigned long pfn, struct cachebpf_block *block,
					     struct cachebpf_section *section);
int cachebpf_table_init(void);
void cachebpf_table_empty(void);

#endif /* _MM_CACHEBPF_TABLE_H */
