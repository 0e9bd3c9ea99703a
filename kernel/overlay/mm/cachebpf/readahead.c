// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readahead: what is read of a file where a page is missing, or where a window
 * was marked, is up to the policy of the cgroup that will be charged.
 *
 * Nothing that it says is believed.  The policy is asked in an RCU read side,
 * and what is left of its plan is read after that, by the functions that
 * mm/readahead.c reads with: the plan may be foolish, but no read is.  Whoever
 * says with posix_fadvise() or readahead(2) what to read comes by another way.
 */
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/bpf.h>
#include <linux/btf_ids.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <trace/events/cachebpf.h>

#include "../internal.h"
#include "kfunc.h"

/* pages that one call reads at most, as force_page_cache_ra() does in one go */
#define MAX_PAGES	(SZ_2M >> PAGE_SHIFT)
/* what is not wanted yet is no more than such a part of what the cgroup can hold */
#define LIMIT_PART	16

DEFINE_STATIC_KEY_FALSE(cachebpf_readahead_key);

/* @policy, not yet published, has plan_readahead(). */
void cachebpf_readahead_start(struct cachebpf_policy *policy)
{
	policy->plans = true;
	cachebpf_unread_start(policy);
	static_branch_inc(&cachebpf_readahead_key);
}

/* Nobody asks @policy any more. */
void cachebpf_readahead_stop(struct cachebpf_policy *policy)
{
	if (!policy->plans)
		return;
	static_branch_dec(&cachebpf_readahead_key);
	cachebpf_unread_free(policy);
}

/* Pages that can be charged to @memcg without reclaim. */
static unsigned long room_of(struct mem_cgroup *memcg)
{
	unsigned long limit, used, nr = totalram_pages();

	for (; memcg; memcg = parent_mem_cgroup(memcg)) {
		limit = min(READ_ONCE(memcg->memory.max), READ_ONCE(memcg->memory.high));
		used = page_counter_read(&memcg->memory);
		nr = min(nr, limit > used ? limit - used : 0);
	}
	return nr;
}

/* The number of the open @file: its address, which is nobody's business. */
static u64 stream_of(const struct file *file)
{
	unsigned long hash;

	return ptr_to_hashval(file, &hash) ? 0 : hash;
}

/* May a policy have its say about a read of @nr_wanted pages?  Then tell it in @ra. */
static bool describe(struct cachebpf_readahead *ra, struct readahead_control *ractl,
		     struct folio *marked, u32 reason, unsigned long nr_wanted)
{
	const struct file_ra_state *state = ractl->ra;
	loff_t prev_pos = READ_ONCE(state->prev_pos);
	struct inode *inode = ractl->mapping->host;
	u64 file_pages = DIV_ROUND_UP_ULL(i_size_read(inode), PAGE_SIZE);
	u64 index = marked ? marked->index : readahead_index(ractl);

	if (!ractl->file || ractl->file->f_mode & FMODE_RANDOM || !S_ISREG(inode->i_mode) ||
	    index >= file_pages)
		return false;
	*ra = (struct cachebpf_readahead) {
		.ino		= inode->i_ino,
		.stream		= stream_of(ractl->file),
		.index		= index,
		.file_pages	= file_pages,
		/* -1 to begin with */
		.prev_end	= DIV_ROUND_UP_ULL((u64)max(prev_pos, 0), PAGE_SIZE),
		.dev		= new_encode_dev(inode->i_sb->s_dev),
		.wanted		= clamp(nr_wanted, 1, min(file_pages - index, MAX_PAGES)),
		.last_window	= READ_ONCE(state->size),
		.stock_window	= READ_ONCE(state->ra_pages),
		.reason		= reason,
		.mmap_miss	= READ_ONCE(state->mmap_miss),
		.marked		= marked ? folio_nr_pages(marked) : 0,
		.start		= index,
	};
	if (reason != CACHEBPF_READAHEAD_MARKER)
		ra->size = ra->wanted;
	return true;
}

