/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Levels: which of a manager's pages goes first.
 *
 * Each manager of lib/managers.bpf.h, and OTHERS, has five levels, and a level has
 * three lists:
 *
 * - USED, in the order of use;
 * - SWAPPED, of those that have another place in the order in which managers pay, in
 *   the order of these places; a use takes them back;
 * - LENT, of those that a program put into the level until they are used; then they
 *   are returned to the level of their file.
 *
 * Source: Cao, Felten and Li, "Implementation and performance of
 * application-controlled file caching", OSDI 1994, sections 3 and 6.2.
 */
#pragma once

#include "managers.bpf.h"

/* pages looked at for the place of one: as many as the kernel does */
#define NR_SORTED	128
/* pages that were read ahead, which MRU passes over, and swapped ones that it looks at */
#define NR_UNREAD	1024
#define NR_SEARCHED	256
#define NEVER		((__s64)1 << 62)

#define IN_ORDER	(CACHEBPF_LIST_USED_TAIL | CACHEBPF_LIST_STAMPED)

enum { USED, SWAPPED, LENT, NR_LISTS };

struct note {
	/* on SWAPPED: its place; on LENT: the list it is returned to; else the policy's */
	__s64 place;
	/* the kernel's */
	__s64 last_use;
};

/*
 * A page, where it is in the order in which managers pay, and its level; the lowest level
 * with pages, and the one of the oldest place there; and which decision of the manager it is.
 */
struct candidate {
	__s64 place;
	__u32 number, level;
	__u32 lowest, first;
	__u64 when;
};

static __u32 first_list, returned;

/* Its lists follow each other. */
static __always_inline __u32 lists_of(__u32 slot, __u32 level)
{
	return first_list + (slot * NR_LEVELS + level) * NR_LISTS;
}

static __always_inline __u32 list_of_others(void)
{
	return lists_of(OTHERS, LEVEL_DEFAULT) + USED;
}

/* Is @list a level's?  In the moment of a move a folio is on none. */
static __always_inline bool is_of_level(__u32 list)
{
	return list - first_list < (OTHERS + 1) * NR_LEVELS * NR_LISTS;
}

/* Whose @list is; of lists that are of no level nobody's. */
static __always_inline __u32 slot_of_list(__u32 list)
{
	return (list - first_list) / (NR_LEVELS * NR_LISTS);
}

/* Which of a level's lists @list is; others have no kind of interest. */
static __always_inline __u32 kind_of(__u32 list)
{
	return is_of_level(list) ? (list - first_list) % NR_LISTS : USED;
}

/*
 * @m has pages on the list of @kind of @level; those that are used come to USED.  Said after
 * they came there: see levels_forget_empty().
 */
static __always_inline void has_pages(struct manager *m, __u32 level, __u32 kind)
{
	__u32 bits = (1U << USED | 1U << kind) << (level * NR_LISTS & 15);

	if (kind != USED || ~m->lists & bits)
		__sync_fetch_and_or(&m->lists, bits);
}

/* The same with a list of a level. */
static void has_pages_on(__u32 list)
{
	__u32 nr = (list - first_list) / NR_LISTS;
	struct manager *m = manager_in(slot_of_list(list));

	if (m)
		has_pages(m, nr % NR_LEVELS, kind_of(list));
}

/* Lists of @m with other places, or lent pages, that are empty now need not be looked at. */
static __noinline void levels_forget_empty(struct cachebpf_policy *policy, struct manager *m)
{
	__u32 i, list;

	bpf_for(i, 0, NR_LEVELS * NR_LISTS) {
		list = lists_of(m->slot, 0) + i;
		if (kind_of(list) == USED || !(m->lists >> (i & 15) & 1) ||
		    bpf_cachebpf_list_len(policy, list))
			continue;
		__sync_fetch_and_and(&m->lists, ~(1U << (i & 15)));
		/* what came meanwhile is seen here, or whoever has put it there sees that the bit is gone */
		if (bpf_cachebpf_list_len(policy, list))
			__sync_fetch_and_or(&m->lists, 1U << (i & 15));
	}
}

/* Does @m, who has a say, have pages in one level only, LRU, all in the order of use? */
static __always_inline bool has_one_order(const struct manager *m)
{
	return m->slot < OTHERS && m->lists == 1U << (LEVEL_DEFAULT * NR_LISTS + USED) &&
	       !(m->mru >> LEVEL_DEFAULT & 1);
}

