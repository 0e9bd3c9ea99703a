/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside of mm/cachebpf.
 *
 * Locking.  cachebpf_mutex (policy.c) serializes attach, detach, replacement
 * and cgroup on/offlining.  Everything else finds policies under RCU.  The
 * lock of a policy's node protects list membership and ownership of all
 * entries whose folio lies on that NUMA node; it is irq-safe and nests in the
 * i_pages lock.  Inside it nothing is taken but, by pass_first() (policy.c), the
 * same lock of a policy that is published, where the outer one is of a policy
 * that is not any more, and the lock of a section of the table, the innermost.
 */
#ifndef _MM_CACHEBPF_INTERNAL_H
#define _MM_CACHEBPF_INTERNAL_H

#include <linux/cachebpf.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "table.h"

#define CACHEBPF_MAX_POLICIES	4096
#define CACHEBPF_MAX_LISTS	1023
/* list 0 holds what the policy did not put anywhere */
#define CACHEBPF_UNLISTED	0
/* rejected folios: beyond the lists that a policy can name */
#define CACHEBPF_REJECTED	0xfffd
/* cachebpf_folio.list while folio_added() runs: on no list at all */
#define CACHEBPF_NO_LIST	0xffff
/* never in cachebpf_folio.list */
#define CACHEBPF_NEVER_LIST	0xfffe

#define CACHEBPF_LIST_NEW	(CACHEBPF_LIST_NEW_HEAD | CACHEBPF_LIST_NEW_TAIL)
#define CACHEBPF_LIST_USED	(CACHEBPF_LIST_USED_HEAD | CACHEBPF_LIST_USED_TAIL)
#define CACHEBPF_LIST_FLAGS	(CACHEBPF_LIST_NEW | CACHEBPF_LIST_USED |		\
				 CACHEBPF_LIST_STAMPED | CACHEBPF_LIST_USED_ELSEWHERE)

enum cachebpf_stat {
	CACHEBPF_STAT_HITS,
	CACHEBPF_STAT_MISSES,
	CACHEBPF_STAT_ADDED,
	CACHEBPF_STAT_ADOPTED,
	CACHEBPF_STAT_UNMANAGED,
	CACHEBPF_STAT_REFAULTS,
	CACHEBPF_STAT_ADMIT_ASKED,
	CACHEBPF_STAT_ADMIT_REJECTED,
	CACHEBPF_STAT_ADMIT_ASKED_AGAIN,
	CACHEBPF_STAT_ADMIT_REVERSED,
	CACHEBPF_STAT_READAHEAD_ASKED,
	CACHEBPF_STAT_READAHEAD_DECLINED,
	CACHEBPF_STAT_READAHEAD_CLAMPED,
	CACHEBPF_STAT_READAHEAD_PAGES,
	CACHEBPF_STAT_READAHEAD_PREFETCHED,
	CACHEBPF_STAT_READAHEAD_MARKS_SET,
	CACHEBPF_STAT_READAHEAD_MARKS_HIT,
	CACHEBPF_STAT_READAHEAD_UNUSED,
	CACHEBPF_STAT_READAHEAD_AGAIN,
	/* in the order of enum cachebpf_removed */
	CACHEBPF_STAT_REMOVED,
	CACHEBPF_STAT_REMOVED_LAST = CACHEBPF_STAT_REMOVED + CACHEBPF_NR_REMOVED - 1,
	CACHEBPF_STAT_EVICT_CALLS,
	CACHEBPF_STAT_EVICT_ASKED,
	CACHEBPF_STAT_EVICT_PROPOSED,
	CACHEBPF_STAT_EVICT_ISOLATED,
	CACHEBPF_STAT_EVICT_RECLAIMED,
	CACHEBPF_STAT_EVICT_FALLBACK,
	CACHEBPF_STAT_EVICT_NS,
	CACHEBPF_STAT_REJECT_STALE,
	CACHEBPF_STAT_REJECT_BUSY,
	CACHEBPF_STAT_REJECT_NODE,
	CACHEBPF_STAT_REJECT_PROTECTED,
	CACHEBPF_STAT_REJECT_KEPT,
	CACHEBPF_NR_STATS,
};

#define CACHEBPF_USES_BATCH	32

