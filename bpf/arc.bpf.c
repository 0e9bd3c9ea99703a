// SPDX-License-Identifier: GPL-2.0-only
/*
 * ARC: a cache that adapts to how much recency and how much frequency matter.
 *
 * T1 has what was used once, T2 what was used again, each in the order of the
 * last use.  B1 and B2 remember as ghosts what was evicted from them.  T1 is to
 * have p pages.  When a folio comes back whose ghost was in B1, T1 was too
 * small, and p grows; if it was in B2, p shrinks; by the more the smaller that
 * ghost list is.  Such a folio goes to T2.  T1 and B1 together remember no more
 * pages than the cache has, and all four lists twice as many.
 *
 * Requests come before the folio for which they make room is known, so the case
 * of the paper in which |T1| = p and that folio is in B2 is decided as the
 * others are.  A hit takes a folio from T1 to T2; within T2 the kernel moves it.
 *
 * Source: Megiddo and Modha, "ARC: a self-tuning, low overhead replacement
 * cache", FAST 2003, figure 4.
 */
/* it has more of them than others, for what they take of memory */
#define GHOSTS_PER_SET	16

#include "lib/ghost.bpf.h"

#define FRACTION	16

enum { B1 = 1, B2 = 2 };

static __u32 T1, T2;
/* pages that T1 is to have, times 2^FRACTION */
static __u64 p;
/* pages that the cache has when it is full */
static __u64 c;

__s32 CACHEBPF_SLEEPABLE_OP(arc_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &T1, CACHEBPF_LIST_NEW_TAIL) ?:
	       list_create(policy, &T2, CACHEBPF_LIST_USED_TAIL) ?:
	       bpf_cachebpf_buckets_create(policy, 6);
}

/*
 * max(1, |@other| / |@hit|), times 2^FRACTION, for each of the @nr pages that have
 * come back out of @hit; they were there, too.
 */
static __u64 delta(__u32 hit, __u32 other, __u64 nr)
{
	return max((ghost_pages(other) << FRACTION) / (ghost_pages(hit) + nr), 1 << FRACTION) * nr;
}

void CACHEBPF_OP(arc_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u64 nr = folio_pages(folio), now = p;

	switch (ghost_take(policy, folio)) {
	case B1:	/* case II */
		p = min(now + delta(B1, B2, nr), c << FRACTION);
		break;
	case B2:	/* case III */
		p = now - min(now, delta(B2, B1, nr));
		break;
	default:	/* case IV: it is in T1 */
		return;
	}
	bpf_cachebpf_list_move(policy, folio, T2, TAIL);
}

/* Case I. */
void CACHEBPF_OP(arc_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	if (folio->list == T1)
		bpf_cachebpf_list_move(policy, folio, T2, TAIL);
}

void CACHEBPF_OP(arc_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u64 nr_T1 = bpf_cachebpf_list_len(policy, T1), nr;
	__u64 nr_T2 = bpf_cachebpf_list_len(policy, T2);

	/* what was read ahead and not used is not missed */
	if (why != CACHEBPF_REMOVED_RECLAIM || !was_used(folio))
		return;
	/* where T1 has all of the cache there is no room in B1 */
	if (folio->list != T1 || nr_T1 < c)
		ghost_make(policy, folio, folio->list == T1 ? B1 : B2, c);
	ghost_limit(B1, c - min(nr_T1, c));
	nr = nr_T1 + nr_T2 + ghost_pages(B1);
	ghost_limit(B2, 2 * c - min(nr, 2 * c));
}

/* Evict the least recently used of @list, as long as it has more than @target pages. */
static bool evict_from(struct cachebpf_policy *policy, struct cachebpf_evict *evict, __u32 list,
		       __u64 target)
{
	__u64 nr = bpf_cachebpf_list_len(policy, list);
	struct cachebpf_folio *folio;

	if (nr <= target)
		return false;
	for_each_folio(folio, evict, list, 0, CACHEBPF_ITER_ROTATE) {
		if (bpf_cachebpf_evict(evict, folio))
			return true;
		nr -= folio_pages(folio);
		if (nr <= target)
			break;
	}
	return false;
}

/* REPLACE(p), as often as it takes. */
void CACHEBPF_OP(arc_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	c = bpf_cachebpf_list_len(policy, T1) + bpf_cachebpf_list_len(policy, T2);

	if (!evict_from(policy, evict, T1, p >> FRACTION) &&
	    !evict_from(policy, evict, T2, 0) && !evict->nr_proposed)
		evict_from(policy, evict, T1, 0);
}

CACHEBPF_POLICY(arc, "Adapts between recency and frequency of use", "FAST 2003",
		.policy_init	= (void *)arc_init,
		.evict_folios	= (void *)arc_evict,
		.folio_added	= (void *)arc_added,
		.folio_accessed	= (void *)arc_accessed,
		.folio_removed	= (void *)arc_removed);
