/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a page cache eviction policy is written with.  cachebpf(3) says the same
 * at more length; docs/writing-a-policy.md begins at the beginning.
 *
 * A policy is one file NAME.bpf.c that defines callbacks and ends with
 * CACHEBPF_POLICY().  How the kernel does what is here is documented in
 * Documentation/mm/cachebpf.rst of the kernel and in its mm/cachebpf.
 *
 * The same file runs in the kernel and in the simulator (CACHEBPF_SIM), where
 * all policies are linked into one program: keep functions and globals static,
 * except for maps, whose first member has to be their type.  A policy NAME that
 * posts to a ring buffer called cachebpf_events has the program
 *
 *	SEC("syscall") int NAME_reconfigure(void *ctx)
 *
 * run for it, soon (in the simulator: when the callback has returned).  It may
 * sleep, and knows the policy's globals and maps, but may call nothing of below
 * that begins with bpf_.
 *
 * What is said of functions below:
 *
 * - "in" which callbacks they may be called: the kernel does not load a policy
 *   that calls them elsewhere.  "With a folio" are folio_added(),
 *   folio_accessed(), folio_removed(), evict_folios() and advise().
 *
 * - "cost".  "The lock" is that of all lists of the policy on one NUMA node.  It
 *   is held inside of functions, never while the policy runs.
 *
 * No pointer may be kept beyond the callback that has it.
 */
#pragma once

#ifdef CACHEBPF_SIM
#include "host.h"
#else
#include "kernel.bpf.h"
#endif
#include "plan-readahead.bpf.h"

/* cachebpf_ops.flags */
enum {
	/* never ask for folios: reclaim stays the stock one; evict_folios() is not needed */
	CACHEBPF_F_STOCK_RECLAIM	= 1 << 0,
};

/*
 * list_create(): what the kernel does with a list by itself.  Of each two, one;
 * one list of a policy can be for new folios.
 */
enum {
	/* a folio that comes into the cache joins this list at its head */
	CACHEBPF_LIST_NEW_HEAD		= 1 << 0,
	/* or at its tail */
	CACHEBPF_LIST_NEW_TAIL		= 1 << 1,
	/* a folio on this list that is used again moves to its head, with up to 31 others, later */
	CACHEBPF_LIST_USED_HEAD		= 1 << 2,
	/* or to its tail */
	CACHEBPF_LIST_USED_TAIL		= 1 << 3,
	/*
	 * the last 8 of the policy's bytes of a folio on this list are the kernel's: when it
	 * was used last, or added; a number that goes on with each folio that is added, and
	 * with each batch of uses
	 */
	CACHEBPF_LIST_STAMPED		= 1 << 4,
	/* with USED, see LIST_USED_TO() */
	CACHEBPF_LIST_USED_ELSEWHERE	= 1 << 5,
};

/*
 * list_create(): with USED_HEAD or USED_TAIL, a folio on this list that is used again
 * moves to that end of @list, which was created before.
 */
#define LIST_USED_TO(list)	(CACHEBPF_LIST_USED_ELSEWHERE | (list) << 16)

/* bpf_cachebpf_rank_list(): what the score is */
enum {
	/* cachebpf_folio.accesses, but at least 1 */
	CACHEBPF_BY_ACCESSES,
	/* the first 8 of the policy's bytes, as a signed number */
	CACHEBPF_BY_DATA,
};

/* folio_added(): why, any of these, or none */
enum {
	/* it was evicted from this cache not long ago */
	CACHEBPF_ADDED_REFAULT		= 1 << 0,
	/* it was cached before the policy was responsible for it */
	CACHEBPF_ADDED_ADOPTED		= 1 << 1,
	/* admit_folio() had rejected it, and admitted it when it was used again */
	CACHEBPF_ADDED_ADMITTED		= 1 << 2,
	/* with REFAULT: so recently that the stock LRU counts it to the workingset */
	CACHEBPF_ADDED_WORKINGSET	= 1 << 3,
	/* it is there to be written, which does not count as a use */
	CACHEBPF_ADDED_WRITTEN		= 1 << 4,
};

