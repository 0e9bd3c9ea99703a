/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ladder: folios roughly in the order of what they are worth, in O(1).
 *
 * It has 512 rungs, lists for RUNG_WORTH each, and one more, "above", for what is worth
 * more than that.  Who is worth less than the lowest rung is on it, at its head.  A folio
 * stays where it was put: when the policy comes to it, it says what it is worth now.
 *
 * What all folios are worth may fall with time, by ladder_fallen.  That moves no folio: the
 * rungs have numbers, which count from where worth was at first, and the lowest number
 * rises, so that a quarter of the rungs are free below the lowest one that has folios.
 * What a folio is worth may fall faster: it is put lower, where its turn comes in time.
 */
#pragma once

#include "files.bpf.h"

#define NR_RUNGS	512U
#define NR_FREE		(NR_RUNGS / 4)
#define RUNG_SHIFT	2
#define RUNG_WORTH	(1 << RUNG_SHIFT)

static __u32 ladder_above, ladder_first, ladder_lowest, ladder_turn;
/* no rung below that has folios; as ladder_lowest, it counts from where worth was at first */
static __u32 ladder_bottom;
static __s64 ladder_fallen;

/* In policy_init(). */
static __always_inline int ladder_create(struct cachebpf_policy *policy)
{
	int err = list_create(policy, &ladder_above, 0) ?: list_create(policy, &ladder_first, 0);
	__u32 list = 0;

	/* their numbers follow each other */
	bpf_repeat(NR_RUNGS - 1)
		err = err ?: list_create(policy, &list, 0);
	return err;
}

/* The list of the rung @nr, from 0 for the lowest; NR_RUNGS: of those above all rungs. */
static __always_inline __u32 ladder_rung(__u32 nr)
{
	return nr < NR_RUNGS ? ladder_first + (ladder_lowest + nr) % NR_RUNGS : ladder_above;
}

/* Each time another rung. */
static __always_inline __u32 ladder_next(void)
{
	return ladder_rung(ladder_turn++ % NR_RUNGS);
}

/*
 * Returns whether @folio is where it belongs by its @worth, which falls @pace times as fast
 * as that of all, in units of PACE; else it is from now on.
 */
static bool ladder_put(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __s64 worth,
		       __u64 pace)
{
	/* above those that go next */
	__s64 high = worth + ladder_fallen - (__s64)(ladder_lowest + NR_FREE) * RUNG_WORTH;
	__u32 list;
	__s32 nr;

	if (pace > PACE && high > 0)
		high = high * PACE / pace;
	nr = (high >> RUNG_SHIFT) + NR_FREE;
	list = nr < 0 ? ladder_rung(0) : ladder_rung(nr);
	if (folio->list == list)
		return true;
	ladder_bottom = min(ladder_bottom, nr < 0 ? ladder_lowest : ladder_lowest + nr);
	bpf_cachebpf_list_move(policy, folio, list, nr < 0 ? HEAD : TAIL);
	return false;
}

/* The lowest rung that has folios, NR_RUNGS if none has. */
static __always_inline __u32 ladder_find_lowest(struct cachebpf_policy *policy)
{
	__u32 nr = ladder_bottom - ladder_lowest;

	bpf_repeat(NR_RUNGS) {
		if (nr >= NR_RUNGS || bpf_cachebpf_list_len(policy, ladder_rung(nr)))
			break;
		nr++;
	}
	ladder_bottom = ladder_lowest + nr;
	return nr;
}

/* In evict_folios(), before folios are proposed: the lowest number rises. */
static __always_inline void ladder_rise(struct cachebpf_policy *policy)
{
	__u32 nr = ladder_find_lowest(policy);

	if (nr > NR_FREE && nr < NR_RUNGS)
		ladder_lowest += nr - NR_FREE;
}