/*
 * Cut the window of @ra to what may be read of it, and to what is left in *@nr_left
 * for that which is not wanted.  Of a window around the request that is too large,
 * what is nearest stays, and rather what comes behind it.
 */
static void clip_window(struct cachebpf_readahead *ra, u32 *nr_left)
{
	u64 start = min(ra->start, ra->file_pages);
	u64 end = start + min(ra->size, ra->file_pages - start);
	u64 first = ra->index, last = first + ra->nr_apart;

	if (ra->nr_apart && start <= last && end >= first) {
		u32 after = min(max(end, last) - last, *nr_left);
		u32 before = min(first - min(start, first), *nr_left - after);

		ra->start = first - before;
		ra->size = before + ra->nr_apart + after;
		ra->nr_apart = 0;
		*nr_left -= before + after;
	} else {
		ra->start = start;
		ra->size = min(end - start, *nr_left);
		*nr_left -= ra->size;
	}
}

/* The same for the ranges.  Returns whether something was cut. */
static bool clip_ranges(struct cachebpf_readahead *ra, u32 *nr_left)
{
	u32 i, nr, nr_cut = 0;

	for (i = 0; i < ra->nr_ranges; i++) {
		nr = min(ra->file_pages - min(ra->ranges[i].index, ra->file_pages), *nr_left);
		nr = min(nr, ra->ranges[i].nr);
		nr_cut |= ra->ranges[i].nr - nr;
		ra->ranges[i].nr = nr;
		*nr_left -= nr;
	}
	return nr_cut;
}

/* Make of a policy's plan what may be read.  Returns whether it wanted more. */
static bool clip_plan(struct cachebpf_readahead *ra)
{
	u64 start = ra->start, end = start + min(ra->size, U64_MAX - start);
	u64 mark = end - min(ra->async_size, ra->size), last;
	bool clamped = ra->async_size > ra->size, marks = ra->async_size;
	u32 nr_left;

	ra->nr_apart = ra->reason == CACHEBPF_READAHEAD_MARKER ? 0 : ra->wanted;
	nr_left = min(ra->limit / LIMIT_PART, MAX_PAGES - ra->nr_apart);
	/* who may not wait for a disk is not to wait for its queue either */
	if (current->flags & PF_MEMALLOC_NOIO)
		nr_left = 0;
	clip_window(ra, &nr_left);
	last = ra->start + ra->size;
	/* the mark stays where the policy wants it, or there is none */
	marks = marks && mark >= ra->start && mark < last;
	clamped |= ra->start > start || last < end || (ra->async_size && !marks);
	ra->async_size = marks ? last - mark : 0;
	return clip_ranges(ra, &nr_left) || clamped;
}

/* Does the policy of @memcg, if it has one, want to plan? */
static bool has_planner(struct mem_cgroup *memcg)
{
	struct cachebpf_policy *policy;
	bool plans;

	rcu_read_lock();
	policy = rcu_dereference(memcg->cachebpf);
	plans = policy && policy->plans;
	rcu_read_unlock();
	return plans;
}

/* Ask the policy of @ra->memcg.  False if it has none that wants to plan. */
static bool ask_policy(struct cachebpf_readahead *ra)
{
	struct cachebpf_policy *policy;
	struct cachebpf_ops *ops;
	bool clamped, planned = false;

	rcu_read_lock();
	policy = rcu_dereference(ra->memcg->cachebpf);
	ops = policy && policy->plans ? rcu_dereference(policy->ops) : NULL;
	if (!ops || READ_ONCE(policy->flags) & CACHEBPF_F_EJECTED)
		goto out;
	ra->room = room_of(ra->memcg);
	ra->limit = cachebpf_limit_of(ra->memcg);
	ra->policy_serial = policy->serial;
	cachebpf_count(policy, CACHEBPF_STAT_READAHEAD_ASKED, 1);
	cachebpf_count(policy, CACHEBPF_STAT_READAHEAD_MARKS_HIT,
		       ra->reason == CACHEBPF_READAHEAD_MARKER);
	planned = ops->plan_readahead(policy, ra);
	if (!planned) {
		cachebpf_count(policy, CACHEBPF_STAT_READAHEAD_DECLINED, 1);
		goto out;
	}
	clamped = clip_plan(ra);
	cachebpf_count(policy, CACHEBPF_STAT_READAHEAD_CLAMPED, clamped);
	trace_cachebpf_readahead(policy->serial, policy->cgroup_id, ra, clamped);
out:
	rcu_read_unlock();
	return planned;
}