/* cachebpf_admission.flags */
enum {
	/* its content comes from the disk */
	CACHEBPF_ADMISSION_READ		= 1 << 0,
	/* its content comes from write(2) or alike */
	CACHEBPF_ADMISSION_WRITE	= 1 << 1,
	/* with READ: by readahead, as most of what is read, also the part that somebody waits for */
	CACHEBPF_ADMISSION_READAHEAD	= 1 << 2,
	/* a page fault needs it, or has caused the readahead; not always known */
	CACHEBPF_ADMISSION_FAULT	= 1 << 3,
	/* neither READ nor WRITE: it is cached, was rejected, and is used again */
	CACHEBPF_ADMISSION_REUSE	= 1 << 4,
};

/* folio_removed(): why, one of these */
enum {
	/* it was evicted: memory was needed */
	CACHEBPF_REMOVED_RECLAIM,
	/* its file became shorter, or was deleted */
	CACHEBPF_REMOVED_TRUNCATE,
	/* its content was no longer wanted or valid: posix_fadvise(2), direct writes, … */
	CACHEBPF_REMOVED_INVALIDATE,
	/* it moved and there was no memory to follow it, or it became part of a huge one */
	CACHEBPF_REMOVED_MIGRATE,
	/* it is still cached, but another policy is responsible for it now */
	CACHEBPF_REMOVED_HANDOVER,
};

/* for_each_folio(): flags */
enum {
	/* from the tail to the head */
	CACHEBPF_ITER_REVERSE		= 1 << 0,
	/* what was looked at moves to the end that the walk comes to last */
	CACHEBPF_ITER_ROTATE		= 1 << 1,
};

/* advise() */
enum {
	/* numbers of posix_fadvise() that have this upper half are policies' alone */
	CACHEBPF_ADVICE_OWN		= 0x43420000,
	/* to be returned: show me the folios */
	CACHEBPF_ADVICE_WALK		= 1 << 30,
};

/* A folio that enters the cache, on behalf of the current task. */
struct cachebpf_admission {
	/* of its file, as in stat(2) */
	__u64 ino;
	/* where it begins in the file, in bytes */
	__u64 pos;
	/* of the file system, as in stat(2) */
	__u32 dev;
	/* its size */
	__u32 nr_pages;
	/* CACHEBPF_ADMISSION_* */
	__u32 flags;
} __kernel_type;

/*
 * A policy: what CACHEBPF_POLICY() is given.  All callbacks but evict_folios()
 * can be left out, and then cost nothing.  Those of which nothing else is said
 * are CACHEBPF_OP(): they may not sleep, and run on all processors at once.
 */
struct cachebpf_ops {
	/*
	 * CACHEBPF_SLEEPABLE_OP(): once, before all others.  Create lists and buckets
	 * here.  Returns 0; a negative errno refuses the attachment.
	 */
	__s32 (*policy_init)(struct cachebpf_policy *policy);
	/*
	 * CACHEBPF_SLEEPABLE_OP(): once, after all others: the policy was detached or
	 * replaced, or could not be attached after policy_init().
	 */
	void (*policy_exit)(struct cachebpf_policy *policy);
	/*
	 * Memory is needed: propose folios for @evict->nr_wanted pages.  Runs in
	 * reclaim, while somebody waits; a policy that takes more than 20 ms three
	 * times in a row is thrown out, and so is one whose proposals are no good.
	 */
	void (*evict_folios)(struct cachebpf_policy *policy, struct cachebpf_evict *evict);
	/*
	 * @folio came into the cache; @why: CACHEBPF_ADDED_*.  It is on the list for
	 * new folios, if there is one, else on none.  Runs at each miss, mostly for
	 * the task that has caused it.
	 */
	void (*folio_added)(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 why);
	/*
	 * @folio was used again, and that is counted; not for the use that brought it
	 * in, nor for the first one after readahead.  Runs at each hit, mostly for the
	 * task that uses it: the most expensive callback there is.
	 */
	void (*folio_accessed)(struct cachebpf_policy *policy, struct cachebpf_folio *folio);
	/*
	 * @folio left the cache, or the policy; @why: CACHEBPF_REMOVED_*.  It is on its
	 * list still.  Mostly with interrupts off: be brief.
	 */
	void (*folio_removed)(struct cachebpf_policy *policy, struct cachebpf_folio *folio,
			      __u32 why);
	/*
	 * Shall a folio of a regular file, which was not cached, be kept?  Else (false)
	 * it is dropped behind its reader and reclaimed first, and no other callback
	 * hears of it.  Runs before folio_added(), for the task that brings it in.
	 * CACHEBPF_POLICY() has one for all policies, see lib/admission.bpf.h.
	 */
	bool (*admit_folio)(struct cachebpf_policy *policy, struct cachebpf_admission *admission);
	/*
	 * The current task says something by posix_fadvise(): a standard advice, which
	 * takes effect afterwards, or one of CACHEBPF_ADVICE_OWN, which is answered by
	 * what this returns: 0 or more, or a negative errno.  With CACHEBPF_ADVICE_WALK
	 * it is called again for the folios of the range that are cached, the policy's
	 * and the manager's, some at a time, as long as it returns that.
	 */
	__s32 (*advise)(struct cachebpf_policy *policy, struct cachebpf_advice *advice);
	/*
	 * A page of a regular file is missing, or the mark of a window was reached: what
	 * is to be read?  False: as without a policy.  What is too much for the control
	 * group, or for one read, is cut off.  Not called for files that are read at
	 * random, by posix_fadvise() or madvise(), nor where readahead is off, nor for what
	 * is read ahead by advice.
	 * CACHEBPF_POLICY() has one for all policies, see lib/readahead.bpf.h.
	 */
	bool (*plan_readahead)(struct cachebpf_policy *policy, struct cachebpf_readahead *ra);
	/* of the control group to attach to; whoever loads the policy sets it */
	__u64 cgroup_id;
	/* CACHEBPF_F_* */
	__u64 flags;
	/* what the kernel shows; CACHEBPF_POLICY() sets it */
	char name[16];
};

