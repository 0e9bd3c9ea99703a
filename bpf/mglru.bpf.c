// SPDX-License-Identifier: GPL-2.0-only
/*
 * MGLRU: the kernel's multi-generational LRU, for what is read and written.
 *
 * Up to four generations, numbered from min_seq, the oldest, to max_seq.  New
 * folios come into one of the oldest, at the young end; a use only counts.  A
 * folio has come to a tier by its uses: none or one, two, up to four, more.
 * Requests take from the old end of the oldest generation; what is in a tier
 * that is protected moves on to the next one instead, its uses forgotten.  A
 * tier is protected if it, and those above, had refaults at more than twice the
 * rate of the lowest tier; only those count which were evicted from the present
 * oldest generation, and a ghost tells.  What that one leaves behind when it has
 * run empty weighs half from then on.  A new youngest generation begins when
 * only two are left, or, in a small cache, when they are out of proportion.
 *
 * Source: Linux 6.12, mm/vmscan.c and mm/workingset.c, whose names are used here;
 * Documentation/mm/multigen_lru.rst; cache_ext, its MGLRU policy.  Page tables
 * are not looked at.
 */
#include "cachebpf.bpf.h"

#define MAX_NR_GENS	4
#define MIN_NR_GENS	2	/* without which nothing is evicted */
#define MAX_NR_TIERS	4
#define MAX_REFS	4	/* uses beyond the first that are told apart */
#define MIN_LRU_BATCH	64	/* refaults: fewer say nothing */
#define LAZY_PAGES	4096	/* 1 << DEF_PRIORITY: more than that, and aging is put off */
#define GHOSTS		16

static __u32 lists[MAX_NR_GENS];
static __u64 min_seq, max_seq = MAX_NR_GENS - 1;

/* of the present oldest generation, and, halved each time, of those before */
static struct ctrl_pos {
	__u64 refaulted;
	__u64 total;	/* evicted or protected */
} tiers[MAX_NR_TIERS];

/* in a bucket; no ghost: all 0 */
struct ghost {
	__u32 fingerprint : 20, seq : 8, refs_plus_1 : 4;
};

/* Of @folio; in its bytes is how many of its uses to forget, or to add if negative. */
static __always_inline __s32 folio_lru_refs(struct cachebpf_folio *folio)
{
	__s32 *forgotten = folio_data(folio, __s32);
	__s32 refs = (__s32)folio->accesses - 1 - (forgotten ? *forgotten : 0);

	return refs < 0 ? 0 : refs > MAX_REFS ? MAX_REFS : refs;
}

static __always_inline void set_refs(struct cachebpf_folio *folio, __s32 refs)
{
	__s32 *forgotten = folio_data(folio, __s32);

	if (forgotten)
		*forgotten = (__s32)folio->accesses - 1 - refs;
}

/* order_base_2(refs + 1) */
static __always_inline __u32 lru_tier_from_refs(__s32 refs)
{
	return (refs > 0) + (refs > 1) + (refs > 3);
}

static __always_inline __u32 list_of(__u64 seq)
{
	return lists[seq % MAX_NR_GENS];
}

static __always_inline __u64 size_of(struct cachebpf_policy *policy, __u64 seq)
{
	return bpf_cachebpf_list_len(policy, list_of(seq));
}

/* Has @pv few refaults, or at most @gain times the rate of @sp?  Then it is not protected. */
static __always_inline bool positive_ctrl_err(const struct ctrl_pos *sp, const struct ctrl_pos *pv,
					      __u64 gain)
{
	return pv->refaulted < MIN_LRU_BATCH ||
	       pv->refaulted * (sp->total + MIN_LRU_BATCH) <= (sp->refaulted + 1) * pv->total * gain;
}

/* The last tier that is not protected: the refaults are steered towards the same rate in all. */
static __always_inline __u32 get_tier_idx(void)
{
	__u32 tier;

	for (tier = 1; tier < MAX_NR_TIERS; tier++)
		if (!positive_ctrl_err(&tiers[0], &tiers[tier], 2))
			break;
	return tier - 1;
}

/* @folio comes; was it evicted from the present oldest generation? */
static __always_inline void lru_gen_refault(struct cachebpf_policy *policy,
					    struct cachebpf_folio *folio)
{
	__u64 key = bpf_cachebpf_key(folio);
	struct ghost *ghosts = (void *)bpf_cachebpf_bucket(policy, key, 64), ghost;

	for (int i = 0; ghosts && i < GHOSTS; i++) {
		ghost = ghosts[i];
		if (!ghost.refs_plus_1 || ghost.fingerprint != (key & 0xfffff))
			continue;
		ghosts[i] = (struct ghost) {};
		if (ghost.seq != (min_seq & 0xff))
			continue;
		tiers[lru_tier_from_refs(ghost.refs_plus_1 - 1)].refaulted += folio_pages(folio);
		/* had it come sooner it would have been protected */
		if (ghost.refs_plus_1 >= MAX_REFS)
			set_refs(folio, MAX_REFS);
		return;
	}
}

