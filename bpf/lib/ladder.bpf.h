/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ladder: folios roughly in the order of what they are worth, in O(1).
 *
 * It has 64 rungs, lists for RUNG_WORTH each, and one more, "above", for what is worth
 * more than that.  Who is worth less than the lowest rung is on it, at its head.  A folio
 * stays where it was put: when the policy comes to it, it says what it is worth now.
 *
 * What all folios are worth may fall with time, by ladder_fallen.  That moves no folio: the
 * rungs have numbers, which count from where worth was at first, and the lowest number
 * that is in use rises.
 */
#pragma once

#include "../cachebpf.bpf.h"

#define NR_RUNGS	64U
#define RUNG_SHIFT	5
#define RUNG_WORTH	(1 << RUNG_SHIFT)

static __u32 ladder_above, ladder_first, ladder_lowest;
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

/* Returns whether @folio is where it belongs by its @worth; else it is from now on. */
static bool ladder_put(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __s64 worth)
{
	__s32 nr = (__u32)((worth + ladder_fallen) >> RUNG_SHIFT) - ladder_lowest;
	__u32 list = nr < 0 ? ladder_rung(0) : ladder_rung(nr);

	if (folio->list == list)
		return true;
	bpf_cachebpf_list_move(policy, folio, list, nr < 0 ? HEAD : TAIL);
	return false;
}

/* In evict_folios(): the lowest rung that has folios is the lowest in use. */
static __always_inline void ladder_rise(struct cachebpf_policy *policy)
{
	bpf_repeat(NR_RUNGS) {
		if (bpf_cachebpf_list_len(policy, ladder_rung(0)))
			break;
		ladder_lowest++;
	}
}
