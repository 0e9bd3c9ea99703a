/* SPDX-License-Identifier: GPL-2.0-only */
/* What policies plan to read: a part of cachebpf.h, to be included by that alone. */
#ifndef _LINUX_CACHEBPF_READAHEAD_H
#define _LINUX_CACHEBPF_READAHEAD_H

#include <linux/jump_label.h>
#include <linux/mm_types.h>

struct file;
struct mem_cgroup;
struct readahead_control;
struct vm_fault;

/* ranges that bpf_cachebpf_prefetch() adds to one plan at most */
#define CACHEBPF_PREFETCHES	4

/* why plan_readahead() is called */
enum cachebpf_readahead_reason {
	/* read(2) or alike finds that a page is not cached */
	CACHEBPF_READAHEAD_MISS,
	/* the page that a window was marked at is used for the first time; it is cached */
	CACHEBPF_READAHEAD_MARKER,
	/* a page fault finds that a page is not cached */
	CACHEBPF_READAHEAD_FAULT,
};

/**
 * struct cachebpf_readahead - what may be read of a file now, for plan_readahead()
 * @ino:	inode number of the file
 * @stream:	tells files that are open from each other
 * @index:	the page that is missing; with %CACHEBPF_READAHEAD_MARKER, the first one of
 *		the folio that is marked
 * @marked:	pages of that folio; else 0
 * @file_pages:	size of the file
 * @prev_end:	where the last read(2) of the stream ended: the page behind it; 0 if
 *		there was none
 * @room:	pages that the cgroup can take without reclaim
 * @limit:	pages that it can hold: the lowest memory.max or memory.high on the
 *		way up, or all memory
 * @dev:	device of the file system, encoded as stat(2) does
 * @wanted:	pages of the request from @index on, at least 1
 * @last_window: pages of the last window of the stream; 0 if there was none
 * @stock_window: pages of the largest window that there is without a policy
 * @reason:	enum cachebpf_readahead_reason
 * @mmap_miss:	page faults of the stream that missed, less those that hit
 * @start:	first page of the window; the policy's to write, as the next two
 * @size:	pages of the window
 * @async_size:	the page which is so many before the end of the window is marked;
 *		0 for none
 *
 * The window is what is wanted, to begin with, and empty if nothing is missing.
 * The rest is private to the kernel.
 */
struct cachebpf_readahead {
	u64			ino;
	u64			stream;
	u64			index;
	u64			file_pages;
	u64			prev_end;
	u64			room;
	u64			limit;
	u32			dev;
	u32			wanted;
	u32			last_window;
	u32			stock_window;
	u32			reason;
	u32			mmap_miss;
	u32			marked;
	u64			start;
	u32			size;
	u32			async_size;
	/* whose policy is asked: who will be charged; with a reference */
	struct mem_cgroup	*memcg;
	u64			policy_serial;
	/* pages of the request, if the window does not have them */
	u32			nr_apart;
	/* a page was marked; there is no memory for more */
	bool			marks;
	bool			no_memory;
	u32			nr_ranges;
	struct {
		u64		index;
		u32		nr;
	} ranges[CACHEBPF_PREFETCHES];
};

#ifdef CONFIG_CACHEBPF

/* on while some policy has plan_readahead() */
DECLARE_STATIC_KEY_FALSE(cachebpf_readahead_key);

static __always_inline bool cachebpf_readahead_enabled(void)
{
	return static_branch_unlikely(&cachebpf_readahead_key);
}

bool __cachebpf_plan_readahead(struct readahead_control *ractl, struct folio *marked,
			       unsigned long nr_wanted);
bool __cachebpf_plan_fault(struct vm_fault *vmf, struct file **fpin);

#else /* !CONFIG_CACHEBPF */

static inline bool cachebpf_readahead_enabled(void)
{
	return false;
}

static inline bool __cachebpf_plan_readahead(struct readahead_control *ractl,
					     struct folio *marked, unsigned long nr_wanted)
{
	return false;
}

static inline bool __cachebpf_plan_fault(struct vm_fault *vmf, struct file **fpin)
{
	return false;
}

#endif /* CONFIG_CACHEBPF */

/*
 * A read of @nr_wanted pages misses, or has come to @marked.  True if a policy
 * has planned what to read, which was done.
 */
static __always_inline bool cachebpf_plan_readahead(struct readahead_control *ractl,
						    struct folio *marked,
						    unsigned long nr_wanted)
{
	return cachebpf_readahead_enabled() &&
	       __cachebpf_plan_readahead(ractl, marked, nr_wanted);
}

/* The same for a page fault that misses; @fpin as for maybe_unlock_mmap_for_io(). */
static __always_inline bool cachebpf_plan_fault(struct vm_fault *vmf, struct file **fpin)
{
	return cachebpf_readahead_enabled() && __cachebpf_plan_fault(vmf, fpin);
}

#endif /* _LINUX_CACHEBPF_READAHEAD_H */
