/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page cache eviction policies in BPF.
 *
 * What mm code calls, and the types that a policy sees.  With CONFIG_CACHEBPF=n
 * everything here is empty; with it on and no policy attached anywhere, every
 * hook is one static branch.
 */
#ifndef _LINUX_CACHEBPF_H
#define _LINUX_CACHEBPF_H

#include <linux/cachebpf_readahead.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
#include <linux/mm_types.h>

struct mem_cgroup;
struct lruvec;
struct bpf_link;
struct cachebpf_reclaim;
struct folio_batch;
struct vm_area_struct;

#define CACHEBPF_NAME_LEN	16
#define CACHEBPF_DATA_SIZE	16
/* folios proposed and isolated at a time: one SWAP_CLUSTER_MAX */
#define CACHEBPF_BATCH		32
/* protected or not: cgroups whose answer a request remembers */
#define CACHEBPF_VERDICTS	8
/* folios that the walks of one request may look at, all together */
#define CACHEBPF_MAX_VISITS	65536

/* cachebpf_ops.flags */
enum cachebpf_flags {
	/* never ask this policy for folios: reclaim stays the stock one */
	CACHEBPF_F_STOCK_RECLAIM	= 1 << 0,
};

/* why folio_added() is called */
enum cachebpf_added {
	/* the folio was evicted from this cache not long ago */
	CACHEBPF_ADDED_REFAULT		= 1 << 0,
	/* it was cached before the policy was responsible for it */
	CACHEBPF_ADDED_ADOPTED		= 1 << 1,
	/* admit_folio() had rejected it, and changed its mind when it was used again */
	CACHEBPF_ADDED_ADMITTED		= 1 << 2,
	/* so recently evicted that the stock LRU counts it to the workingset */
	CACHEBPF_ADDED_WORKINGSET	= 1 << 3,
	/* it is there to be written, which does not count as a use */
	CACHEBPF_ADDED_WRITTEN		= 1 << 4,
};

/* why folio_removed() is called */
enum cachebpf_removed {
	CACHEBPF_REMOVED_RECLAIM,
	CACHEBPF_REMOVED_TRUNCATE,
	CACHEBPF_REMOVED_INVALIDATE,
	/* it moved, and there was no memory for its new entry; or it became part of a huge one */
	CACHEBPF_REMOVED_MIGRATE,
	/* still cached, but another policy is responsible for it now */
	CACHEBPF_REMOVED_HANDOVER,
	/* dropped behind its reader; only counted, since only rejected folios are */
	CACHEBPF_REMOVED_DROPPED,
	CACHEBPF_NR_REMOVED,
};

/* what the kernel does with a list by itself; bpf_cachebpf_list_create() */
enum cachebpf_list_flags {
	/* a folio that is added goes to the head, or to the tail, of this list */
	CACHEBPF_LIST_NEW_HEAD		= 1 << 0,
	CACHEBPF_LIST_NEW_TAIL		= 1 << 1,
	/* a folio on it that is used again moves to its head, or to its tail */
	CACHEBPF_LIST_USED_HEAD		= 1 << 2,
	CACHEBPF_LIST_USED_TAIL		= 1 << 3,
	/* of its folios the last 8 bytes of the policy's data say when they were used last */
	CACHEBPF_LIST_STAMPED		= 1 << 4,
	/*
	 * With USED: to that of another list, whose number is in the upper half; it was
	 * created before, and is STAMPED or not as this one is
	 */
	CACHEBPF_LIST_USED_ELSEWHERE	= 1 << 5,
	CACHEBPF_LIST_ELSEWHERE_SHIFT	= 16,
};

/* what bpf_cachebpf_rank_list() takes for the score */
enum cachebpf_rank_key {
	/* cachebpf_folio.accesses, at least 1 */
	CACHEBPF_BY_ACCESSES,
	/* the first 8 of the policy's bytes, a signed number */
	CACHEBPF_BY_DATA,
};

