// SPDX-License-Identifier: GPL-2.0-only
/*
 * ACFS: programs say which of their pages go first; LRU-SP says who gives one.
 *
 * Programs give their files levels, and say of each level whether it is LRU or
 * MRU; of the pages of a manager those of its lowest level go first.  What they say
 * and which page that is: lib/managers.bpf.h, the paper's module ACM.  Here is its
 * module BUF, LRU-SP: which manager gives a page.  Programs that have said nothing
 * are one more manager, whose oldest page goes.
 *
 * Each page has a place in the order in which managers pay: its last use.  Who
 * has the oldest place gives a page, of the lowest level that has any.  If that
 * is not the page A of that place but B, then A gets B's place (swapping), and a
 * placeholder remembers A under the key of B.  Who misses B while A is cached has
 * A's manager pay next; if A was not used either, that was a wrong decision.
 *
 * What is proposed is on "leaving" until it is gone.
 *
 * Source: Cao, Felten and Li, "Implementation and performance of
 * application-controlled file caching", OSDI 1994, sections 2 to 4 and 6.2.
 */
#include "lib/managers.bpf.h"
#include "lib/placeholder.bpf.h"

CACHEBPF_TUNABLE(__u8, swapping, "0..1", "boolean",
		 "a page that stays gets the place of the one that goes; 0: ALLOC-LRU") = 1;
CACHEBPF_TUNABLE(__u8, placeholders, "0..1", "boolean",
		 "who decides wrong pays for it; 0: LRU-S") = 1;
CACHEBPF_TUNABLE(__u32, revoke_percent, "0..100", "% of 256 decisions",
		 "are wrong: for the next 256 the manager has no say; 0: never") = 25;

/* The oldest place of each manager, and of all others. */
struct places {
	__s64 of[NR_MANAGERS + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct places);
} acfs_places SEC(".maps");

static __u32 leaving;
/* the last use of the newest page */
static __s64 now;

__s32 CACHEBPF_SLEEPABLE_OP(acfs_init, struct cachebpf_policy *policy)
{
	return list_create(policy, &leaving, CACHEBPF_LIST_STAMPED) ?:
	       bpf_cachebpf_buckets_create(policy, PLACEHOLDER_BYTES) ?:
	       levels_create(policy);
}

/* The manager of the page A, which stayed, pays next. */
static void charge(struct cachebpf_policy *policy, struct cachebpf_folio *A)
{
	__u32 kind = kind_of(A->list), lists = A->list - kind;
	struct note *note = folio_data(A, struct note);
	struct manager *m = manager_in((lists - first_list) / (NR_LEVELS * NR_LISTS));

	/* it is another page by now, or its manager has said nothing */
	if (!note || !note->place || !m || kind == LENT)
		return;
	if (kind == SWAPPED)
		was_wrong(m);
	note->place = 0;
	bpf_cachebpf_list_move(policy, A, lists + SWAPPED, HEAD);
}

void CACHEBPF_OP(acfs_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 why)
{
	struct note *note = folio_data(folio, struct note);
	struct cachebpf_file file = {};
	struct cachebpf_folio *A;
	struct manager *m;
	__u32 slot, level;

	if (!nr_managers || !note)
		return;
	now = note->last_use;
	slot = slot_of(bpf_cachebpf_owner(policy, folio));
	m = manager_in(slot);
	if (m && !bpf_cachebpf_file(folio, &file)) {
		level = level_of(slot, &file);
		has_pages(m, level);
		bpf_cachebpf_list_move(policy, folio, lists_of(slot, level) + USED, TAIL);
	}
	if (placeholders)
		for_folio(A, policy, placeholder_take(policy, folio))
			charge(policy, A);
}

void CACHEBPF_OP(acfs_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	struct note *note;

	if (why != CACHEBPF_REMOVED_RECLAIM || folio->list != leaving)
		return;
	note = folio_data(folio, struct note);
	if (note && (__u32)note->place)
		placeholder_make(policy, folio, note->place);
}

/* The page of the manager in @slot with the oldest place. */
__noinline int acfs_find_oldest(struct cachebpf_evict *evict __arg_trusted, __u32 slot,
				struct candidate *oldest __arg_nonnull)
{
	struct manager *m = manager_in(slot);
	__u32 level;

	*oldest = (struct candidate) { .place = NEVER };
	if (!m)
		compare(evict, silent, USED, 0, oldest);
	bpf_for(level, 0, NR_LEVELS) {
		if (!m || !(m->levels >> level & 1))
			continue;
		compare(evict, lists_of(slot, level), USED, level, oldest);
		compare(evict, lists_of(slot, level), SWAPPED, level, oldest);
		compare(evict, lists_of(slot, level), LENT, level, oldest);
	}
	return 0;
}

/*
 * Propose the page B.  On "leaving" it knows where it was, and in the lower half what its
 * placeholder is to say.  Returns whether the request is full.
 */
static bool propose(struct cachebpf_policy *policy, struct cachebpf_evict *evict,
		    struct cachebpf_folio *B, __u32 stays)
{
	struct note *note = folio_data(B, struct note);
	__u32 home = B->list;

