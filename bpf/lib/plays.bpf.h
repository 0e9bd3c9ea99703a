/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plays: of pages that are gone, their score and how often they were evicted.
 *
 * Each takes 5 bytes in the bucket of its page's key, of which the upper half does here: a
 * fingerprint, the score, and the number.  A bucket has the twelve that were evicted last,
 * also those that have come back since.  Buckets are searched without branches, see
 * lib/ghost.bpf.h.
 */
#pragma once

#include "../cachebpf.bpf.h"
#include "branchless.bpf.h"

#define PLAYS_PER_BUCKET	12
/* of half as many pages more as are cached */
#define PLAYS_BYTES		8

struct plays_bucket {
	__s16 scores[PLAYS_PER_BUCKET];
	__u16 fingerprints[PLAYS_PER_BUCKET];
	/* 0: there is nothing */
	__u8 numbers[PLAYS_PER_BUCKET];
	/* the place of the next one */
	__u8 next;
	__u8 unused[3];
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

static __always_inline struct plays_bucket *plays_bucket(struct cachebpf_policy *policy, __u32 key)
{
	return (void *)bpf_cachebpf_bucket(policy, (__u64)key << 32, sizeof(struct plays_bucket));
}

/* Remember @plays, as far as its numbers fit, of the page with @key. */
static __always_inline void plays_remember(struct cachebpf_policy *policy, __u32 key,
					   struct plays plays)
{
	struct plays_bucket *b = plays_bucket(policy, key);
	__u32 place;

	if (!b)
		return;
	place = b->next < PLAYS_PER_BUCKET ? b->next : 0;
	b->next = place + 1;
	b->scores[place] = plays_clamp(plays.score);
	b->fingerprints[place] = key;
	b->numbers[place] = min(plays.number, 255);
}

/* What is remembered of the page with @key, and is not any more. */
static __always_inline struct plays plays_recall(struct cachebpf_policy *policy, __u32 key)
{
	struct plays_bucket *b = plays_bucket(policy, key);
	struct plays plays = {};
	__u32 place = 0;

	if (!b)
		return plays;
	__unrolled
	for (int i = 0; i < PLAYS_PER_BUCKET; i++)
		place |= bl_less((__u16)(b->fingerprints[i] ^ key), 1) * i;
	/* two of the same fingerprint look like a third one; that is rare */
	if (place >= PLAYS_PER_BUCKET || b->fingerprints[place] != (__u16)key)
		return plays;
	plays.score = b->scores[place];
	plays.number = b->numbers[place];
	/* it may be remembered once more, at another place */
	b->fingerprints[place] = 0;
	b->numbers[place] = 0;
	return plays;
}