/* bpf_iter_cachebpf_list_new() */
enum cachebpf_iter_flags {
	/* from the tail to the head */
	CACHEBPF_ITER_REVERSE		= 1 << 0,
	/* move what was visited to the end at which the walk would arrive last */
	CACHEBPF_ITER_ROTATE		= 1 << 1,
};

/**
 * struct cachebpf_folio - what is known about one managed page cache folio
 * @prev:	pfn of the neighbour towards the head of its list, 0 at the end
 * @next:	pfn of the neighbour towards the tail of its list, 0 at the end
 * @owner:	number of the policy that manages the folio, 0 for none
 * @list:	eviction list it is on, 0 if the policy did not put it on one, 65535
 *		if it is added just now; in folio_removed() it is still there
 * @order:	folio order
 * @accesses:	uses since it was added, the one that brought it in included;
 *		ends at 32768; kept by the kernel, a policy may overwrite it (ageing);
 *		1 to 3, by what the LRU knows, for a folio cached before the policy
 * @slot:	index inside its table block; never changes
 * @fresh:	looks of reclaim at its mappings that say no more than that a fault
 *		has brought it in; changes under the node's lock
 * @sampled:	uses of some of its pages are told at the tracepoint cachebpf_sample; as @fresh
 * @unread:	it was read in, not written, while its policy plans readahead, and was not used
 *		yet: how many requests pass over it, plus 1; else 0; as @fresh
 * @data:	belongs to the policy, zero when the folio is added
 */
struct cachebpf_folio {
	u32	prev;
	u32	next;
	u16	owner;
	u16	list;
	u16	accesses;
	u8	order;
	u8	slot:2;
	u8	fresh:2;
	u8	sampled:1;
	u8	unread:3;
	union {
		u64	data[CACHEBPF_DATA_SIZE / sizeof(u64)];
		/*
		 * private: Never used.  If there were nothing but numbers in
		 * here, the verifier would take any memory of a policy for an
		 * entry, where a function wants one.
		 */
		void	*not_plain_memory;
	};
};

/**
 * struct cachebpf_held_folio - one that is locked or referenced
 * @f:		the same
 *
 * Of it the file is known, too: bpf_cachebpf_key() and bpf_cachebpf_file() take
 * no other.  Where a policy may have any folio it may have this one.
 */
struct cachebpf_held_folio {
	struct cachebpf_folio	f;
};

struct cachebpf_policy;

/* cachebpf_admission.flags */
enum cachebpf_admission_flags {
	/* its content comes from the disk */
	CACHEBPF_ADMISSION_READ		= 1 << 0,
	/* its content comes from write(2) or alike */
	CACHEBPF_ADMISSION_WRITE	= 1 << 1,
	/*
	 * It is read ahead.  That may be the very folio somebody waits for:
	 * most reads and faults that miss go through readahead.
	 */
	CACHEBPF_ADMISSION_READAHEAD	= 1 << 2,
	/*
	 * A page fault needs it, or is the cause of the readahead.  Without
	 * CONFIG_MEMCG_V1 it takes CONFIG_LRU_GEN to know, and in mappings with
	 * MADV_SEQUENTIAL it is not known.
	 */
	CACHEBPF_ADMISSION_FAULT	= 1 << 3,
	/* it is cached, was rejected, and is used again; not with READ or WRITE */
	CACHEBPF_ADMISSION_REUSE	= 1 << 4,
};

/**
 * struct cachebpf_admission - a folio that enters the page cache, for admit_folio()
 * @ino:	inode number of its file
 * @pos:	where it begins in the file, in bytes
 * @dev:	device of the file system, encoded as stat(2) does
 * @nr_pages:	its size
 * @flags:	enum cachebpf_admission_flags
 *
 * Who brings it in, or uses it again, is the current task.
 */
struct cachebpf_admission {
	u64	ino;
	u64	pos;
	u32	dev;
	u32	nr_pages;
	u32	flags;
};

