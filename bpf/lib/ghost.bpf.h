/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ghosts: which folios were evicted not long ago, without the folios.
 *
 * A ghost is 4 bytes in the set, a part of a bucket or all of it, that its
 * folio's key hashes to: a fingerprint (one comparison in 262144 is a mistake),
 * its queue, a mark that means what the policy likes, and when it was made, in
 * units of the queue.  Where a set is full its oldest ghost makes room.  Sets are
 * searched without branches: the verifier would follow each both ways, slot after
 * slot.
 *
 * A unit ends when ghosts for 1/64 of the cache were made in it.  A queue counts
 * what is left of each unit, so it knows its length in pages, and forgets its
 * oldest ghosts a unit at a time: in buckets, they stay and mean nothing.
 */
#pragma once

#include "../cachebpf.bpf.h"
#include "branchless.bpf.h"

#define GHOSTS_PER_BUCKET	16
/* of all or half of a bucket: costs more, or loses more ghosts before their time */
#ifndef GHOSTS_PER_SET
#define GHOSTS_PER_SET		8
#endif
/* numbered from 1; 0 is no ghost */
#define GHOST_QUEUES		4
#define GHOST_UNITS_PER_CACHE	64
/* that a queue can have, and what a ghost knows of the number of its unit */
#define GHOST_UNITS		512
#define GHOST_UNIT_BITS		11
#define GHOST_UNIT_MASK		((1 << GHOST_UNIT_BITS) - 1)

#define GHOST_FINGERPRINT	0x3ffff
/* with the number of a queue: the ghost is marked */
#define GHOST_MARK		4

union ghost {
	struct {
		__u32 fingerprint : 18, queue : 2, mark : 1, unit : GHOST_UNIT_BITS;
	};
	__u32 word;
};

static struct ghost_queue {
	/* pages that its ghosts stand for, and how they are spread over its units */
	__s32 nr_pages, nr_of_unit[GHOST_UNITS];
	/* pages whose ghosts were made in the newest unit */
	__u32 nr_made;
	__u32 oldest, newest;
} ghost_queues[GHOST_QUEUES] = {
	/* so that what is no ghost, all 0, is one that was forgotten */
	[0] = { .oldest = 1, .newest = 1 },
};

/* In units of its queue, from 0 for the newest. */
static __always_inline __u32 ghost_age(union ghost ghost)
{
	return (ghost_queues[ghost.queue].newest - ghost.unit) & GHOST_UNIT_MASK;
}

/* 1 if there is none, or it was forgotten, else 0. */
static __always_inline __u32 ghost_gone(union ghost ghost)
{
	struct ghost_queue *q = &ghost_queues[ghost.queue];

	return bl_less(q->newest - q->oldest, ghost_age(ghost));
}

/* The ghosts among which that of @key is, or would be; NULL if there are none. */
static __always_inline union ghost *ghost_set(struct cachebpf_policy *policy, __u64 key)
{
	union ghost *ghosts = (void *)bpf_cachebpf_bucket(policy, key, 64);
	__u32 nr = key / (GHOST_FINGERPRINT + 1) % (GHOSTS_PER_BUCKET / GHOSTS_PER_SET);

	return ghosts ? ghosts + nr * GHOSTS_PER_SET : NULL;
}

/* Atomically, or lost updates would add up. */
static __always_inline void ghost_count(struct ghost_queue *q, __u32 unit, __s32 nr_pages)
{
	__sync_fetch_and_add(&q->nr_of_unit[unit % GHOST_UNITS], nr_pages);
	__sync_fetch_and_add(&q->nr_pages, nr_pages);
}

static __always_inline __u64 ghost_pages(__u32 queue)
{
	/* what others are just counting may be missing */
	return bl_positive(ghost_queues[queue].nr_pages);
}