/* Leave a ghost of @folio, in place of one that is good for nothing or of any. */
static __always_inline void lru_gen_eviction(struct cachebpf_policy *policy,
					     struct cachebpf_folio *folio, __s32 refs)
{
	__u64 key = bpf_cachebpf_key(folio);
	struct ghost *ghosts = (void *)bpf_cachebpf_bucket(policy, key, 64);
	__u32 victim = bpf_get_prandom_u32() % GHOSTS;

	if (!ghosts)
		return;
	for (int i = 0; i < GHOSTS; i++)
		if (!ghosts[i].refs_plus_1 || ghosts[i].seq != (min_seq & 0xff))
			victim = i;
	ghosts[victim % GHOSTS] = (struct ghost) {
		.fingerprint = key, .seq = min_seq, .refs_plus_1 = refs + 1,
	};
}

void CACHEBPF_OP(mglru_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u64 seq = min_seq;

	if (seq + MIN_NR_GENS < max_seq)
		seq++;
	bpf_cachebpf_list_add(policy, folio, list_of(seq), TAIL);
	if (!(why & CACHEBPF_ADDED_ADOPTED))
		lru_gen_refault(policy, folio);
}

void CACHEBPF_OP(mglru_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__s32 refs = folio_lru_refs(folio);

	if (why != CACHEBPF_REMOVED_RECLAIM)
		return;
	tiers[lru_tier_from_refs(refs)].total += folio_pages(folio);
	lru_gen_eviction(policy, folio, refs);
}

/*
 * The oldest generation, @seq, is no more; what it leaves becomes young again with its list.
 * Of several requests that find so one says it.
 */
static __always_inline void try_to_inc_min_seq(__u64 seq)
{
	int i;

	if (!__sync_bool_compare_and_swap(&min_seq, seq, seq + 1))
		return;
	for (i = 0; i < MAX_NR_TIERS; i++) {
		tiers[i].refaulted /= 2;
		tiers[i].total /= 2;
	}
}

static __always_inline __u64 nr_cached(struct cachebpf_policy *policy)
{
	return size_of(policy, 0) + size_of(policy, 1) + size_of(policy, 2) + size_of(policy, 3);
}

/* Is it time for a new generation? */
static __always_inline bool should_run_aging(struct cachebpf_policy *policy)
{
	__s64 nr_gens = max_seq - min_seq + 1;
	__u64 total = nr_cached(policy);

	if (nr_gens != MIN_NR_GENS + 1)
		return nr_gens <= MIN_NR_GENS;
	return total < LAZY_PAGES && (size_of(policy, max_seq) * MIN_NR_GENS > total ||
				      size_of(policy, min_seq) * (MIN_NR_GENS + 2) < total);
}

/* If @folio is protected, it moves on from generation @seq to the next.  Returns whether it is. */
static __always_inline bool sort_folio(struct cachebpf_policy *policy, struct cachebpf_folio *folio,
				       __u64 seq, __u32 tier_idx)
{
	__s32 refs = folio_lru_refs(folio);
	__u32 tier = lru_tier_from_refs(refs);

	if (tier <= tier_idx && refs != MAX_REFS)
		return false;
	tiers[tier].total += folio_pages(folio);
	/* and do not let it saturate; 0 is for what nobody has used yet */
	folio->accesses = was_used(folio);
	set_refs(folio, -1);
	bpf_cachebpf_list_move(policy, folio, list_of(seq + 1), HEAD);
	return true;
}

/* Returns whether the request is full; else everything in the generation was looked at. */
static __always_inline bool scan_folios(struct cachebpf_policy *policy,
					struct cachebpf_evict *evict, __u64 seq)
{
	__u32 tier_idx = get_tier_idx();
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, list_of(seq), 0, CACHEBPF_ITER_ROTATE)
		if (!sort_folio(policy, folio, seq, tier_idx) && bpf_cachebpf_evict(evict, folio))
			return true;
	return false;
}

void CACHEBPF_OP(mglru_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u64 seq = min_seq, oldest, newest;

	bpf_repeat(MAX_NR_GENS) {
		newest = max_seq;
		if (should_run_aging(policy))
			__sync_bool_compare_and_swap(&max_seq, newest, newest + 1);
		if (seq >= max_seq || scan_folios(policy, evict, seq))
			return;
		seq++;
		/* few are left: busy, or proposed now; or many, if they lie on another node */
		oldest = min_seq;
		if (oldest + MIN_NR_GENS <= max_seq &&
		    size_of(policy, oldest) <= nr_cached(policy) / 4)
			try_to_inc_min_seq(oldest);
	}
}

__s32 CACHEBPF_SLEEPABLE_OP(mglru_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &lists[0], 0) ?: list_create(policy, &lists[1], 0) ?:
	       list_create(policy, &lists[2], 0) ?: list_create(policy, &lists[3], 0) ?:
	       bpf_cachebpf_buckets_create(policy, 8);
}

CACHEBPF_POLICY(mglru, "The kernel's multi-generational LRU, by reads and writes",
		"Linux 6.12; cache_ext, MGLRU",
		.policy_init	= (void *)mglru_init,
		.evict_folios	= (void *)mglru_evict,
		.folio_added	= (void *)mglru_added,
		.folio_removed	= (void *)mglru_removed);