/* Advice numbers of posix_fadvise() that are policies' alone: all with this upper half. */
#define CACHEBPF_ADVICE_OWN		0x43420000
#define CACHEBPF_ADVICE_OWN_MASK	(~0xffff)
/* what advise() returns to be called for what of the range is cached */
#define CACHEBPF_ADVICE_WALK		BIT(30)
/* folios in one call of advise(): as many as find their way into a folio_batch */
#define CACHEBPF_ADVICE_BATCH		31

/**
 * struct cachebpf_file - a page of a file
 * @ino:	inode number
 * @index:	which page
 * @dev:	device of the file system, encoded as stat(2) does
 * @generation:	of the inode: tells files that had the same number from each other
 */
struct cachebpf_file {
	u64	ino;
	u64	index;
	u32	dev;
	u32	generation;
};

/**
 * struct cachebpf_seen - what bpf_cachebpf_first() tells of a folio
 * @number:	to be found by; see bpf_cachebpf_number()
 * @order:	folio order
 * @data:	the policy's data
 */
struct cachebpf_seen {
	u32	number;
	u32	order;
	u64	data[CACHEBPF_DATA_SIZE / sizeof(u64)];
};

/**
 * struct cachebpf_advice - what a program says of a part of a file, for advise()
 * @manager:	id of the cgroup who speaks: a child of the policy's, or that
 * @file:	the file, and the first page of the range
 * @first:	the first page of the range
 * @last:	the last one
 * @advice:	POSIX_FADV_*, or a number of %CACHEBPF_ADVICE_OWN
 * @begins:	the first call for this advice, without folios
 *
 * The rest is private to the kernel.
 */
struct cachebpf_advice {
	u64			manager;
	struct cachebpf_file	file;
	u64			first;
	u64			last;
	s32			advice;
	bool			begins;
	/* of this call; the cgroup of @manager */
	struct cachebpf_policy	*policy;
	struct mem_cgroup	*speaks;
	struct address_space	*mapping;
	u64			policy_serial;
	/* the first page that was neither shown nor moved */
	u64			next;
};

/**
 * struct cachebpf_evict - one request for folios to evict
 * @nr_wanted:	pages the kernel wants to get back, at most %CACHEBPF_BATCH
 * @nr_proposed: pages proposed so far
 * @nid:	NUMA node they are wanted from, as walks and bpf_cachebpf_rank_list() know
 *
 * The rest is private to the kernel.
 */
struct cachebpf_evict {
	u32			nr_wanted;
	u32			nr_proposed;
	u32			nr_folios;
	int			nid;
	u32			visits_left;
	/* pages that nobody has used yet, and that walks may pass over */
	u32			unread_left;
	struct cachebpf_policy	*policy;
};

/**
 * struct cachebpf_ops - a page cache eviction policy (BPF struct_ops)
 *
 * One instance serves one memory cgroup and all descendants that have no
 * policy of their own.  All callbacks but policy_init() and policy_exit() run
 * in RCU read sides, some with interrupts off, and must not be sleepable.
 */
struct cachebpf_ops {
	/**
	 * @policy_init: Create eviction lists and other state.  May sleep.
	 * A negative errno refuses the attachment.
	 */
	s32 (*policy_init)(struct cachebpf_policy *policy);

	/**
	 * @policy_exit: The policy was detached or replaced, or could not be
	 * attached after policy_init(); nothing else is called any more.  Until then its
	 * map is busy: a reclaimer may have been stopped meanwhile.  May sleep.
	 */
	void (*policy_exit)(struct cachebpf_policy *policy);

	/**
	 * @evict_folios: Propose folios worth @evict->nr_wanted pages, with
	 * bpf_cachebpf_evict(), bpf_cachebpf_rank() or bpf_cachebpf_rank_list().
	 * Mandatory unless %CACHEBPF_F_STOCK_RECLAIM is set.
	 */
	void (*evict_folios)(struct cachebpf_policy *policy, struct cachebpf_evict *evict);