	/* another request has it */
	if (home != silent && !is_of_level(home))
		return false;
	if (note)
		note->place = (__s64)home << 32 | stays;
	bpf_cachebpf_list_move(policy, B, leaving, TAIL);
	return bpf_cachebpf_evict(evict, B);
}

/* The page A stays, and gets the place of B. */
static void swap(struct cachebpf_policy *policy, struct cachebpf_folio *A, struct cachebpf_folio *B,
		 __u32 lists)
{
	struct note *a = folio_data(A, struct note), *b = folio_data(B, struct note);

	if (!a || !b)
		return;
	a->place = kind_of(B->list) == SWAPPED ? b->place : b->last_use;
	bpf_cachebpf_list_insert(policy, A, lists + SWAPPED, NR_SORTED);
}

/* The page B of @number goes, and the @oldest stays, if that is another one. */
__noinline int acfs_replace(struct cachebpf_policy *policy __arg_trusted,
			    struct cachebpf_evict *evict __arg_trusted, __u32 slot,
			    struct candidate *oldest __arg_nonnull, __u32 number)
{
	struct cachebpf_folio *A, *B;
	__u32 stays = 0;

	for_folio(B, policy, number) {
		if (swapping && number != oldest->number)
			for_folio(A, policy, oldest->number) {
				swap(policy, A, B, lists_of(slot, oldest->level));
				stays = oldest->number;
			}
		return propose(policy, evict, B, placeholders ? stays : 0);
	}
	return false;
}

/* Has the page of @number, so far one of the others', a manager by now?  Then it gets it. */
static bool has_manager(struct cachebpf_policy *policy, __u32 number)
{
	struct cachebpf_folio *folio;
	struct manager *m;
	__u32 slot;

	for_folio(folio, policy, number) {
		slot = slot_of(bpf_cachebpf_owner(policy, folio));
		m = manager_in(slot);
		if (!m)
			return false;
		has_pages(m, LEVEL_DEFAULT);
		put(policy, folio, lists_of(slot, LEVEL_DEFAULT));
		return true;
	}
	return false;
}

/*
 * The manager in @slot gives pages as long as its oldest place, which is in *@place then,
 * is not after @limit.  Returns whether the request is full.
 */
__noinline int acfs_pay(struct cachebpf_policy *policy __arg_trusted,
			struct cachebpf_evict *evict __arg_trusted, __u32 slot, __s64 limit,
			__s64 *place __arg_nonnull)
{
	struct manager *m = manager_in(slot);
	struct candidate oldest = {};
	__u32 number;

	bpf_repeat(64) {
		acfs_find_oldest(evict, slot, &oldest);
		*place = oldest.place;
		if (oldest.place > limit || oldest.place == NEVER)
			return false;
		if (!m && has_manager(policy, oldest.number))
			continue;
		number = m && may_decide(m, revoke_percent) ? managers_choose(evict, slot) : 0;
		if (acfs_replace(policy, evict, slot, &oldest, number ?: oldest.number))
			return true;
	}
	return false;
}

/* What was proposed and not taken is as good as used now: mostly it is, by a mapping. */
static void take_back(struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;
	struct note *note;
	__u32 home;

	for_each_folio(folio, evict, leaving, 0, 0) {
		note = folio_data(folio, struct note);
		home = note ? note->place >> 32 : silent;
		if (is_of_level(home) && note) {
			note->place = now;
			bpf_cachebpf_list_insert(policy, folio, home - kind_of(home) + SWAPPED,
						 NR_SORTED);
		} else {
			bpf_cachebpf_list_move(policy, folio, silent, TAIL);
		}
	}
}

static void evict_others(struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, silent, 0, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			return;
}

void CACHEBPF_OP(acfs_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct candidate oldest = {};
	struct places *places;
	__u32 i, slot, zero = 0;
	__s64 place, limit;

	places = bpf_map_lookup_elem(&acfs_places, &zero);
	if (!nr_managers || !places) {
		evict_others(evict);
		return;
	}
	levels_take_back(policy, evict);
	take_back(policy, evict);
	bpf_for(i, 0, NR_MANAGERS + 1) {
		acfs_find_oldest(evict, i, &oldest);
		if (i <= NR_MANAGERS)
			places->of[i] = oldest.place;
	}
	bpf_repeat(2 * NR_MANAGERS) {
		place = limit = NEVER;
		slot = 0;
		bpf_for(i, 0, NR_MANAGERS + 1) {
			if (i > NR_MANAGERS)
				break;
			if (places->of[i] < place) {
				limit = place;
				place = places->of[i];
				slot = i;
			} else if (places->of[i] < limit) {
				limit = places->of[i];
			}
		}
		/* of a large request each gives some pages at a time */
		limit += evict->nr_wanted / 2;
		if (place == NEVER || acfs_pay(policy, evict, slot, limit, &place))
			return;
		/* clang knows, the verifier does not */
		barrier_var(slot);
		if (slot <= NR_MANAGERS)
			places->of[slot] = place;
	}
}

CACHEBPF_POLICY(acfs, "Evicts what programs say goes first; else the least recently used", "OSDI 1994",
		.policy_init	= (void *)acfs_init,
		.advise		= (void *)managers_advise,
		.evict_folios	= (void *)acfs_evict,
		.folio_added	= (void *)acfs_added,
		.folio_removed	= (void *)acfs_removed);