/* Forget the oldest ghosts of @queue; if these are the newest as well, a new unit begins. */
static __always_inline void ghost_forget(__u32 queue)
{
	struct ghost_queue *q = &ghost_queues[queue];
	__u32 oldest = q->oldest;
	__s32 nr = __sync_lock_test_and_set(&q->nr_of_unit[oldest % GHOST_UNITS], 0);

	if (oldest == q->newest) {
		q->newest = oldest + 1;
		q->nr_made = 0;
	}
	q->oldest = oldest + 1;
	__sync_fetch_and_add(&q->nr_pages, -nr);
}

/* Forget ghosts of @queue until it has no more than @max pages; if there are many, next time. */
static __always_inline void ghost_limit(__u32 queue, __u64 max)
{
	if (ghost_pages(queue) <= max)
		return;
	bpf_repeat(GHOST_UNITS_PER_CACHE) {
		ghost_forget(queue);
		if (ghost_pages(queue) <= max)
			break;
	}
}

/*
 * In folio_removed(): leave a ghost of @folio in the queue that @where names, with
 * GHOST_MARK or without; the cache has @nr_cached pages.
 */
static __always_inline void ghost_make(struct cachebpf_policy *policy,
				       struct cachebpf_folio *folio, __u32 where, __u64 nr_cached)
{
	__u32 queue = where % GHOST_QUEUES;
	struct ghost_queue *q = &ghost_queues[queue];
	__u64 key = bpf_cachebpf_key(folio);
	union ghost *set = ghost_set(policy, key), *victim;
	__s32 nr_pages = folio_pages(folio);
	__u64 oldest = 0;

	if (!set)
		return;
	if (q->nr_made >= nr_cached / GHOST_UNITS_PER_CACHE) {
		/* signed: what processors write at the same time can have it below 0 for a while */
		if ((__s32)(q->newest - q->oldest) >= (__s32)GHOST_UNITS - 1)
			ghost_forget(queue);
		q->newest++;
		q->nr_made = 0;
	}
	q->nr_made += nr_pages;

	/* the oldest is gone, if any is; behind its age comes its number */
	__unrolled
	for (int i = 0; i < GHOSTS_PER_SET; i++) {
		__u32 gone = ghost_gone(set[i]);

		oldest = bl_max(oldest, (gone << GHOST_UNIT_BITS | ghost_age(set[i])) * GHOSTS_PER_SET + i);
		/* or it would be one again when the time of its queue comes round */
		set[i].word &= gone - 1;
	}
	victim = set + oldest % GHOSTS_PER_SET;
	if (victim->word)
		ghost_count(&ghost_queues[victim->queue], victim->unit, -nr_pages);
	*victim = (union ghost) {
		.fingerprint = key,
		.queue = queue,
		.mark = where / GHOST_MARK,
		.unit = q->newest,
	};
	ghost_count(q, q->newest, nr_pages);
}

/*
 * In folio_added(): take the ghost of @folio away, if there is one.  Returns
 * where it was, as ghost_make() was told, or 0.
 */
static __always_inline __u32 ghost_take(struct cachebpf_policy *policy,
					struct cachebpf_folio *folio)
{
	__u64 key = bpf_cachebpf_key(folio);
	union ghost *set = ghost_set(policy, key), ghost;
	__u64 found = 0;

	if (!set)
		return 0;
	__unrolled
	for (int i = 0; i < GHOSTS_PER_SET; i++)
		found |= bl_less((set[i].word ^ key) & GHOST_FINGERPRINT, 1) * i;
	set += found % GHOSTS_PER_SET;
	ghost = *set;
	/* two of the same fingerprint look like a third one; that is rare */
	if ((ghost.word ^ key) & GHOST_FINGERPRINT || ghost_gone(ghost))
		return 0;
	set->word = 0;
	ghost_count(&ghost_queues[ghost.queue], ghost.unit, -(__s32)folio_pages(folio));
	return ghost.queue + ghost.mark * GHOST_MARK;
}