/*
 * Is there a plan for a read of @nr_wanted pages?  Then it is in @ra, which holds
 * a reference to the cgroup.
 */
static bool make_plan(struct cachebpf_readahead *ra, struct readahead_control *ractl,
		      struct folio *marked, u32 reason, unsigned long nr_wanted)
{
	/* as filemap_add_folio() will */
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(NULL);

	if (!memcg)
		return false;
	if (has_planner(memcg) && describe(ra, ractl, marked, reason, nr_wanted)) {
		ra->memcg = memcg;
		if (ask_policy(ra))
			return true;
	}
	css_put(&memcg->css);
	return false;
}

/* How many of the @nr pages of @mapping from @index on are missing before one that is not? */
static u32 nr_missing(struct address_space *mapping, u64 index, u32 nr)
{
	struct folio *folio;
	u32 i;

	for (i = 0; i < nr; i++) {
		folio = xa_load(&mapping->i_pages, index + i);
		if (folio && !xa_is_value(folio))
			break;
	}
	return i;
}

/*
 * Read those of the @nr pages from @index on that are missing, and mark the page
 * @mark if it is one of these.  What there is no memory for is left out.
 *
 * Each run of missing pages for itself, and with a state of its own: where
 * page_cache_ra_order() meets a page that is cached, it reads on beyond the end.
 */
static u32 read_missing(struct cachebpf_readahead *ra, const struct readahead_control *ractl,
			u64 index, u32 nr, u64 mark, unsigned int order)
{
	struct file_ra_state state = {};
	u32 run, nr_read = 0;

	while (nr && !ra->no_memory) {
		run = nr_missing(ractl->mapping, index, nr);
		if (run) {
			DEFINE_READAHEAD(part, ractl->file, &state, ractl->mapping, index);

			state.start = index;
			state.size = run;
			state.async_size = mark >= index && mark < index + run ?
					   index + run - mark : 0;
			ra->marks |= state.async_size;
			page_cache_ra_order(&part, &state, order);
			/* each further run would have the cgroup reclaimed anew */
			ra->no_memory = nr_missing(ractl->mapping, index, 1);
			nr_read += ra->no_memory ? 0 : run;
		}
		/* and past the one that is cached */
		run = min(run + 1, nr);
		index += run;
		nr -= run;
	}
	return nr_read;
}

/* The policy that made the plan @ra, if it is there still, has so many pages read by it. */
static void count_read(const struct cachebpf_readahead *ra, u32 nr, u32 nr_prefetched)
{
	struct cachebpf_policy *policy;

	rcu_read_lock();
	policy = rcu_dereference(ra->memcg->cachebpf);
	if (policy && policy->serial == ra->policy_serial) {
		cachebpf_count(policy, CACHEBPF_STAT_READAHEAD_PAGES, nr);
		cachebpf_count(policy, CACHEBPF_STAT_READAHEAD_PREFETCHED, nr_prefetched);
		cachebpf_count(policy, CACHEBPF_STAT_READAHEAD_MARKS_SET, ra->marks);
	}
	rcu_read_unlock();
}

