/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of cachebpf.bpf.h that is about plan_readahead(): what may be read of a file. */
#pragma once

/* cachebpf_readahead.reason */
enum {
	/* read(2) or alike finds that a page is not cached */
	CACHEBPF_READAHEAD_MISS,
	/* the page with the mark of a window is used for the first time; nothing is missing yet */
	CACHEBPF_READAHEAD_MARKER,
	/* a page fault finds that a page is not cached */
	CACHEBPF_READAHEAD_FAULT,
};

/* What may be read of a file now, on behalf of the current task. */
struct cachebpf_readahead {
	/* of the file, as in stat(2) */
	__u64 ino;
	/* tells files that are open from each other */
	__u64 stream;
	/* the page that is missing; with MARKER the first one of the folio that is marked */
	__u64 index;
	/* size of the file */
	__u64 file_pages;
	/* the page behind the end of the last read(2) of the stream; 0 if there was none */
	__u64 prev_end;
	/* pages that the control group can take without reclaim */
	__u64 room;
	/* pages that it can hold */
	__u64 limit;
	/* of the file system, as in stat(2) */
	__u32 dev;
	/* pages of the request, from index on; at least 1 */
	__u32 wanted;
	/* pages of the last window of the stream; 0 if there was none */
	__u32 last_window;
	/* pages of the largest window that there is without a policy */
	__u32 stock_window;
	/* CACHEBPF_READAHEAD_* */
	__u32 reason;
	/* page faults of the stream that missed, less those that hit */
	__u32 mmap_miss;
	/* pages of the folio that is marked; else 0 */
	__u32 marked;
	/*
	 * The window, to be written: to begin with, what is wanted, or nothing with
	 * MARKER.  What is missing and wanted is read in any case, and what is cached is
	 * not read again.
	 */
	__u64 start;
	/* its pages */
	__u32 size;
	/* the page so many before its end is marked, if it is read now; 0: none is */
	__u32 async_size;
} __kernel_type;

/*
 * Read @nr pages of the file from @index on as well, after the window and the ranges that
 * were added before, as far as may be; nothing if plan_readahead() returns false.  Returns
 * 0; -ENOSPC: there are four ranges.
 * In plan_readahead().  Cost: O(1), no lock.
 */
int bpf_cachebpf_prefetch(struct cachebpf_readahead *ra, __u64 index, __u32 nr) __ksym __newer;