	/**
	 * @folio_added: A folio entered the page cache; @why: enum cachebpf_added.
	 * It is on the list that was created for new folios, if there is one.
	 */
	void (*folio_added)(struct cachebpf_policy *policy, struct cachebpf_held_folio *folio,
			    u32 why);

	/**
	 * @folio_accessed: A cached folio was used again.  The use that belongs
	 * to the insertion itself, and the first one after readahead, are not
	 * reported: they are not re-uses.
	 */
	void (*folio_accessed)(struct cachebpf_policy *policy, struct cachebpf_held_folio *folio);

	/** @folio_removed: A folio left the cache or this policy; @why: enum cachebpf_removed */
	void (*folio_removed)(struct cachebpf_policy *policy, struct cachebpf_held_folio *folio,
			      u32 why);

	/**
	 * @admit_folio: Is a folio of a regular file, that was not cached, worth
	 * its place?  If not (false), it is cached no longer than somebody needs
	 * it: it is dropped when it has been read, reclaim takes it first, and
	 * the other callbacks do not hear of it.  When it is used again before
	 * that, the question is asked once more.
	 */
	bool (*admit_folio)(struct cachebpf_policy *policy,
			    struct cachebpf_admission *admission);

	/**
	 * @advise: The current task gives advice.  For numbers of
	 * %CACHEBPF_ADVICE_OWN what it returns is the answer, a negative errno or
	 * not; standard advice has its usual effect afterwards.  If it returns
	 * %CACHEBPF_ADVICE_WALK it is called once more for each batch of folios
	 * of the range that are cached, the policy's, and of the manager who
	 * speaks, as long as it returns that again.
	 */
	s32 (*advise)(struct cachebpf_policy *policy, struct cachebpf_advice *advice);

	/**
	 * @plan_readahead: A page of a regular file is missing, or the mark of a
	 * window was reached: what is to be read?  If it returns false, that is
	 * as without a policy.  The kernel reads what is wanted in any case, and
	 * not all of a window that is too large.
	 */
	bool (*plan_readahead)(struct cachebpf_policy *policy, struct cachebpf_readahead *ra);

	/** @cgroup_id: id of the cgroup to attach to */
	u64 cgroup_id;

	/** @flags: enum cachebpf_flags */
	u64 flags;

	/** @name: shown in memory.cachebpf.policy */
	char name[CACHEBPF_NAME_LEN];

	/* private: */
	struct cachebpf_policy *policy;
};

/*
 * The folios of one reclaim round, from proposal to shrink_folio_list().
 * Lives on the stack of the reclaimer.
 */
struct cachebpf_reclaim {
	struct cachebpf_policy	*policy;
	struct mem_cgroup	*target;
	/* of this request: cgroups and whether memory.min or low keeps them, the newest last */
	struct {
		struct mem_cgroup	*memcg;
		bool			protected;
	} verdicts[CACHEBPF_VERDICTS];
	u32			nr_verdicts;
	/* reclaim has decided already that it may have what memory.low keeps of this one */
	struct mem_cgroup	*despite_low;
	/*
	 * Pages of the policy that the kernel refused in this round, for what a
	 * policy cannot know: they are protected, or used through a mapping.
	 */
	unsigned long		nr_refused;
	/* the last request ended before it came to what can be had */
	bool			in_the_way;
	/* how long this task had run before */
	u64			ran_before;
	/* reclaim is for the policy's own cgroup, and no other policy takes part */
	bool			own;
	/*
	 * It is the turn of pages that the policy does not have: it is not asked this
	 * time.  Before: so it was last time; they have no turn twice.
	 */
	bool			turn_of_others;
	/*
	 * Pages that are to be reclaimed in all, how many of them from files, and
	 * how many were before this round.
	 */
	unsigned long		nr_to_reclaim;
	unsigned long		nr_of_files;
	unsigned long		nr_reclaimed;
	/* what of them falls to this round, and what of that the policy can give */
	unsigned long		share;
	unsigned long		want;
	/* rejected folios not looked at yet; those of them that go only when left behind */
	unsigned long		nr_rejected;
	unsigned long		nr_spared;
	int			nid;
	int			reclaim_idx;
	bool			may_unmap;
	bool			low_ok;
	/* taken from here on, the folios of isolate(); holds a reference to its cgroup */
	struct mem_cgroup	*taken_from;
	/* of all requests of the round: folios, and time in the policy */
	struct {
		u32		proposed;
		u32		isolated;
		u32		garbage;
		u64		ns;
	} sum;
	/* proposed, checked, and with a reference held */
	u32			nr_folios;
	struct folio		*folios[CACHEBPF_BATCH];
	/* taken off the LRU in this round */
	u32			nr_isolated;
	u32			isolated[CACHEBPF_BATCH];
};