static int levels_create(struct cachebpf_policy *policy)
{
	int i, err = list_create(policy, &returned, IN_ORDER);
	__u32 list = 0, used = 0;

	has_pages(&others, LEVEL_DEFAULT, USED);
	bpf_for(i, 0, (OTHERS + 1) * NR_LEVELS) {
		if (err)
			break;
		err = list_create(policy, &used, IN_ORDER) ?:
		      list_create(policy, &list, IN_ORDER | LIST_USED_TO(used)) ?:
		      list_create(policy, &list, IN_ORDER | LIST_USED_TO(returned));
		if (!i)
			first_list = used;
	}
	return err;
}

/* Is a page on @list neither proposed nor in the middle of a move? */
static __always_inline bool can_be_told_of(__u32 list)
{
	return list == returned || is_of_level(list);
}

/* The list of a level that a page on @list belongs to, or will be returned to. */
static __always_inline __u32 home_of(__u32 list, const struct note *note)
{
	return list == returned || kind_of(list) == LENT ? note->place : list;
}

/* The same for one that is proposed, see acfs. */
static __always_inline __u32 proposed_home(const struct note *note)
{
	return note->place >> 32 & 0xffff;
}

/*
 * Would LRU have what @m misses, and what went @when it had made so many decisions?  Yes, if
 * no more pages of @m have gone since than there are in the level @lists that stayed and were
 * not used: these would have gone.
 */
static bool lru_would_have(struct cachebpf_policy *policy, const struct manager *m, __u32 lists,
			   __u16 when)
{
	return (__u16)(m->nr_decisions - when) <= bpf_cachebpf_list_len(policy, lists + SWAPPED);
}

/* The level with @number has @nr more pages; for those of no manager nothing is counted. */
static __always_inline void count_level(__u32 number, __s64 nr)
{
	__s64 *pages = bpf_map_lookup_elem(&cachebpf_pages, &number);

	if (pages)
		__sync_fetch_and_add(pages, nr);
}

static __always_inline void count(__u32 list, __s64 nr)
{
	count_level((list - first_list) / NR_LISTS, nr);
}

/* The page @folio belongs to @list from now on. */
static __always_inline void count_move(struct cachebpf_folio *folio, const struct note *note, __u32 list)
{
	__u32 from = (home_of(folio->list, note) - first_list) / NR_LISTS;
	__u32 to = (list - first_list) / NR_LISTS;
	__s64 nr = folio_pages(folio);

	if (from == to)
		return;
	count_level(from, -nr);
	count_level(to, nr);
}

/*
 * Put @folio into the level @lists, at the place of its last use; the caller says
 * has_pages().  What is on USED came there by a use: the oldest is at its head.
 */
static void put(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 lists)
{
	struct note *note = folio_data(folio, struct note);
	__u32 list = folio->list;

	/* what is proposed just now is left alone */
	if (!note || list == lists + USED || list == lists + SWAPPED || !can_be_told_of(list))
		return;
	count_move(folio, note, lists);
	note->place = note->last_use;
	bpf_cachebpf_list_insert(policy, folio, lists + SWAPPED, NR_SORTED);
}

/* Lend it to that level; its use returns it to @home. */
static void lend(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 lists,
		 __u32 home)
{
	struct note *note = folio_data(folio, struct note);

	if (!note || !can_be_told_of(folio->list))
		return;
	count_move(folio, note, home);
	note->place = home + USED;
	bpf_cachebpf_list_move(policy, folio, lists + LENT, TAIL);
}

__s32 CACHEBPF_OP(managers_advise, struct cachebpf_policy *policy, struct cachebpf_advice *a)
{
	struct cachebpf_file file = { .ino = a->file.ino, .dev = a->file.dev,
				      .generation = a->file.generation };
	__u32 level = advice_level(a->advice), home, lists, homes;
	struct cachebpf_folio *folio;
	__u64 id = a->manager;
	struct manager *m;

	if (a->begins)
		return hear(id, &file, a->advice);
	m = manager_of(id);
	if (m->slot == OTHERS)
		return 0;
	home = level_of(m, id, &file);
	lists = lists_of(m->slot, level);
	homes = lists_of(m->slot, home);
	for_each_advised_folio(folio, a) {
		if (lists == homes)
			put(policy, folio, lists);
		else
			lend(policy, folio, lists, homes);
	}
	has_pages(m, level, level == home ? SWAPPED : LENT);
	has_pages(m, home, USED);
	return CACHEBPF_ADVICE_WALK;
}

/* What was lent, and used since, goes to the level of its file. */
static __noinline void levels_take_back(struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;
	struct note *note;
	__u32 home;

	for_each_folio(folio, evict, returned, 0, 0) {
		note = folio_data(folio, struct note);
		home = note ? note->place : 0;
		/* another request was faster, and the note means something else */
		if (folio->list != returned)
			continue;
		bpf_cachebpf_list_move(policy, folio, is_of_level(home) ? home : list_of_others(), TAIL);
	}
}