/* What a policy has on each processor; see uses.c. */
struct cachebpf_pcpu {
	u64	count[CACHEBPF_NR_STATS];
	/* folios used again, whose lists are not in order yet; less than a batch */
	u32	nr_uses;
	u32	uses[CACHEBPF_USES_BATCH];
};

/* An end of a list: the folio there, 0 and NULL if there is none. */
struct cachebpf_end {
	struct cachebpf_folio	*f;
	u32			pfn;
};

/* Folios that follow each other on a list. */
struct cachebpf_run {
	struct cachebpf_end	first;
	struct cachebpf_end	last;
	unsigned long		nr_folios;
	unsigned long		nr_pages;
};

/* One eviction list on one NUMA node; head = front, tail = back. */
struct cachebpf_list {
	struct cachebpf_end	head;
	struct cachebpf_end	tail;
	/* enum cachebpf_list_flags, and where folios go that are used */
	u16			flags;
	u16			elsewhere;
	/* the folio that was sorted in last, if it is still there; 0: none ever was */
	u32			sorted;
	unsigned long		nr_folios;
	unsigned long		nr_pages;
	/* those in progress, whose cursors must not dangle */
	struct hlist_head	walks;
};

struct cachebpf_node {
	/* see the top of this file */
	spinlock_t		lock;
	/* on all lists together */
	unsigned long		nr_pages;
	struct cachebpf_list	**lists;
	/* CACHEBPF_REJECTED */
	struct cachebpf_list	rejected;
	/*
	 * See count_others(): pages that were there beside the policy's, and what the
	 * policy gave of their part, in pages / DUE_UNIT
	 */
	unsigned long		nr_others;
	unsigned long		due;
};

struct cachebpf_hangup;

/* in cachebpf_policy.flags, beside those of enum cachebpf_flags: never ask it again */
#define CACHEBPF_F_EJECTED	BIT_ULL(63)
/* reclaim does not ask */
#define CACHEBPF_NOT_ASKED	(CACHEBPF_F_STOCK_RECLAIM | CACHEBPF_F_EJECTED)

/* What remains of an ejected policy, until the next one is attached to its cgroup. */
struct cachebpf_ejection {
	struct list_head	link;
	struct rcu_head		rcu;
	struct mem_cgroup	*memcg;
	u64			serial;
	char			name[CACHEBPF_NAME_LEN];
	char			reason[120];
};

/* See watchdog.c. */
struct cachebpf_watchdog {
	/* of everything but ns_max */
	spinlock_t		lock;
	/* calls over the time budget, and rounds, in a row; the longest call ever */
	u32			nr_overruns;
	u32			nr_slow;
	u64			ns_max;
	/* proposals of this window: those that were taken, and nonsense */
	u32			nr_taken;
	u32			nr_garbage;
	/* pages that requests fell short of since the counters were looked at */
	unsigned long		nr_missing;
	/* pages of this window: that stock reclaim found there; and how the policy's were before */
	atomic_long_t		nr_stock;
	u64			chosen_before;
	/* until used */
	struct cachebpf_ejection *ejection;
	struct work_struct	work;
};

#define CACHEBPF_BUCKET_SIZE	64

struct cachebpf_bucket_array {
	struct rcu_head		rcu;
	u32			nr;
	u8			buckets[][CACHEBPF_BUCKET_SIZE] __aligned(CACHEBPF_BUCKET_SIZE);
};

/* See buckets.c. */
struct cachebpf_buckets {
	/* NULL if the policy has none */
	struct cachebpf_bucket_array __rcu *array;
	u32			bytes_per_page;
	/* there is no need for more of them before */
	bool			used;
	/* after an attempt to resize it that failed; in jiffies */
	unsigned long		retry_at;
	struct work_struct	work;
};

