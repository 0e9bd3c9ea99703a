/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plays: of pages that are gone, their score and how often they were evicted.
 *
 * Each takes 5 bytes in the bucket that its key hashes to: a fingerprint, the score,
 * and the number.  What came back leaves its place to another one; a bucket that is full
 * forgets the page that has been gone longest.  Buckets are searched without branches,
 * see lib/ghost.bpf.h.
 */
#pragma once

#include "../cachebpf.bpf.h"
#include "branchless.bpf.h"

#define PLAYS_PER_BUCKET	12
/* of five pages for each that is cached, and more, since they are not spread evenly */
#define PLAYS_BYTES		32

/* The newest come first. */
struct plays_bucket {
	__s16 scores[PLAYS_PER_BUCKET];
	__u16 fingerprints[PLAYS_PER_BUCKET];
	/* 0: there is nothing */
	__u8 numbers[PLAYS_PER_BUCKET];
	__u8 unused[4];
};

struct plays {
	__s32 score;
	/* how often it was evicted; 0: nothing is known of it */
	__u32 number;
};

/* What fits of a @score. */
static __always_inline __s16 plays_clamp(__s32 score)
{
	return score > 32767 ? 32767 : score < -32768 ? -32768 : score;
}

/* In folio_removed(): remember @plays, as far as its numbers fit, of @folio. */
static __always_inline void plays_remember(struct cachebpf_policy *policy,
					   struct cachebpf_folio *folio, struct plays plays)
{
	__u64 key = bpf_cachebpf_key(folio), unused = PLAYS_PER_BUCKET - 1, moves;
	struct plays_bucket *b = (void *)bpf_cachebpf_bucket(policy, key, sizeof(*b));

	if (!b || !key)
		return;
	__unrolled
	for (int i = 0; i < PLAYS_PER_BUCKET; i++)
		unused = bl_min(unused, i + PLAYS_PER_BUCKET * bl_less(0, b->numbers[i]));
	/* what is newer than that moves on */
	__unrolled
	for (int i = PLAYS_PER_BUCKET - 1; i > 0; i--) {
		moves = 1 - bl_less(unused, i);
		b->scores[i] += (b->scores[i - 1] - b->scores[i]) * moves;
		b->fingerprints[i] += (b->fingerprints[i - 1] - b->fingerprints[i]) * moves;
		b->numbers[i] += (b->numbers[i - 1] - b->numbers[i]) * moves;
	}
	b->scores[0] = plays_clamp(plays.score);
	b->fingerprints[0] = key;
	b->numbers[0] = min(plays.number, 255);
}

/* In folio_added(): what is remembered of @folio, and is not any more. */
static __always_inline struct plays plays_recall(struct cachebpf_policy *policy,
						 struct cachebpf_folio *folio)
{
	__u64 key = bpf_cachebpf_key(folio), found = PLAYS_PER_BUCKET;
	struct plays_bucket *b = (void *)bpf_cachebpf_bucket(policy, key, sizeof(*b));
	struct plays plays = {};

	if (!b)
		return plays;
	__unrolled
	for (int i = 0; i < PLAYS_PER_BUCKET; i++)
		found = bl_min(found, i + PLAYS_PER_BUCKET *
				      (bl_less(0, b->fingerprints[i] ^ (__u16)key) |
				       bl_less(b->numbers[i], 1)));
	if (found >= PLAYS_PER_BUCKET)
		return plays;
	plays.score = b->scores[found];
	plays.number = b->numbers[found];
	b->numbers[found] = 0;
	return plays;
}
