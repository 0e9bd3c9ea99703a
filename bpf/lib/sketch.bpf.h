/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sketch of how often things were used lately, cached or not.
 *
 * A count-min sketch with four rows of 4-bit counters, of which a key has one
 * each.  All four are in the key's bucket, so looking one up touches one cache
 * line: 30 counters a row, behind the number of the bucket's last ageing.  Only
 * counters that would be too low are raised (conservative update).  When the
 * sketch has counted SKETCH_SAMPLE uses for each page of the cache all counts
 * are halved, that of the uses too; a bucket catches up when it is used next.
 *
 * Sources: Einziger et al., "TinyLFU: a highly efficient cache admission
 * policy", ACM ToS 13(4), 2017; sizes as in Caffeine.
 */
#pragma once

#include "../cachebpf.bpf.h"
#include "branchless.bpf.h"

/* to be passed to bpf_cachebpf_buckets_create() */
#define SKETCH_BYTES_PER_PAGE	6
#define SKETCH_SAMPLE		10
#define SKETCH_ROWS		4
#define SKETCH_WIDTH		30
#define SKETCH_MAX		15

union sketch_bucket {
	__u32 epoch;
	__u8 counters[64];
	__u64 words[8];
};

static __u32 sketch_epoch;
static __u64 sketch_uses;

/* Halve the counters of @b as often as all have been, since it was used last. */
static __always_inline void sketch_age(union sketch_bucket *b)
{
	__u32 nr = bl_min(sketch_epoch - b->epoch, 4);

	if (!nr)
		return;
	for (int i = 0; i < 8; i++)
		b->words[i] = b->words[i] >> nr & 0x1111111111111111 * (SKETCH_MAX >> nr);
	b->epoch = sketch_epoch;
}

/* The counter of @key in @row: its byte, and in @shift where it is in there. */
static __always_inline __u8 *sketch_counter(union sketch_bucket *b, __u64 key, __u32 row,
					    __u32 *shift)
{
	__u32 column = (key >> 8 * row & 0xff) * SKETCH_WIDTH >> 8;
	__u32 nr = 2 * sizeof(b->epoch) + row * SKETCH_WIDTH + column;

	*shift = nr % 2 * 4;
	return &b->counters[nr / 2];
}

/*
 * Count @uses of @key, which may be 0, and return how many it had, at most
 * SKETCH_MAX; there are @nr_cached pages in the cache.
 */
static __always_inline __u32 sketch_count(struct cachebpf_policy *policy, __u64 key, __u32 uses,
					  __u64 nr_cached)
{
	union sketch_bucket *b = (void *)bpf_cachebpf_bucket(policy, key, sizeof(*b));
	__u32 total = SKETCH_MAX, row, count, shift;
	__u8 *counter;

	if (!b)
		return 0;
	sketch_age(b);
	for (row = 0; row < SKETCH_ROWS; row++) {
		counter = sketch_counter(b, key, row, &shift);
		total = bl_min(total, *counter >> shift & SKETCH_MAX);
	}
	if (!uses)
		return total;

	total = bl_min(total + uses, SKETCH_MAX);
	for (row = 0; row < SKETCH_ROWS; row++) {
		counter = sketch_counter(b, key, row, &shift);
		count = *counter >> shift & SKETCH_MAX;
		*counter += bl_positive((__s64)total - count) << shift;
	}
	sketch_uses += uses;
	if (nr_cached && sketch_uses >= SKETCH_SAMPLE * nr_cached) {
		sketch_uses /= 2;
		sketch_epoch++;
	}
	return total;
}
