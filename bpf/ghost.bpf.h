/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ghosts: which folios were evicted not long ago, without the folios.
 *
 * A ghost is 4 bytes in the bucket that its folio's key hashes to: a fingerprint
 * (one comparison in 262144 is a mistake), its queue, and when it was made,
 * in units of the queue.  Where a bucket is full its oldest ghost makes room.
 *
 * A unit ends when ghosts for 1/64 of the cache were made in it.  A queue counts
 * what is left of each unit, so it knows its length in pages, and forgets its
 * oldest ghosts a unit at a time: in buckets, they stay and mean nothing.
 */
#pragma once

#include "cachebpf.bpf.h"

#define GHOSTS_PER_BUCKET	16
/* numbered from 1; 0 is no ghost */
#define GHOST_QUEUES		4
#define GHOST_UNITS_PER_CACHE	64
/* that a queue can have, and what a ghost knows of the number of its unit */
#define GHOST_UNITS		256
#define GHOST_UNIT_MASK		0xfff

struct ghost {
	__u32 fingerprint : 18, queue : 2, unit : 12;
};

static struct ghost_queue {
	/* pages that its ghosts stand for, and how they are spread over its units */
	__s32 nr_pages, nr_of_unit[GHOST_UNITS];
	/* pages whose ghosts were made in the newest unit */
	__u32 nr_made;
	__u32 oldest, newest;
} ghost_queues[GHOST_QUEUES];

/* In units of its queue, from 0 for the newest; GHOST_UNITS if it is none, or is forgotten. */
static __always_inline __u32 ghost_age(struct ghost ghost)
{
	struct ghost_queue *q = &ghost_queues[ghost.queue];
	__u32 age = (q->newest - ghost.unit) & GHOST_UNIT_MASK;

	return ghost.queue && age <= q->newest - q->oldest ? age : GHOST_UNITS;
}

/* Atomically, or lost updates would add up. */
static __always_inline void ghost_count(struct ghost_queue *q, __u32 unit, __s32 nr_pages)
{
	__sync_fetch_and_add(&q->nr_of_unit[unit % GHOST_UNITS], nr_pages);
	__sync_fetch_and_add(&q->nr_pages, nr_pages);
}

static __always_inline __u64 ghost_pages(__u32 queue)
{
	__s32 nr_pages = ghost_queues[queue].nr_pages;

	return nr_pages < 0 ? 0 : nr_pages;
}

/* Forget the oldest ghosts of @queue. */
static __always_inline void ghost_forget(__u32 queue)
{
	struct ghost_queue *q = &ghost_queues[queue];
	__u32 oldest = q->oldest;
	__s32 nr = __sync_lock_test_and_set(&q->nr_of_unit[oldest % GHOST_UNITS], 0);

	if (oldest != q->newest)
		q->oldest = oldest + 1;
	__sync_fetch_and_add(&q->nr_pages, -nr);
}

/* Forget ghosts of @queue until it has no more than @max pages; if there are many, next time. */
static __always_inline void ghost_limit(__u32 queue, __u64 max)
{
	for (int i = 0; i < 8 && ghost_pages(queue) > max; i++)
		ghost_forget(queue);
}

/* In folio_removed(): leave a ghost of @folio in @queue; the cache has @nr_cached pages. */
static __always_inline void ghost_make(struct cachebpf_policy *policy,
				       struct cachebpf_folio *folio, __u32 queue, __u64 nr_cached)
{
	struct ghost_queue *q = &ghost_queues[queue];
	__u64 key = bpf_cachebpf_key(folio);
	struct ghost *ghosts = (void *)bpf_cachebpf_bucket(policy, key, 64);
	__s32 nr_pages = 1 << folio->order;
	__u32 victim = 0, age, oldest = 0;

	if (!ghosts)
		return;
	if (q->nr_made >= nr_cached / GHOST_UNITS_PER_CACHE) {
		if (q->newest - q->oldest == GHOST_UNITS - 1)
			ghost_forget(queue);
		q->newest++;
		q->nr_made = 0;
	}
	q->nr_made += nr_pages;

	for (int i = 0; i < GHOSTS_PER_BUCKET; i++) {
		age = ghost_age(ghosts[i]);
		/* or it would be one again when the time of its queue comes round */
		if (age == GHOST_UNITS)
			ghosts[i] = (struct ghost) {};
		if (age >= oldest) {
			oldest = age;
			victim = i;
		}
	}
	ghosts += victim % GHOSTS_PER_BUCKET;
	if (oldest < GHOST_UNITS)
		ghost_count(&ghost_queues[ghosts->queue], ghosts->unit, -nr_pages);
	*ghosts = (struct ghost) { .fingerprint = key, .queue = queue, .unit = q->newest };
	ghost_count(q, q->newest, nr_pages);
}

/*
 * In folio_added(): take the ghost of @folio away, if there is one.  Returns
 * the queue it was in, or 0.
 */
static __always_inline __u32 ghost_take(struct cachebpf_policy *policy,
					struct cachebpf_folio *folio)
{
	__u64 key = bpf_cachebpf_key(folio);
	struct ghost *ghosts = (void *)bpf_cachebpf_bucket(policy, key, 64), ghost;
	struct ghost wanted = { .fingerprint = key };

	for (int i = 0; ghosts && i < GHOSTS_PER_BUCKET; i++) {
		ghost = ghosts[i];
		if (ghost.fingerprint != wanted.fingerprint || ghost_age(ghost) == GHOST_UNITS)
			continue;
		ghosts[i] = (struct ghost) {};
		ghost_count(&ghost_queues[ghost.queue], ghost.unit, -(1 << folio->order));
		return ghost.queue;
	}
	return 0;
}
