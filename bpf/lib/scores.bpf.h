/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scores: what pages were worth, for the next run of the policy.
 *
 * A map called cachebpf_learned is saved by the daemon, and filled again for the
 * instance of the policy that follows, maybe after a boot: see cachebpf(3).  This
 * one is a table of lines of 4 slots, of which a key has one line.  A slot is a
 * fingerprint of the key, its plays as in lib/plays.bpf.h, and the run that wrote
 * it: a run asks only for what was before, so what it notes changes nothing in it.
 *
 * A page that is not known has the score 0, so a score near to 0 says least.  A key
 * that has no slot takes that with such a score, if its own says more; else the score
 * there is halved, so what does not come again goes.
 */
#pragma once

#include "plays.bpf.h"

/* 512 KiB: those pages that are worth most and least, of a cache of any size */
#define SCORES_LINES		16384
#define SCORES_SLOTS		4

struct scores_slot {
	__u16 fingerprint;
	/* of the policy, which wrote the rest */
	__u16 run;
	__s16 score;
	/* 0: there is nothing */
	__u8 number;
	__u8 unused;
};

struct scores_line {
	struct scores_slot slots[SCORES_SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SCORES_LINES);
	__type(key, __u32);
	__type(value, struct scores_line);
} cachebpf_learned SEC(".maps");

/* one in 65536 has the number of the run before, and learns nothing from that */
static __u16 scores_run;

/* In policy_init(). */
static __always_inline void scores_begin(void)
{
	scores_run = bpf_get_prandom_u32();
}

/* How much @score says. */
static __always_inline __u64 scores_say(__s64 score)
{
	return bl_max(score, -score);
}

/* 1 if @slot is that of @key, else 0. */
static __always_inline __u64 scores_is(const struct scores_slot *slot, __u32 key)
{
	return bl_less((__u16)(slot->fingerprint ^ key), 1) & bl_less(0, slot->number);
}

static __always_inline struct scores_line *scores_line(__u32 key)
{
	__u32 nr = (__u64)key * SCORES_LINES >> 32;

	return bpf_map_lookup_elem(&cachebpf_learned, &nr);
}

/* The slot of @key, or the one that it could take; NULL: there are none. */
static __always_inline struct scores_slot *scores_find(__u32 key)
{
	struct scores_line *line = scores_line(key);
	struct scores_slot *slots;
	__u64 best = ~0U;

	if (!line)
		return NULL;
	slots = line->slots;
	__unrolled
	for (int i = 0; i < SCORES_SLOTS; i++) {
		__u64 says = scores_say(slots[i].score) + 1;

		/* its own before all others; behind that comes its number */
		says *= 1 - scores_is(slots + i, key);
		best = bl_min(best, says * SCORES_SLOTS + i);
	}
	return slots + best % SCORES_SLOTS;
}

/* Note @plays of @key for the next run, as far as its numbers fit. */
static __always_inline void scores_note(__u32 key, struct plays plays)
{
	struct scores_slot *slot = scores_find(key);
	__s16 score = plays_clamp(plays.score);

	if (!slot)
		return;
	if (!scores_is(slot, key) && scores_say(slot->score) > scores_say(score)) {
		slot->score >>= 1;
		return;
	}
	*slot = (struct scores_slot) {
		.fingerprint = key,
		.run = scores_run,
		.score = score,
		.number = min(plays.number, 255),
	};
}

/* What is known of the page with @key from the runs before. */
static __always_inline struct plays scores_before(__u32 key)
{
	struct scores_line *line = scores_line(key);
	struct plays plays = {};
	struct scores_slot *slot;
	__u32 nr = 0;

	if (!line)
		return plays;
	__unrolled
	for (int i = 0; i < SCORES_SLOTS; i++)
		nr |= scores_is(line->slots + i, key) * i;
	slot = line->slots + nr % SCORES_SLOTS;
	if (scores_is(slot, key) && slot->run != scores_run) {
		plays.score = slot->score;
		plays.number = slot->number;
	}
	return plays;
}