struct cachebpf_policy {
	struct cachebpf_ops __rcu	*ops;
	u16				id;
	u16				nr_lists;
	/* where folios go that are added */
	u16				new_list;
	bool				new_at_tail;
	/* which callbacks it has */
	bool				hears_added;
	bool				hears_removed;
	bool				hears_uses;
	/* it has lists in the order of use; that or folio_accessed() */
	bool				orders_uses;
	bool				wants_uses;
	/* it has admit_folio() */
	bool				admits;
	/* it has plan_readahead() */
	bool				plans;
	/* it wants to hear of uses through mappings, and there are some; see mapped.c */
	bool				has_mapped;
	/* see unread.c; NULL if there is no memory for that, or it does not plan */
	struct cachebpf_gone		*gone;
	/* there are policies below its cgroup */
	bool				shares;
	u64				flags;
	/* of the keys in the sample, and pages to one of these; 0: there is no sample */
	u64				sample_bound;
	u32				sample_one_in;
	u64				serial;
	u64				cgroup_id;
	unsigned long			nr_updates;
	/* rounds in a row that brought nothing; see cachebpf_reclaim.in_the_way of the last one */
	u32				nr_vain;
	bool				in_the_way;
	char				name[CACHEBPF_NAME_LEN];
	/* where it is attached; holds a css reference while it is */
	struct mem_cgroup		*memcg;
	struct bpf_link			*link;
	struct cachebpf_pcpu __percpu	*pcpu;
	struct cachebpf_account		*account;
	/* until used; protected by cachebpf_mutex */
	struct cachebpf_hangup		*hangup;
	/*
	 * Of the stamps of folios: goes on with each that is added, and each batch of
	 * uses.  What is read at each hit is not beside it.
	 */
	atomic64_t			clock ____cacheline_aligned_in_smp;
	struct cachebpf_watchdog	watchdog;
	struct cachebpf_buckets		buckets;
	/* to adopt what is without an entry, and how long it waits for that; see adopt.c */
	struct delayed_work		rest;
	unsigned long			rest_delay;
	/* when count_others() did, in jiffies; of what it found, pages that could not be adopted */
	unsigned long			counted_at;
	unsigned long			nr_hopeless;
	/* to mark what is cached; see sample.c */
	struct work_struct		marking;
	/* its own, until it is retired, and those of reclaimers; the last one ends it */
	refcount_t			ref;
	struct work_struct		ending;
	struct cachebpf_ops		*ending_ops;
	struct rcu_head			rcu;
	struct cachebpf_node		*nodes[];
};

/* a walk unlocks for a moment after so many folios */
#define CACHEBPF_LOCK_BATCH	64
/* folios that are looked at for the place of one, with the lock held */
#define CACHEBPF_MAX_SORTED	128U
#define CACHEBPF_ITER_BATCH	8

/* A walk over a list; see iter.c. */
struct cachebpf_iter {
	struct hlist_node	link;
	struct cachebpf_evict	*evict;
	struct cachebpf_node	*node;
	struct cachebpf_list	*list;
	/* where to read on, and how many folios to look at and to offer yet */
	u32			cursor;
	u32			nr_left;
	u32			nr_offers;
	u16			list_id;
	u8			flags;
	/* read ahead, of which the first nr_used were offered */
	u8			nr_used:4;
	u8			nr_batch:4;
	struct cachebpf_folio	*batch[CACHEBPF_ITER_BATCH];
};

static inline void cachebpf_count(struct cachebpf_policy *policy, enum cachebpf_stat item, long nr)
{
	this_cpu_add(policy->pcpu->count[item], nr);
}

/* Pages on the node @nid that @policy may be asked for. */
static inline unsigned long cachebpf_pages_on(const struct cachebpf_policy *policy, int nid)
{
	return READ_ONCE(policy->nodes[nid]->nr_pages);
}

/* The node of @policy that the folio of @f lies on. */
static inline struct cachebpf_node *cachebpf_node_of(struct cachebpf_policy *policy,
						     const struct cachebpf_folio *f)
{
	return policy->nodes[page_to_nid(pfn_to_page(cachebpf_folio_pfn(f)))];
}

/* Of @node; it is there. */
static inline struct cachebpf_list *cachebpf_list_of(struct cachebpf_node *node, u16 nr)
{
	return likely(nr != CACHEBPF_REJECTED) ? node->lists[nr] : &node->rejected;
}

/* list.c: eviction lists; all under the node's lock; see list.h too */
int cachebpf_lists_add(struct cachebpf_policy *policy, u32 flags);
void cachebpf_lists_free(struct cachebpf_policy *policy);
void cachebpf_move_to_end(struct cachebpf_list *list, struct cachebpf_folio *f, u32 pfn,
			  bool tail);