/* A walk over a list; 120 of the 512 bytes of stack that a policy has. */
struct bpf_iter_cachebpf_list {
	__u64 __opaque[15];
} __attribute__((aligned(8)));

/* The folio that has a number. */
struct bpf_iter_cachebpf_folio {
	__u64 __opaque[1];
} __attribute__((aligned(8)));

/* What is told of a folio without it. */
struct cachebpf_seen {
	/* see bpf_cachebpf_number() */
	__u32 number;
	/* it has 1 << order pages */
	__u32 order;
	/* the policy's bytes */
	__u64 data[2];
};

/* A way through the folios that advice is about. */
struct bpf_iter_cachebpf_advice {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

/*
 * Create a list, on all NUMA nodes; @flags are CACHEBPF_LIST_*.  See list_create().
 * Returns its number, from 1 up; -EINVAL: unknown flags, or both of two; -EEXIST:
 * there is a list for new folios; -ENOSPC: there are 1022 lists; -ENOMEM.
 * In policy_init().  Cost: sleeps for memory.
 */
int bpf_cachebpf_list_create(struct cachebpf_policy *policy, __u32 flags) __ksym;

/*
 * Put @folio on @list, at its HEAD or TAIL, if it is on no other one yet (list 0 is
 * none).  Returns 0; -EEXIST: it is on one; -ENOENT: no such list; -ESTALE: it is not
 * the policy's any more.
 * With a folio.  Cost: O(1), the lock.
 */
int bpf_cachebpf_list_add(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 list,
			  bool tail) __ksym;

/*
 * Put @folio on @list, at its HEAD or TAIL, whatever list it is on.  Returns 0;
 * -ENOENT, -ESTALE as above.
 * With a folio.  Cost: O(1), the lock.
 */
int bpf_cachebpf_list_move(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 list,
			   bool tail) __ksym;

/*
 * Put @folio on @list, whatever list it is on, which is in the order of the first 8 of
 * the policy's bytes, signed numbers, the least at the head: behind all that have no more
 * than it has.  Half of @nr_max folios are looked at from the tail, or from where the last
 * one was put, if that is nearer; then from the head or from there.  If its place is not
 * found, it stays where the search ended.  Returns 0; -ENOENT, -ESTALE as above.
 * With a folio.  Cost: O(@nr_max), at most 128; the lock.
 */
int bpf_cachebpf_list_insert(struct cachebpf_policy *policy, struct cachebpf_folio *folio,
			     __u32 list, __u32 nr_max) __ksym;

/*
 * Take @folio off its list: it goes to the tail of list 0.  Returns 0; -ESTALE as
 * above.
 * With a folio.  Cost: O(1), the lock.
 */
int bpf_cachebpf_list_del(struct cachebpf_policy *policy, struct cachebpf_folio *folio) __ksym;

/*
 * Returns how many pages are on @list, on all nodes; 0 if there is no such list.
 * Others may be changing it at this moment.
 * In all callbacks.  Cost: O(NUMA nodes), no lock.
 */
__u64 bpf_cachebpf_list_len(struct cachebpf_policy *policy, __u32 list) __ksym;

/*
 * Returns the bytes of @folio that belong to the policy, to be read and written;
 * NULL if @rdwr_buf_size, a constant, is more than 16.  They are 0 when the folio
 * is added, and go where it goes.  See folio_data().
 * With a folio.  Cost: O(1), no lock: two processors may write at the same time.
 */
__u8 *bpf_cachebpf_data(struct cachebpf_folio *folio, const __u64 rdwr_buf_size) __ksym;

/*
 * Returns a hash of file system, inode, generation and position in the file, all bits
 * of which are equally good: the same when the folio comes back, also after a boot if
 * the file system has a UUID; 0: it was taken out of its file at this moment.
 * In folio_added(), folio_accessed() and folio_removed(); evict_folios() cannot know
 * it: note in the policy's bytes what is needed there.  Cost: O(1), no lock.
 */
__u64 bpf_cachebpf_key(struct cachebpf_folio *folio) __ksym;

/*
 * Fill in @file with the page that @folio holds.  Returns 0; -ESTALE: it was taken out
 * of its file at this moment.
 * In folio_added(), folio_accessed(), folio_removed() and advise().  Cost: O(1), no lock.
 */
int bpf_cachebpf_file(struct cachebpf_folio *folio, struct cachebpf_file *file) __ksym;

/*
 * Returns whose @folio is: the id of the control group that it is charged to, of those
 * right below the policy's; or the policy's own.  See stat(2) of its directory.
 * With a folio.  Cost: O(levels in between), no lock.
 */
__u64 bpf_cachebpf_owner(struct cachebpf_policy *policy, struct cachebpf_folio *folio) __ksym;

/*
 * Returns a number, never 0, that no other folio has as long as @folio is cached.
 * With a folio.  Cost: O(1), no lock.
 */
__u32 bpf_cachebpf_number(struct cachebpf_folio *folio) __ksym;

/*
 * What for_folio() is made of: begin, the folio or NULL, end.
 * In all callbacks but policy_init() and policy_exit().  Cost: O(1), no lock.
 */
int bpf_iter_cachebpf_folio_new(struct bpf_iter_cachebpf_folio *it, struct cachebpf_policy *policy,
				__u32 number) __ksym;

/* In all callbacks but policy_init() and policy_exit().  Cost: O(1), no lock. */
struct cachebpf_folio *bpf_iter_cachebpf_folio_next(struct bpf_iter_cachebpf_folio *it) __ksym;

/* In all callbacks but policy_init() and policy_exit().  Cost: O(1), no lock. */
void bpf_iter_cachebpf_folio_destroy(struct bpf_iter_cachebpf_folio *it) __ksym;

/*
 * Get memory in buckets of 64 bytes, all 0, as many as it takes for @bytes_per_page, 1
 * to 64, of what the control group can hold.  There are few until one is used; when there
 * have to be more, each becomes two with the same content.  The group is charged for them.
 * Returns 0; -EINVAL: no such number; -EEXIST: called before; -ENOMEM.
 * In policy_init().  Cost: sleeps for memory.
 */
int bpf_cachebpf_buckets_create(struct cachebpf_policy *policy, __u32 bytes_per_page) __ksym;

/*
 * Returns the bucket of @key, which its upper 32 bits choose, to be read and written;
 * NULL if there are no buckets, or @rdwr_buf_size, a constant, is more than 64.
 * In all callbacks but policy_init() and policy_exit().  Cost: O(1), one cache line, no
 * lock: what two processors write at the same time, or one while there come to be more
 * buckets, may be lost.
 */
__u8 *bpf_cachebpf_bucket(struct cachebpf_policy *policy, __u64 key,
			  const __u64 rdwr_buf_size) __ksym;

/*
 * Propose @folio, after all that were proposed before.  Returns 0; -ENOSPC: the request
 * is full now, or was before: no need to go on.
 * In evict_folios().  Cost: O(1), no lock.
 */
int bpf_cachebpf_evict(struct cachebpf_evict *evict, struct cachebpf_folio *folio) __ksym;

/*
 * Offer @folio with a @score: of all that are offered, the request keeps the lowest,
 * exactly, and of equal ones the first.
 * In evict_folios().  Cost: O(1) if it is not kept, else up to 32 steps; no lock.
 */
void bpf_cachebpf_rank(struct cachebpf_evict *evict, struct cachebpf_folio *folio,
		       __s64 score) __ksym;

/*
 * The same for the first @nr_scan folios of @list, all scored by @key, one of
 * CACHEBPF_BY_*; they move to the tail.  Returns 0; -ENOENT: no such list; -EINVAL: no
 * such key.
 * In evict_folios().  Cost: O(nr_scan), much less each than a step of a walk; the lock,
 * for 64 folios at a time.
 */
int bpf_cachebpf_rank_list(struct cachebpf_evict *evict, __u32 list, __u32 nr_scan,
			   __u32 key) __ksym;

/*
 * Tell in @seen of the folio at the head of @list, or with CACHEBPF_ITER_REVERSE of that at
 * the tail, of those that reclaim could take now.  It stays there: move it, or it is the
 * same the next time.  On a list in the order of use that is CACHEBPF_LIST_STAMPED the first
 * 64 that are passed over count as used.  Returns 0; -ENOENT: no such list, or nothing on
 * it; -EINVAL: unknown flags.
 * In evict_folios().  Cost: O(1) and what is passed over; the lock, if there is any folio.
 */
int bpf_cachebpf_first(struct cachebpf_evict *evict, __u32 list, __u32 flags,
		       struct cachebpf_seen *seen) __ksym;

/*
 * What for_each_advised_folio() is made of: begin, the next folio or NULL, end.
 * In advise().  Cost: O(1), no lock.
 */
int bpf_iter_cachebpf_advice_new(struct bpf_iter_cachebpf_advice *it,
				 struct cachebpf_advice *advice) __ksym;

/* In advise().  Cost: O(1), no lock. */
struct cachebpf_folio *bpf_iter_cachebpf_advice_next(struct bpf_iter_cachebpf_advice *it) __ksym;

/* In advise().  Cost: O(1), no lock. */
void bpf_iter_cachebpf_advice_destroy(struct bpf_iter_cachebpf_advice *it) __ksym;

/*
 * Move folios of the range that advise() was not called for yet, one after the other,
 * from the list @from to the tail of @to, and set the first 8 of the policy's bytes of
 * each to @data.  It ends where one is on another list, or after 1024 of them; there
 * it goes on the next time, or the next call of advise() does.  List 0 cannot be @from.
 * Returns the pages that were moved; -ENOENT: no such list.
 * In advise().  Cost: O(1) for each, much less than a call of advise() and a move; the
 * lock, for 64 folios at a time.
 */
int bpf_cachebpf_advice_move(struct cachebpf_advice *advice, __u32 from, __u32 to,
			     __u64 data) __ksym;

/*
 * The same, but each is put where bpf_cachebpf_list_insert() would put it, on a list in
 * order; what it is sorted by is its stamp, which the first 8 bytes become.
 * In advise().  Cost: the same, and that of the searches where they do not belong at
 * the tail; these count as 64 folios each.
 */
int bpf_cachebpf_advice_insert(struct cachebpf_advice *advice, __u32 from, __u32 to) __ksym;

/*
 * Begin a walk; what for_each_folio() is made of, for two walks at a time.  Returns 0;
 * -ENOENT: no such list; -EINVAL: unknown flags; in any case _destroy() has to follow.
 * In evict_folios().  Cost: O(1), the lock.
 */
int bpf_iter_cachebpf_list_new(struct bpf_iter_cachebpf_list *it, struct cachebpf_evict *evict,
			       __u32 list, __u32 nr_max, __u32 flags) __ksym;

/*
 * Returns the next folio of a walk, NULL at its end.
 * In evict_folios().  Cost: O(1) and what is passed over; the lock, for 8 folios at a time.
 */
struct cachebpf_folio *bpf_iter_cachebpf_list_next(struct bpf_iter_cachebpf_list *it) __ksym;

/*
 * End a walk.
 * In evict_folios().  Cost: O(1), the lock.
 */
void bpf_iter_cachebpf_list_destroy(struct bpf_iter_cachebpf_list *it) __ksym;

/* Where to put a folio on a list: where walks begin, */
#define HEAD	false
/* or where they end. */
#define TAIL	true

/*
 * Create a list and note its number in @list; @flags are CACHEBPF_LIST_*.  List 0 is
 * there without that: it has the folios that are on no other one.  Returns 0, or a
 * negative errno for policy_init() to return, see bpf_cachebpf_list_create().
 * In policy_init().  Cost: sleeps for memory.
 */
static __always_inline int list_create(struct cachebpf_policy *policy, __u32 *list, __u32 flags)
{
	int nr = bpf_cachebpf_list_create(policy, flags);

	if (nr < 0)
		return nr;
	*list = nr;
	return 0;
}

/*
 * Walk @list from its head, or as CACHEBPF_ITER_* in @flags say, on the node that is
 * being reclaimed; @folio is, one after the other, each folio that reclaim could take
 * now, @nr_max of them at most (0: all).  In the body it may be moved, evicted or
 * ranked.  Bound a walk with @nr_max rather than with a counter of your own: the
 * verifier would have to follow that counter through every step.
 * In evict_folios().  Cost: see bpf_iter_cachebpf_list_next().  All walks of one request
 * together, and bpf_cachebpf_rank_list(), look at 65536 folios at most, and then end.
 */
#define for_each_folio(folio, evict, list, nr_max, flags) \
	bpf_for_each(cachebpf_list, folio, evict, list, nr_max, flags)

/*
 * @folio is the folio of @policy that has @number now, if there is one: "for" is "if".  It
 * may be another one than it was when the number was noted.
 * In all callbacks but policy_init() and policy_exit().  Cost: O(1), no lock.
 */
#define for_folio(folio, policy, number) bpf_for_each(cachebpf_folio, folio, policy, number)

/* In advise(): @folio is, one after the other, each folio of this call. */
#define for_each_advised_folio(folio, advice) bpf_for_each(cachebpf_advice, folio, advice)

/* Returns the size of @folio in pages.  With a folio.  Cost: O(1), no lock. */
static __always_inline __u32 folio_pages(const struct cachebpf_folio *folio)
{
	return 1U << folio->order;
}

/*
 * Returns the policy's bytes of @folio as a pointer to a @type, of 16 bytes at most;
 * never NULL, but the verifier insists on a test:
 *
 *	struct note *note = folio_data(folio, struct note);
 *
 *	if (note)
 *		note->credit++;
 *
 * With a folio.  Cost: O(1), no lock.
 */
#define folio_data(folio, type) ({						\
	_Static_assert(sizeof(type) <= 16, "a policy has 16 bytes of a folio");	\
	(type *)bpf_cachebpf_data(folio, sizeof(type));				\
})