/*
 * Whose is the page of @number, the oldest of @m?  It may be another's who has begun to
 * speak since it came, and he gets it; or nobody's, since its manager is gone.
 */
static struct manager *owner_of(struct cachebpf_policy *policy, struct manager *m, __u32 number)
{
	struct cachebpf_folio *folio;
	struct manager *its;

	for_folio(folio, policy, number) {
		its = manager_of(bpf_cachebpf_owner(policy, folio));
		if (its->slot != m->slot && its->slot < OTHERS) {
			put(policy, folio, lists_of(its->slot, LEVEL_DEFAULT));
			has_pages(its, LEVEL_DEFAULT, SWAPPED);
		}
		return its;
	}
	return m;
}

/* ---- which page */

static __noinline void compare(struct cachebpf_evict *evict, __u32 list, __u32 kind, __u32 level,
		    struct candidate *oldest)
{
	struct cachebpf_seen seen = {};
	__s64 place;

	if (bpf_cachebpf_first(evict, list + kind, 0, &seen))
		return;
	/* struct note */
	place = seen.data[kind != SWAPPED];
	if (place < oldest->place)
		*oldest = (struct candidate) { .place = place, .number = seen.number, .level = level };
}

/* The page on @list, which is in the order of use, that was used last; if it was read at all. */
static __noinline __u32 last_used_on(struct cachebpf_policy *policy, struct cachebpf_evict *evict, __u32 list)
{
	struct cachebpf_seen seen = {};
	struct cachebpf_folio *folio;

	if (bpf_cachebpf_first(evict, list, CACHEBPF_ITER_REVERSE, &seen))
		return 0;
	/* mostly it is the very last one */
	for_folio(folio, policy, seen.number)
		if (was_used(folio))
			return seen.number;
	for_each_folio(folio, evict, list, NR_UNREAD, CACHEBPF_ITER_REVERSE)
		if (was_used(folio))
			return bpf_cachebpf_number(folio);
	return 0;
}

/* The same for a list in another order, of its last @nr. */
static __noinline __u32 newest_on(struct cachebpf_evict *evict, __u32 list, __u32 nr)
{
	struct cachebpf_folio *folio;
	struct note *note;
	__s64 newest = -1;
	__u32 number = 0;

	for_each_folio(folio, evict, list, nr, CACHEBPF_ITER_REVERSE) {
		note = folio_data(folio, struct note);
		if (!note || note->last_use <= newest)
			continue;
		newest = note->last_use;
		number = bpf_cachebpf_number(folio);
	}
	return number;
}

/* The page of @m with the oldest place, and what managers_choose() has to know. */
__noinline int managers_find_oldest(struct cachebpf_evict *evict __arg_trusted,
				    struct manager *m __arg_nonnull,
				    struct candidate *oldest __arg_nonnull)
{
	struct candidate found = { .place = NEVER, .when = m->nr_decisions };
	__u32 level, bits;

	bpf_for(level, 0, NR_LEVELS) {
		struct candidate its = { .place = NEVER };

		bits = m->lists >> (level * NR_LISTS & 15) & 7;
		if (bits >> USED & 1)
			compare(evict, lists_of(m->slot, level), USED, level, &its);
		if (bits >> SWAPPED & 1)
			compare(evict, lists_of(m->slot, level), SWAPPED, level, &its);
		if (bits >> LENT & 1)
			compare(evict, lists_of(m->slot, level), LENT, level, &its);
		if (!its.number)
			continue;
		if (!found.first) {
			found.lowest = level;
			found.first = its.number;
		}
		if (its.place < found.place) {
			found.place = its.place;
			found.number = its.number;
			found.level = level;
		}
	}
	*oldest = found;
	return 0;
}

/* The page that @m, of whom @found was found, replaces first. */
static __u32 managers_choose(struct cachebpf_policy *policy, struct cachebpf_evict *evict,
			     const struct manager *m, const struct candidate *found)
{
	__u32 lists = lists_of(m->slot, found->lowest);

	if (!(m->mru >> (found->lowest & 7) & 1))
		return found->first;
	return last_used_on(policy, evict, lists + USED) ?:
	       newest_on(evict, lists + SWAPPED, NR_SEARCHED) ?:
	       newest_on(evict, lists + LENT, 1) ?: found->first;
}

/* In evict_folios(): as long as nobody has spoken. */
static __noinline void levels_evict_others(struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, list_of_others(), 0, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			return;
}

/* ---- who pays */

/* The oldest place of each manager, in one request. */
struct places {
	__s64 of[OTHERS + 1];
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