void cachebpf_link_sorted(struct cachebpf_node *node, struct cachebpf_folio *f, u16 list_id,
			  int key, u32 nr_max);
void cachebpf_enlist_heir(struct cachebpf_policy *policy, struct cachebpf_folio *f, u16 list_id);
void cachebpf_move_run(struct cachebpf_list *list, struct cachebpf_folio *last);
void cachebpf_move_between(struct cachebpf_node *node, u16 from_id, u16 to_id,
			   const struct cachebpf_run *run);
void cachebpf_list_replace(struct cachebpf_node *node, struct cachebpf_folio *old,
			   struct cachebpf_folio *new);
u16 cachebpf_settled_list(struct cachebpf_node *node, struct cachebpf_folio *f);

/* buckets.c: what a policy remembers of folios that are not cached */
void cachebpf_buckets_resize(struct cachebpf_policy *policy);
void cachebpf_buckets_free(struct cachebpf_policy *policy);
unsigned long cachebpf_buckets_size(struct cachebpf_policy *policy);
unsigned long cachebpf_limit_of(struct mem_cgroup *memcg);

/* @policy has got more folios, or its cgroup is short of memory: has it the right number? */
static inline void cachebpf_check_buckets(struct cachebpf_policy *policy)
{
	if (unlikely(rcu_access_pointer(policy->buckets.array)))
		cachebpf_buckets_resize(policy);
}

/* pages that walks of one request pass over at most: two windows of 128 KiB */
#define CACHEBPF_UNREAD_SPARED	64

/* A request, and what BPF does not see of it. */
struct cachebpf_evict_call {
	struct cachebpf_evict	evict;
	/* the round, if some of the policy's folios are protected; else NULL */
	struct cachebpf_reclaim	*guard;
	/* folios that walks have passed over since nobody has used them yet */
	u32			nr_spared;
	u32			spared[CACHEBPF_UNREAD_SPARED];
	/* one more than can stay: a new one is sorted in before the last is dropped */
	struct cachebpf_candidate {
		s64			score;
		struct cachebpf_folio	*folio;
	} candidates[CACHEBPF_BATCH + 1];
};

static inline struct cachebpf_evict_call *cachebpf_call(struct cachebpf_evict *evict)
{
	return container_of(evict, struct cachebpf_evict_call, evict);
}

/* propose.c: what a policy proposes to a request */
bool cachebpf_worth_offering(struct cachebpf_evict *evict, struct folio *folio);

/* reclaim.c: whose folios are not to be taken, and who takes one */
void cachebpf_reclaimed(struct cachebpf_policy *policy, unsigned long nr);
bool cachebpf_is_protected(struct cachebpf_reclaim *r, struct mem_cgroup *memcg);
void cachebpf_reject_candidate(struct cachebpf_reclaim *r, struct folio *folio,
			       enum cachebpf_stat why);

/* uses.c: what a hit does, and lists in the order of use */
void cachebpf_apply_uses(struct cachebpf_policy *policy);
void cachebpf_apply_batch(struct cachebpf_policy *policy);

/* The folio @pfn was used again: note that it has to move; in an RCU read side. */
static __always_inline void cachebpf_note_use(struct cachebpf_policy *policy,
					      struct cachebpf_pcpu __percpu *cpu, u32 pfn)
{
	unsigned long nr;

	preempt_disable();
	nr = __this_cpu_read(cpu->nr_uses);
	__this_cpu_write(cpu->uses[nr], pfn);
	nr = (nr + 1) % CACHEBPF_USES_BATCH;
	__this_cpu_write(cpu->nr_uses, nr);
	if (unlikely(!nr))
		cachebpf_apply_batch(policy);
	preempt_enable();
}

/* mapped.c: uses through mappings */
void cachebpf_looking_start(void);
void cachebpf_looking_stop(void);

/* folio.c: the life of a managed folio */
struct folio *cachebpf_get_folio(struct page *page);
void cachebpf_introduce(struct cachebpf_policy *policy, struct cachebpf_folio *f,
			struct folio *folio, u32 why);
void cachebpf_manage_cached(struct cachebpf_policy *policy, struct folio *folio, bool again);

/* readahead.c: what is read of a file */
void cachebpf_readahead_start(struct cachebpf_policy *policy);
void cachebpf_readahead_stop(struct cachebpf_policy *policy);

