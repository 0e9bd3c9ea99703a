/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Payers: which manager gives a page next.
 *
 * The one with the oldest place; but before that, who decided wrong, see charge().
 *
 * Source: Cao, Felten and Li, "Implementation and performance of
 * application-controlled file caching", OSDI 1994, section 2.
 */
#pragma once

#include "levels.bpf.h"

/* the place of a page that stayed in the stead of one that is missed, before all others */
#define PAYS		1
/* pages that a manager owes at most, or it would pay for all that was missed while there was room */
#define MAX_OWED	64

CACHEBPF_COUNTER(placeholders_hit, "placeholders", "of what was missed soon: its manager pays next");
CACHEBPF_COUNTER(wrong, "decisions", "of managers: LRU would still have what is missed");

/* When it is the turn of a manager whose oldest place is @place. */
static __always_inline __s64 turn_of(const struct manager *m, __s64 place)
{
	return m->owes > 0 && place != NEVER ? PAYS : place;
}

/*
 * The page A, which @placeholder tells of, stayed in the stead of one that is @missed by @m,
 * or that is still here: @m pays next, and A gets the place of what goes.  By the paper that is
 * before the one that is missed comes; here it is at the next request, so MRU leaves out what
 * came or was used since.  Used meanwhile, A keeps its new place, as it would have by then, and
 * @m pays all the same.
 */
__verified_once int charge(struct cachebpf_policy *policy __arg_trusted,
			     struct manager *m __arg_nonnull, __u64 placeholder, bool missed)
{
	struct cachebpf_folio *A;
	struct note *note;
	__u32 list, home, kind, lists;
	bool stayed;

	for_folio(A, policy, (__u32)placeholder) {
		note = folio_data(A, struct note);
		home = note ? lent_home(note) : 0;
		/* lent, and used since */
		list = A->list == returned ? home : A->list;
		kind = kind_of(list);
		lists = list - kind;
		/* another's: that page is gone, or somebody else reads; or it never stayed */
		if (!note || slot_of_list(lists) != m->slot || !note->place)
			break;
		stayed = kind == SWAPPED || (kind == LENT && note->place & STAYED);
		if (missed && stayed && lru_would_have(policy, m, lists + kind, placeholder >> 32)) {
			counter_add(&wrong, 1);
			was_wrong(m);
		}
		if (missed)
			counter_add(&placeholders_hit, 1);
		if (m->owes < MAX_OWED)
			m->owes++;
		m->stayed = placeholder;
		m->missed_at = now;
		if (kind == LENT) {
			note->last_use = PAYS;
			note->place = lent_by(PAYS, lent_home(note));
		} else {
			kind = SWAPPED;
			note->place = PAYS;
		}
		bpf_cachebpf_list_move(policy, A, lists + kind, HEAD);
		has_pages(m, level_of_list(lists), kind);
	}
	return 0;
}

/*
 * What is on @list was proposed and not taken.  That is as good as used now: mostly it is, by
 * a mapping.  But of an MRU level it must not be the next one to go.  Where it was @kept for
 * that nothing went for the page that stayed, and its manager decides once more.  The paper
 * knows no such pages.
 */
__verified_once int take_back_proposed(struct cachebpf_policy *policy __arg_trusted,
					struct cachebpf_evict *evict __arg_trusted, __u32 list)
{
	struct cachebpf_folio *folio;
	__u32 home, level, nr_pages;
	struct manager *m;
	struct note *note;
	__s64 place;

	for_each_folio(folio, evict, list, 0, 0) {
		note = folio_data(folio, struct note);
		place = note ? note->place : 0;
		/* another request may be about to take it back as well: not to be looked at twice */
		barrier_var(place);
		if (!note || folio->list != list)
			continue;
		home = proposed_home(place);
		/* advice moved it meanwhile, and the note means something else */
		if (!is_of_level(home)) {
			bpf_cachebpf_list_move(policy, folio, list_of_others(), TAIL);
			continue;
		}
		home -= kind_of(home);
		level = (home - first_list) / NR_LISTS;
		m = manager_in(level / NR_LEVELS);
		nr_pages = folio_pages(folio);
		if (m && m->mru >> level % NR_LEVELS & 1) {
			/* it has the newest place; until it is there, it has to know where it belongs */
			bpf_cachebpf_list_move(policy, folio, home + SWAPPED, TAIL);
			note->place = now;
			/* when it was used last is not known: MRU takes others, see newest_on() */
			note->last_use = 0;
			has_pages_on(home + SWAPPED);
		} else {
			note->last_use = now;
			bpf_cachebpf_list_move(policy, folio, home + USED, TAIL);
		}
		if (!m || list != kept || !(__u32)place)
			continue;
		m->paid -= min(m->paid, nr_pages);
		m->nr_kept++;
		charge(policy, m, place, false);
	}
	return 0;
}

/* The oldest place of each manager, in one request; of one of them more. */
struct places {
	__s64 of[OTHERS + 1];
	struct candidates found;
	__u32 taken;
};

/* some for each processor: a request may be preempted by others there */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct places);
} cachebpf_places SEC(".maps");

static struct places *take_places(void)
{
	struct places *places;
	__u32 i;

	bpf_for(i, 0, 4) {
		__u32 at = i;

		places = bpf_map_lookup_elem(&cachebpf_places, &at);
		if (places && !__sync_lock_test_and_set(&places->taken, 1))
			return places;
	}
	return NULL;
}