/*
 * Returns whether @folio was used at all: what was read ahead was not, until somebody
 * reads it.  With a folio.  Cost: O(1), no lock.
 */
static __always_inline bool was_used(const struct cachebpf_folio *folio)
{
	return folio->accesses;
}

/*
 * Returns how often @folio was used since set_uses(), or since the use that brought it
 * in; 32767 at most.  With a folio.  Cost: O(1), no lock.
 */
static __always_inline __u32 uses_since(const struct cachebpf_folio *folio)
{
	__u32 accesses = folio->accesses;

	return accesses > 1 ? accesses - 1 : 0;
}

/*
 * Returns the same as papers count it, in a few bits: @most if it is more.
 * With a folio.  Cost: O(1), no lock.
 */
static __always_inline __u32 frequency(const struct cachebpf_folio *folio, __u32 most)
{
	__u32 uses = uses_since(folio);

	return uses < most ? uses : most;
}

/*
 * Have uses_since() begin anew with @nr, 32767 at most: 0 forgets all uses.  One that
 * comes at the same time may be lost.  With a folio.  Cost: O(1), no lock.
 */
static __always_inline void set_uses(struct cachebpf_folio *folio, __u32 nr)
{
	folio->accesses = nr + 1;
}

/*
 * Add @nr to a CACHEBPF_COUNTER().  In all callbacks.  Cost: O(1), no lock; the processors
 * share one cache line: what comes with each hit the kernel counts better.
 */
static __always_inline void counter_add(__u64 *counter, __u64 nr)
{
	__sync_fetch_and_add(counter, nr);
}

/* Returns the lesser of two numbers that are not negative. */
static __always_inline __u64 min(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* Returns the greater of two numbers that are not negative. */
static __always_inline __u64 max(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

#ifdef CACHEBPF_OWN_ADMISSION
#define __cachebpf_admission
#else
#include "lib/admission.bpf.h"
#define __cachebpf_admission	.admit_folio = (void *)cachebpf_admit,
#endif

#ifdef CACHEBPF_OWN_READAHEAD
#define __cachebpf_readahead
#else
#include "lib/readahead.bpf.h"
#define __cachebpf_readahead	.plan_readahead = (void *)cachebpf_plan,
#endif
