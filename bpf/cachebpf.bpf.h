/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a page cache eviction policy is written with.
 *
 * A policy is one file NAME.bpf.c that defines callbacks and ends with
 * CACHEBPF_POLICY().  The kernel's side of everything here, with units, ranges
 * and errors, is documented in include/linux/cachebpf.h of the kernel and, for
 * the functions, in kfunc.c, iter.c, propose.c and buckets.c of its mm/cachebpf.
 *
 * The same file runs in the kernel and in the simulator (CACHEBPF_SIM), where
 * all policies are linked into one program: keep functions and globals static,
 * except for maps, whose first member has to be their type.  A policy NAME that
 * posts to a ring buffer called cachebpf_events has the program
 *
 *	SEC("syscall") int NAME_reconfigure(void *ctx)
 *
 * run for it, soon (in the simulator: when the callback has returned).
 */
#pragma once

#ifdef CACHEBPF_SIM
#include "host.h"
#else
#include "kernel.bpf.h"
#endif

/* cachebpf_ops.flags */
enum {
	CACHEBPF_F_STOCK_RECLAIM	= 1 << 0,
};

/* list_create(): what the kernel does with a list by itself */
enum {
	CACHEBPF_LIST_NEW_HEAD		= 1 << 0,
	CACHEBPF_LIST_NEW_TAIL		= 1 << 1,
	CACHEBPF_LIST_USED_HEAD		= 1 << 2,
	CACHEBPF_LIST_USED_TAIL		= 1 << 3,
};

/* bpf_cachebpf_rank_list(): what the score is */
enum {
	CACHEBPF_BY_ACCESSES,
	CACHEBPF_BY_DATA,
};

/* folio_added(): why */
enum {
	CACHEBPF_ADDED_REFAULT		= 1 << 0,
	CACHEBPF_ADDED_ADOPTED		= 1 << 1,
	CACHEBPF_ADDED_ADMITTED		= 1 << 2,
	CACHEBPF_ADDED_WORKINGSET	= 1 << 3,
};

/* cachebpf_admission.flags */
enum {
	CACHEBPF_ADMISSION_READ		= 1 << 0,
	CACHEBPF_ADMISSION_WRITE	= 1 << 1,
	CACHEBPF_ADMISSION_READAHEAD	= 1 << 2,
	CACHEBPF_ADMISSION_FAULT	= 1 << 3,
	CACHEBPF_ADMISSION_REUSE	= 1 << 4,
};

/* folio_removed(): why */
enum {
	CACHEBPF_REMOVED_RECLAIM,
	CACHEBPF_REMOVED_TRUNCATE,
	CACHEBPF_REMOVED_INVALIDATE,
	CACHEBPF_REMOVED_MIGRATE,
	CACHEBPF_REMOVED_HANDOVER,
};

/* bpf_for_each(cachebpf_list, ...): flags */
enum {
	CACHEBPF_ITER_REVERSE		= 1 << 0,
	CACHEBPF_ITER_ROTATE		= 1 << 1,
};

/* a folio that enters the cache, on behalf of the current task */
struct cachebpf_admission {
	__u64 ino;
	/* in bytes */
	__u64 pos;
	/* as in stat(2) */
	__u32 dev;
	__u32 nr_pages;
	__u32 flags;
} __kernel_type;

struct cachebpf_ops {
	__s32 (*policy_init)(struct cachebpf_policy *policy);
	void (*policy_exit)(struct cachebpf_policy *policy);
	void (*evict_folios)(struct cachebpf_policy *policy, struct cachebpf_evict *evict);
	void (*folio_added)(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 why);
	void (*folio_accessed)(struct cachebpf_policy *policy, struct cachebpf_folio *folio);
	void (*folio_removed)(struct cachebpf_policy *policy, struct cachebpf_folio *folio,
			      __u32 why);
	/* true: admit it; else it is dropped behind its reader and reclaimed first */
	bool (*admit_folio)(struct cachebpf_policy *policy, struct cachebpf_admission *admission);
	__u64 cgroup_id;
	__u64 flags;
	char name[16];
};

struct bpf_iter_cachebpf_list {
	__u64 __opaque[15];
} __attribute__((aligned(8)));

int bpf_cachebpf_list_create(struct cachebpf_policy *policy, __u32 flags) __ksym;
int bpf_cachebpf_list_add(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 list,
			  bool tail) __ksym;
int bpf_cachebpf_list_move(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 list,
			   bool tail) __ksym;
int bpf_cachebpf_list_del(struct cachebpf_policy *policy, struct cachebpf_folio *folio) __ksym;
__u64 bpf_cachebpf_list_len(struct cachebpf_policy *policy, __u32 list) __ksym;
__u8 *bpf_cachebpf_data(struct cachebpf_folio *folio, const __u64 rdwr_buf_size) __ksym;
/*
 * A hash of device, inode, generation and index: the same when the folio comes
 * back.  Not known any more in evict_folios(): note in the policy's bytes what
 * is needed there.
 */
