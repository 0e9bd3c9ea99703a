/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Learned: how often pages were used, for the next run of the policy.
 *
 * A map called cachebpf_learned is saved by the daemon, and filled again for the
 * instance of the policy that follows, maybe after a boot: see cachebpf(3).  This
 * one is a table of lines of 8 slots, of which a key has one line.  A slot is a
 * fingerprint of the key, the uses in the run that wrote it, and those that came
 * from runs before.  So what a run notes changes nothing in that run: it only
 * asks for what was before.
 *
 * The sketch that the policy has besides forgets soon, and has to; what is used
 * often is known better after a longer time.  An epoch is LEARNED_FADE uses for
 * each page of the cache.  What was before is halved after each, since it may be
 * wrong by now, and the uses of this run after LEARNED_EPOCHS of them; that is
 * done when a slot is looked at next.
 *
 * It may even be wrong altogether.  So uses of what was hardly used before are
 * counted against those of what was: each time that they outweigh them by LEARNED_WRONG
 * of the cache, what was before is worth half as much for the rest of the run.
 *
 * A key that has no slot takes that with the fewest uses, if it has as many
 * itself; else one of these is taken away, so what does not come again goes.
 */
#pragma once

#include "../cachebpf.bpf.h"
#include "branchless.bpf.h"

/* 512 KiB: those pages that are used most, of a cache of any size */
#define LEARNED_LINES		8192
#define LEARNED_SLOTS		8
#define LEARNED_FADE		16
#define LEARNED_EPOCHS		16
#define LEARNED_MAX		255
/* of what was before; a sketch knows 15 of this run */
#define LEARNED_MAX_BEFORE	127
/* who has so many from before is one of the better ones */
#define LEARNED_OFTEN		20
/* who has less is hardly used; a use of another one makes up for LEARNED_RIGHT of these */
#define LEARNED_HARDLY		5
#define LEARNED_RIGHT		2
#define LEARNED_WRONG		50	/* % */

struct learned_slot {
	__u16 fingerprint;
	/* of the policy, which wrote the rest */
	__u16 run;
	__u8 before;
	__u8 uses;
	/* up to which they were halved in this run */
	__u16 epoch;
};

struct learned_line {
	struct learned_slot slots[LEARNED_SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LEARNED_LINES);
	__type(key, __u32);
	__type(value, struct learned_line);
} cachebpf_learned SEC(".maps");

/* one in 65536 has the number of the run before, and learns nothing from that */
static __u16 learned_run;
static __u16 learned_epoch;
static __u64 learned_uses;
static __s64 learned_wrong;
/* how often what was before lost half of its worth */
static __u32 learned_doubt;

/* In policy_init(). */
static __always_inline void learned_begin(void)
{
	learned_run = bpf_get_prandom_u32();
}

/* 1 if @slot is that of @key, else 0. */
static __always_inline __u64 learned_is(const struct learned_slot *slot, __u64 key)
{
	return bl_less((__u16)(slot->fingerprint ^ key), 1);
}

/* The slot of @key, or the one that it could take; NULL: there are none. */
static __always_inline struct learned_slot *learned_find(__u64 key)
{
	__u32 nr = (key >> 32) * LEARNED_LINES >> 32;
	struct learned_line *line = bpf_map_lookup_elem(&cachebpf_learned, &nr);
	struct learned_slot *slots;
	__u64 best = ~0U;

	if (!line)
		return NULL;
	slots = line->slots;
	__unrolled
	for (int i = 0; i < LEARNED_SLOTS; i++) {
		__u64 uses = slots[i].before + slots[i].uses + 1;

		/* its own before all others; behind that comes its number */
		uses *= 1 - learned_is(slots + i, key);
		best = bl_min(best, uses * LEARNED_SLOTS + i);
	}
	return slots + best % LEARNED_SLOTS;
}

/* What is known of @key from runs before; @slot is that of learned_find(). */
static __always_inline __u32 learned_before(struct learned_slot *slot, __u64 key)
{
	__u32 halved;

	if (!learned_is(slot, key))
		return 0;
	if (slot->run != learned_run) {
		slot->before = bl_min(slot->before / 2 + slot->uses, LEARNED_MAX_BEFORE);
		slot->uses = 0;
		slot->run = learned_run;
		/* that of the beginning: it is as old as that */
		slot->epoch = 0;
	}
	halved = bl_min((__u16)(learned_epoch - slot->epoch), 8);
	slot->before >>= halved;
	halved = bl_min(learned_epoch / LEARNED_EPOCHS -
			min(slot->epoch, learned_epoch) / LEARNED_EPOCHS, 8);
	slot->uses >>= halved;
	slot->epoch = learned_epoch;
	return slot->before >> learned_doubt;
}

/* @uses of what had @before in runs before. */
static __always_inline void learned_doubt_it(__u32 before, __u32 uses, __u64 nr_cached)
{
	__s64 most = nr_cached * LEARNED_WRONG / 100;
	__u64 hardly = bl_less(before, LEARNED_HARDLY);

	learned_wrong += uses * hardly;
	learned_wrong = bl_positive(learned_wrong - uses * LEARNED_RIGHT * (1 - hardly));
	if (most && learned_wrong >= most) {
		learned_wrong = 0;
		learned_doubt = min(learned_doubt + 1, 8);
	}
}

/* Note @uses of @key, after learned_before(); there are @nr_cached pages in the cache. */
static __always_inline void learned_note(struct learned_slot *slot, __u64 key, __u32 uses,
					 __u64 nr_cached)
{
	if (!uses)
		return;
	learned_doubt_it(slot->before * learned_is(slot, key), uses, nr_cached);
	if (learned_is(slot, key)) {
		slot->uses = bl_min(slot->uses + uses, LEARNED_MAX);
	} else if (slot->before + slot->uses > uses) {
		if (slot->before)
			slot->before--;
		else
			slot->uses--;
	} else {
		*slot = (struct learned_slot) {
			.fingerprint = key,
			.run = learned_run,
			.uses = bl_min(uses, LEARNED_MAX),
			.epoch = learned_epoch,
		};
	}

	learned_uses += uses;
	if (nr_cached && learned_uses >= LEARNED_FADE * nr_cached) {
		learned_uses = 0;
		learned_epoch++;
	}
}