#ifdef CONFIG_CACHEBPF

DECLARE_STATIC_KEY_FALSE(cachebpf_key);

static __always_inline bool cachebpf_enabled(void)
{
	return static_branch_unlikely(&cachebpf_key);
}

/* on while some policy has admit_folio() */
DECLARE_STATIC_KEY_FALSE(cachebpf_admission_key);

static __always_inline bool cachebpf_admission_enabled(void)
{
	return static_branch_unlikely(&cachebpf_admission_key);
}

void __cachebpf_folio_added(struct folio *folio, gfp_t gfp, bool refault);
void __cachebpf_folio_accessed(struct folio *folio);
bool __cachebpf_has_recency(struct vm_area_struct *vma);
void __cachebpf_folio_removed(struct folio *folio, enum cachebpf_removed why);
void __cachebpf_folio_replaced(struct folio *old, struct folio *new);
void __cachebpf_folio_split(struct folio *head, struct folio *tail);
void __cachebpf_drop_behind(struct folio_batch *fbatch, loff_t pos, loff_t size);
void __cachebpf_drop_spliced(struct page *page, unsigned int end);
int __cachebpf_advise(struct address_space *mapping, loff_t start, loff_t end, int advice);

void cachebpf_memcg_online(struct mem_cgroup *memcg);
void cachebpf_memcg_offline(struct mem_cgroup *memcg);

bool cachebpf_reclaim_begin(struct cachebpf_reclaim *r, struct lruvec *lruvec,
			    unsigned long nr_share);
bool cachebpf_reclaim_propose(struct cachebpf_reclaim *r, unsigned long nr);
struct lruvec *cachebpf_reclaim_isolate(struct cachebpf_reclaim *r,
					struct list_head *folios, unsigned long *nr_taken);
void __cachebpf_folios_kept(struct list_head *folios);
void cachebpf_reclaim_settle(struct cachebpf_reclaim *r, unsigned long nr_left);
bool cachebpf_reclaim_is_slow(const struct cachebpf_reclaim *r, unsigned long nr_reclaimed);
void cachebpf_reclaim_end(struct cachebpf_reclaim *r, unsigned long nr_reclaimed);
bool cachebpf_serves(struct lruvec *lruvec);

#else /* !CONFIG_CACHEBPF */

static inline bool cachebpf_enabled(void)
{
	return false;
}

static inline bool cachebpf_admission_enabled(void)
{
	return false;
}

static inline void __cachebpf_folio_added(struct folio *folio, gfp_t gfp, bool refault) {}
static inline void __cachebpf_folio_accessed(struct folio *folio) {}
static inline bool __cachebpf_has_recency(struct vm_area_struct *vma) { return false; }
static inline void __cachebpf_folio_removed(struct folio *folio, enum cachebpf_removed why) {}
static inline void __cachebpf_folio_replaced(struct folio *old, struct folio *new) {}
static inline void __cachebpf_folio_split(struct folio *head, struct folio *tail) {}
static inline void __cachebpf_drop_behind(struct folio_batch *fbatch, loff_t pos, loff_t size) {}
static inline void __cachebpf_drop_spliced(struct page *page, unsigned int end) {}
static inline void cachebpf_memcg_online(struct mem_cgroup *memcg) {}
static inline void cachebpf_memcg_offline(struct mem_cgroup *memcg) {}
static inline void __cachebpf_folios_kept(struct list_head *folios) {}