__u64 bpf_cachebpf_key(struct cachebpf_folio *folio) __ksym;
/*
 * In policy_init(), once: memory in buckets of 64 bytes, zeroed, as many as it
 * takes for @bytes_per_page of what the cgroup can hold.  When there have to be
 * more, each becomes two with the same content.
 */
int bpf_cachebpf_buckets_create(struct cachebpf_policy *policy, __u32 bytes_per_page) __ksym;
/* The bucket that @key hashes to, by its upper bits; NULL if there is none. */
__u8 *bpf_cachebpf_bucket(struct cachebpf_policy *policy, __u64 key,
			  const __u64 rdwr_buf_size) __ksym;
int bpf_cachebpf_evict(struct cachebpf_evict *evict, struct cachebpf_folio *folio) __ksym;
void bpf_cachebpf_rank(struct cachebpf_evict *evict, struct cachebpf_folio *folio,
		       __s64 score) __ksym;
int bpf_cachebpf_rank_list(struct cachebpf_evict *evict, __u32 list, __u32 nr_scan,
			   __u32 key) __ksym;

int bpf_iter_cachebpf_list_new(struct bpf_iter_cachebpf_list *it, struct cachebpf_evict *evict,
			       __u32 list, __u32 nr_max, __u32 flags) __ksym;
struct cachebpf_folio *bpf_iter_cachebpf_list_next(struct bpf_iter_cachebpf_list *it) __ksym;
void bpf_iter_cachebpf_list_destroy(struct bpf_iter_cachebpf_list *it) __ksym;

/*
 * In policy_init(): create a list and note its number in @list; @flags are
 * CACHEBPF_LIST_*.  Returns 0 or a negative errno, to be returned in turn.
 * List 0 is there without that: it has the folios that are on no other one.
 */
static __always_inline int list_create(struct cachebpf_policy *policy, __u32 *list, __u32 flags)
{
	int nr = bpf_cachebpf_list_create(policy, flags);

	if (nr < 0)
		return nr;
	*list = nr;
	return 0;
}

/* Where to put a folio on a list. */
#define HEAD	false
#define TAIL	true

/*
 * Walk @list from its head, or as CACHEBPF_ITER_* in @flags say; @folio is, one
 * after the other, each folio that reclaim could take now, @nr_max of them at
 * most (0: all).  Bound a walk with @nr_max rather than with a counter of your
 * own: the verifier would have to follow that counter through every step.  All
 * walks of one request together look at 65536 folios at most, and then end.
 */
#define for_each_folio(folio, evict, list, nr_max, flags) \
	bpf_for_each(cachebpf_list, folio, evict, list, nr_max, flags)

/* The lesser, and the greater, of two numbers that are not negative. */
static __always_inline __u64 min(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __always_inline __u64 max(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

static __always_inline __u32 folio_pages(const struct cachebpf_folio *folio)
{
	return 1U << folio->order;
}

/*
 * The policy's bytes of @folio as a @type, 16 bytes at most; NULL if there are
 * none, which never happens, but the verifier wants it tested:
 *
 *	struct note *note = folio_data(folio, struct note);
 *
 *	if (note)
 *		note->credit++;
 */
#define folio_data(folio, type) ({						\
	_Static_assert(sizeof(type) <= 16, "a folio has 16 bytes for its policy"); \
	(type *)bpf_cachebpf_data(folio, sizeof(type));				\
})

/* Was @folio used at all?  What was read ahead was not, until somebody reads it. */
static __always_inline bool was_used(const struct cachebpf_folio *folio)
{
	return folio->accesses;
}

/* How often @folio was used since set_uses(), or since the use that brought it in. */
static __always_inline __u32 uses_since(const struct cachebpf_folio *folio)
{
	__u32 accesses = folio->accesses;

	return accesses > 1 ? accesses - 1 : 0;
}

/* The same, as papers count it with few bits: @max if it is more. */
static __always_inline __u32 frequency(const struct cachebpf_folio *folio, __u32 max_frequency)
{
	__u32 uses = uses_since(folio);

	return uses < max_frequency ? uses : max_frequency;
}

/* From now on uses_since() begins with @nr, up to 32767. */
static __always_inline void set_uses(struct cachebpf_folio *folio, __u32 nr)
{
	folio->accesses = nr + 1;
}

#ifdef CACHEBPF_OWN_ADMISSION
#define __cachebpf_admission
#else
#include "lib/admission.bpf.h"
#define __cachebpf_admission	.admit_folio = (void *)cachebpf_admit,
#endif