/* unread.c: folios that are read in, and not used yet */

/* cachebpf_folio.unread: walks do not pass over it any more, */
#define CACHEBPF_UNREAD_NO_MORE	1U
/* or those of so many requests */
#define CACHEBPF_UNREAD_NEW	(CACHEBPF_UNREAD_NO_MORE + 3)

void cachebpf_unread_start(struct cachebpf_policy *policy);
void cachebpf_unread_free(struct cachebpf_policy *policy);
void cachebpf_unread_gone(struct cachebpf_policy *policy, struct folio *folio,
			  enum cachebpf_removed why);
void cachebpf_unread_again(struct cachebpf_policy *policy, struct folio *folio);
void cachebpf_unread_used(struct cachebpf_policy *policy, struct cachebpf_folio *f);
bool __cachebpf_spare_unread(struct cachebpf_evict *evict, struct cachebpf_folio *f);

/* Is a walk for @evict to pass over @f?  Under the node's lock. */
static __always_inline bool cachebpf_spare_unread(struct cachebpf_evict *evict,
						  struct cachebpf_folio *f)
{
	return unlikely(f->unread) && __cachebpf_spare_unread(evict, f);
}

/* admit.c: folios that the policy does not want */
bool cachebpf_in_fault(void);
void cachebpf_admission_start(struct cachebpf_policy *policy);
void cachebpf_admission_stop(struct cachebpf_policy *policy);
bool cachebpf_admit(struct cachebpf_policy *policy, struct folio *folio,
		    struct cachebpf_folio *f, gfp_t gfp);
void cachebpf_rejected_used(struct cachebpf_policy *policy, struct folio *folio,
			    struct cachebpf_folio *f);
bool cachebpf_some_rejected_used(struct cachebpf_policy *policy, int nid);
void cachebpf_offer_rejected(struct cachebpf_evict *evict, unsigned long *nr_left,
			     unsigned long nr_spared);

/* For a callback that is about a folio which the caller has locked or referenced. */
static inline struct cachebpf_held_folio *cachebpf_held(struct cachebpf_folio *f)
{
	return container_of(f, struct cachebpf_held_folio, f);
}

/* Always false while no policy has admit_folio(): then it is one static branch. */
static inline bool cachebpf_is_rejected(const struct cachebpf_folio *f)
{
	return cachebpf_admission_enabled() && READ_ONCE(f->list) == CACHEBPF_REJECTED;
}

static inline unsigned long cachebpf_nr_rejected(struct cachebpf_policy *policy, int nid)
{
	return READ_ONCE(policy->nodes[nid]->rejected.nr_folios);
}

/* kfunc.c */
u64 cachebpf_key_of(struct folio *folio, unsigned long nr);

/* sample.c: pages of which each use is told */
void cachebpf_init_sample(struct cachebpf_policy *policy);
bool cachebpf_in_sample(const struct cachebpf_policy *policy, const struct cachebpf_folio *f);
void cachebpf_tell_used(struct cachebpf_policy *policy, const struct cachebpf_folio *f);
void cachebpf_tell_gone(struct cachebpf_policy *policy, const struct cachebpf_folio *f,
			unsigned long first, unsigned long nr);
u64 cachebpf_sample_read(struct cgroup_subsys_state *css, struct cftype *cft);
int cachebpf_sample_write(struct cgroup_subsys_state *css, struct cftype *cft, u64 one_in);

/*
 * Is @f to be marked for @policy, which is about to own it, or owns it under the
 * node's lock; in an RCU read side in which it becomes @policy's, see mark_cached().
 */
static __always_inline bool cachebpf_to_sample(const struct cachebpf_policy *policy,
					       const struct cachebpf_folio *f)
{
	return unlikely(READ_ONCE(policy->sample_bound)) && cachebpf_in_sample(policy, f);
}

/* advise.c: what programs say */
void cachebpf_file_of(struct cachebpf_file *file, const struct address_space *mapping,
		      pgoff_t index);

/* adopt.c: what was cached before a policy came, and what it could not have when it came in */
void cachebpf_adopt_cached(struct cachebpf_policy *policy, bool again);
void cachebpf_adopt_managed(struct cachebpf_policy *policy);
void cachebpf_init_rest(struct cachebpf_policy *policy);
void cachebpf_adopt_later(struct cachebpf_policy *policy);
void cachebpf_lacks_entry(struct cachebpf_policy *policy, struct folio *folio);