static inline int __cachebpf_advise(struct address_space *mapping, loff_t start, loff_t end,
				    int advice)
{
	return -EOPNOTSUPP;
}

static inline bool cachebpf_serves(struct lruvec *lruvec)
{
	return false;
}

#endif /* CONFIG_CACHEBPF */

/*
 * @folio was inserted and charged, and is still locked; @gfp as for its
 * insertion.  Interrupts are on.
 */
static __always_inline void cachebpf_folio_added(struct folio *folio, gfp_t gfp, bool refault)
{
	if (cachebpf_enabled())
		__cachebpf_folio_added(folio, gfp, refault);
}

/* @folio was used; any context. */
static __always_inline void cachebpf_folio_accessed(struct folio *folio)
{
	if (cachebpf_enabled())
		__cachebpf_folio_accessed(folio);
}

/* Do uses through @vma, which has MADV_RANDOM or _SEQUENTIAL, count all the same? */
static __always_inline bool cachebpf_has_recency(struct vm_area_struct *vma)
{
	return cachebpf_enabled() && __cachebpf_has_recency(vma);
}

/* @folio, locked, leaves the page cache; called under the i_pages lock, with interrupts off. */
static __always_inline void cachebpf_folio_removed(struct folio *folio, enum cachebpf_removed why)
{
	if (cachebpf_enabled())
		__cachebpf_folio_removed(folio, why);
}

/* Reclaim had @folios isolated and does not take them. */
static __always_inline void cachebpf_folios_kept(struct list_head *folios)
{
	if (cachebpf_enabled())
		__cachebpf_folios_kept(folios);
}

/* @folio, locked, has become a part of a huge one; interrupts are on. */
static __always_inline void cachebpf_folio_collapsed(struct folio *folio)
{
	if (!cachebpf_enabled())
		return;
	local_irq_disable();
	cachebpf_folio_removed(folio, CACHEBPF_REMOVED_MIGRATE);
	local_irq_enable();
}

/* @new took the place of @old in the page cache; both are locked. */
static __always_inline void cachebpf_folio_replaced(struct folio *old, struct folio *new)
{
	if (cachebpf_enabled())
		__cachebpf_folio_replaced(old, new);
}

/* @tail was split off @head; both are locked. */
static __always_inline void cachebpf_folio_split(struct folio *head, struct folio *tail)
{
	if (cachebpf_enabled())
		__cachebpf_folio_split(head, tail);
}

/* A read has arrived at @pos in a file of @size bytes and has used the folios of @fbatch. */
static __always_inline void cachebpf_drop_behind(struct folio_batch *fbatch, loff_t pos,
						 loff_t size)
{
	if (cachebpf_admission_enabled())
		__cachebpf_drop_behind(fbatch, pos, size);
}

/* @page leaves a pipe, which had it up to @end and gives up its reference next. */
static __always_inline void cachebpf_drop_spliced(struct page *page, unsigned int end)
{
	if (cachebpf_admission_enabled())
		__cachebpf_drop_spliced(page, end);
}

/*
 * The current task gives advice about a part of a file.  True if it was for
 * policies alone: then *@advice is the answer.
 */
static inline bool cachebpf_advise(struct address_space *mapping, loff_t start, loff_t end,
				   int *advice)
{
	bool own = (*advice & CACHEBPF_ADVICE_OWN_MASK) == CACHEBPF_ADVICE_OWN;
	int ret = -EOPNOTSUPP;

	if (cachebpf_enabled())
		ret = __cachebpf_advise(mapping, start, end, *advice);
	if (own)
		*advice = ret;
	return own;
}

#endif /* _LINUX_CACHEBPF_H */