/* Read what @ra plans, for the stream of @ractl, and let go of its cgroup. */
static void carry_out(struct cachebpf_readahead *ra, struct readahead_control *ractl,
		      unsigned int order)
{
	u64 mark = ra->async_size ? ra->start + ra->size - ra->async_size : U64_MAX;
	u32 i, nr, nr_prefetched = 0;
	struct blk_plug plug;

	/* what is wanted is no window, for stock readahead neither */
	if (ra->size > (ra->reason == CACHEBPF_READAHEAD_MARKER ? 0 : ra->wanted)) {
		ractl->ra->start = ra->start;
		ractl->ra->size = ra->size;
		ractl->ra->async_size = ra->async_size;
	}
	blk_start_plug(&plug);
	nr = read_missing(ra, ractl, ra->index, ra->nr_apart, U64_MAX, 0);
	nr += read_missing(ra, ractl, ra->start, ra->size, mark, order);
	for (i = 0; i < ra->nr_ranges; i++)
		nr_prefetched += read_missing(ra, ractl, ra->ranges[i].index, ra->ranges[i].nr,
					      U64_MAX, 0);
	blk_finish_plug(&plug);
	count_read(ra, nr, nr_prefetched);
	css_put(&ra->memcg->css);
}

/**
 * __cachebpf_plan_readahead - ask the policy what to read, and read it
 * @ractl: where a page is missing, or marked
 * @marked: the folio that is marked; NULL: the page is missing
 * @nr_wanted: pages that are requested from there on
 *
 * Process context, without locks of the file.
 *
 * Return: false if nothing was done.
 */
bool __cachebpf_plan_readahead(struct readahead_control *ractl, struct folio *marked,
			       unsigned long nr_wanted)
{
	u32 reason = marked ? CACHEBPF_READAHEAD_MARKER : CACHEBPF_READAHEAD_MISS;
	struct cachebpf_readahead ra;

	/* a fault says how much is to be read ahead, not how much it needs */
	if (marked && cachebpf_in_fault())
		nr_wanted = 1;
	if (!make_plan(&ra, ractl, marked, reason, nr_wanted))
		return false;
	carry_out(&ra, ractl, marked ? folio_order(marked) : 0);
	return true;
}

/**
 * __cachebpf_plan_fault - the same for a page fault that finds its page missing
 * @vmf: the fault
 * @fpin: is set if its lock is dropped for the time of the read
 *
 * Return: false if nothing was done.
 */
bool __cachebpf_plan_fault(struct vm_fault *vmf, struct file **fpin)
{
	struct file *file = vmf->vma->vm_file;
	DEFINE_READAHEAD(ractl, file, &file->f_ra, file->f_mapping, vmf->pgoff);
	struct cachebpf_readahead ra;

	/* who may not wait is left to stock readahead */
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT || blk_cgroup_congested() ||
	    !make_plan(&ra, &ractl, NULL, CACHEBPF_READAHEAD_FAULT, 1))
		return false;
	*fpin = maybe_unlock_mmap_for_io(vmf, *fpin);
	carry_out(&ra, &ractl, 0);
	return true;
}

__bpf_kfunc_start_defs();

/**
 * bpf_cachebpf_prefetch - plan to read more of the file
 * @ra: what plan_readahead() was given
 * @index: first page of the range
 * @nr: its pages
 *
 * Ranges are read after the window, in the order in which they were added, and
 * what is left of what may be read is theirs.  Nothing is if the policy returns
 * false.
 *
 * Return: 0; -ENOSPC: there are four ranges.
 */
__bpf_kfunc int bpf_cachebpf_prefetch(struct cachebpf_readahead *ra, u64 index, u32 nr)
{
	if (ra->nr_ranges == CACHEBPF_PREFETCHES)
		return -ENOSPC;
	ra->ranges[ra->nr_ranges].index = index;
	ra->ranges[ra->nr_ranges++].nr = nr;
	return 0;
}

__bpf_kfunc_end_defs();