/* ops.c */
extern struct rw_semaphore cachebpf_changes;

/* policy.c: policies and the cgroups they serve */
extern struct cachebpf_policy __rcu *cachebpf_policies[CACHEBPF_MAX_POLICIES];

/* NULL if there is none; there is none with the number 0. */
static inline struct cachebpf_policy *cachebpf_policy_by_id(u16 id)
{
	return rcu_dereference(cachebpf_policies[id]);
}

/* The policy that does manage @f, which may be gone as soon as this returns. */
static inline struct cachebpf_policy *cachebpf_owner_of(const struct cachebpf_folio *f)
{
	/* pairs with the release that made the rest of the entry valid */
	return cachebpf_policy_by_id(smp_load_acquire(&f->owner));
}

/* Is @f an entry of @policy?  Under the node's lock, which does not say so. */
static __always_inline bool cachebpf_owns(const struct cachebpf_policy *policy,
					  const struct cachebpf_folio *f)
{
	/* the lock does not order what claim_entry() has written before */
	return smp_load_acquire(&f->owner) == policy->id;
}

/*
 * The policy that has to manage @folio, which is locked, referenced, or on a
 * list under its node's lock.  Entries are only ever given to it, and in the
 * RCU read side that asked: when a grace period has gone by since a policy
 * became the effective one of a cgroup, no folio there comes to another one.
 */
static __always_inline struct cachebpf_policy *cachebpf_policy_of(struct folio *folio)
{
	struct mem_cgroup *memcg;

	if (unlikely(!folio_is_file_lru(folio)))
		return NULL;
	memcg = folio_memcg(folio);
	return memcg ? rcu_dereference(memcg->cachebpf) : NULL;
}

int cachebpf_policy_attach(struct cachebpf_ops *ops, struct bpf_link *link);
int cachebpf_policy_replace(struct cachebpf_ops *ops, struct cachebpf_ops *old,
			    struct bpf_link *link);
void cachebpf_policy_detach(struct cachebpf_ops *ops);
int cachebpf_policy_sample(struct mem_cgroup *memcg, u32 one_in);
void cachebpf_policy_expel(struct cachebpf_policy *policy);
void cachebpf_policy_put(struct cachebpf_policy *policy);

/* watchdog.c: policies that do not do their work */
extern const struct attribute_group cachebpf_watchdog_group;
extern atomic64_t cachebpf_nr_ejected;
extern u32 cachebpf_budget_us;
int cachebpf_watchdog_init(struct cachebpf_policy *policy);
void cachebpf_watchdog_free(struct cachebpf_policy *policy);
void cachebpf_ejection_publish(struct cachebpf_policy *policy);
void cachebpf_ejection_forget(struct mem_cgroup *memcg);
struct cachebpf_ejection *cachebpf_ejection_of(struct mem_cgroup *memcg);
void cachebpf_watchdog_overrun(struct cachebpf_policy *policy, u64 ns, u64 ran_before);
void cachebpf_watchdog_round(struct cachebpf_reclaim *r, unsigned long nr_reclaimed);

/*
 * A call of evict_folios() took @ns; @ran_before is the current task's
 * sum_exec_runtime as it was before.
 */
static inline void cachebpf_watchdog_call(struct cachebpf_policy *policy, u64 ns, u64 ran_before)
{
	struct cachebpf_watchdog *w = &policy->watchdog;

	/* of two calls that race the longer one may be forgotten */
	if (ns > READ_ONCE(w->ns_max))
		WRITE_ONCE(w->ns_max, ns);
	if (unlikely(ns > READ_ONCE(cachebpf_budget_us) * (u64)NSEC_PER_USEC ||
		     READ_ONCE(w->nr_overruns)))
		cachebpf_watchdog_overrun(policy, ns, ran_before);
}

/* stat.c */
u64 cachebpf_stat_sum(struct cachebpf_policy *policy, enum cachebpf_stat item);
extern atomic64_t cachebpf_nr_attached, cachebpf_nr_detached, cachebpf_nr_updated;

#endif /* _MM_CACHEBPF_INTERNAL_H */
