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
 *   are returned to the level of their file.  It is in the order of their places as well,
 *   or one that is new in front would hide that the manager has old ones.
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

/* of a lent page: where in "place" what begins, and that it stayed in the stead of another since it was lent */
#define LENT_SHIFT	12
#define LENT_HOME	0x7ff
#define STAYED		0x800
/* of one that is proposed, see acfs */
#define PROPOSED	(1ULL << 63)

#define IN_ORDER	(CACHEBPF_LIST_USED_TAIL | CACHEBPF_LIST_STAMPED)

enum { USED, SWAPPED, LENT, NR_LISTS };

/* in the bits of a manager */
#define LISTS_OF_USED	0x1249U

struct note {
	/* on SWAPPED: its place; on LENT, see lent_by(); else the policy's */
	__s64 place;
	/* the kernel's; 0: it was kept, and MRU names others first */
	__s64 last_use;
};

/* Of some lists: the page with the oldest place, its list, and the oldest place on another one. */
struct oldest {
	__s64 place, next;
	__u32 number, list;
};

/* Of all lists of a manager, and of those of its lowest level that has pages. */
struct candidates {
	struct oldest all, lowest;
};

static __u32 first_list, returned;
/* what is proposed, until it is gone; and what was used meanwhile, so that the kernel keeps it */
static __u32 leaving, kept;
/* the last use of the newest page */
static __s64 now;

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

static __always_inline __u32 level_of_list(__u32 list)
{
	return (list - first_list) / NR_LISTS % NR_LEVELS;
}

/* Where a page on @list is in the order in which managers pay. */
static __always_inline __s64 place_on(__u32 list, const struct note *note)
{
	return kind_of(list) == SWAPPED ? note->place : note->last_use;
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
	struct manager *m = manager_in(slot_of_list(list));

	if (m)
		has_pages(m, level_of_list(list), kind_of(list));
}

/* Returns the pages on the list. */
static __always_inline __u64 forget_if_empty(struct cachebpf_policy *policy, struct manager *m,
					     __u32 level, __u32 kind)
{
	__u32 list = lists_of(m->slot, level) + kind, bit = 1U << ((level * NR_LISTS + kind) & 15);
	__u64 nr;

	if (!(m->lists & bit))
		return 0;
	nr = bpf_cachebpf_list_len(policy, list);
	if (nr)
		return nr;
	__sync_fetch_and_and(&m->lists, ~bit);
	/* what came meanwhile is seen here, or whoever has put it there sees that the bit is gone */
	if (bpf_cachebpf_list_len(policy, list))
		__sync_fetch_and_or(&m->lists, bit);
	return 0;
}

/*
 * Lists of @m with other places, or lent pages, that are empty now need not be looked at.
 * By the others it is known how many pages may have stayed.
 */
__verified_once int levels_forget_empty(struct cachebpf_policy *policy __arg_trusted,
					struct manager *m __arg_nonnull)
{
	__u64 most = 0;
	__u32 level;

	/* mostly there are none */
	if (!(m->lists & ~LISTS_OF_USED))
		return 0;
	bpf_for(level, 0, NR_LEVELS) {
		most = max(most, forget_if_empty(policy, m, level, SWAPPED));
		most = max(most, forget_if_empty(policy, m, level, LENT));
	}
	set_unit(m, most);
	return 0;
}

static int levels_create(struct cachebpf_policy *policy)
{
	int i, err = list_create(policy, &kept, IN_ORDER) ?:
		     list_create(policy, &leaving, IN_ORDER | LIST_USED_TO(kept)) ?:
		     list_create(policy, &returned, IN_ORDER);
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

/*
 * What a lent page notes: by what LENT is sorted, which is its place, here @when, and the
 * list @home that it is returned to.
 */
static __always_inline __s64 lent_by(__s64 when, __u32 home)
{
	return when << LENT_SHIFT | home;
}

/* Where a page is returned to; 0: it is no list, since another request or advice has it. */
static __always_inline __u32 lent_home(const struct note *note)
{
	return note->place < 0 ? 0 : note->place & LENT_HOME;
}

/* The list of a level that a page on @list belongs to, or will be returned to. */
static __always_inline __u32 home_of(__u32 list, const struct note *note)
{
	return list == returned || kind_of(list) == LENT ? lent_home(note) : list;
}

/* The same for one that is proposed, see acfs. */
static __always_inline __u32 proposed_home(__s64 place)
{
	return place >> 48 & 0x7fff;
}

/*
 * Would LRU have what @m misses, and what went @when it had made so many decisions?  Yes, if
 * no more pages of @m have gone since than there are on @list, SWAPPED or LENT, that stayed and
 * were not used: these would have gone.
 */
static bool lru_would_have(struct cachebpf_policy *policy, const struct manager *m, __u32 list,
			   __u16 when)
{
	return decisions_are_at_most(m, when, bpf_cachebpf_list_len(policy, list));
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
__verified_once int put(struct cachebpf_policy *policy __arg_trusted,
			struct cachebpf_folio *folio __arg_trusted, __u32 lists)
{
	struct note *note = folio_data(folio, struct note);
	__u32 list = folio->list;

	/* what is proposed just now is left alone */
	if (!note || list == lists + USED || list == lists + SWAPPED || !can_be_told_of(list))
		return 0;
	count_move(folio, note, lists);
	note->place = note->last_use;
	bpf_cachebpf_list_insert(policy, folio, lists + SWAPPED, NR_SORTED);
	return 0;
}

/* Lend it to that level; its use returns it to @home. */
static void lend(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 lists,
		 __u32 home)
{
	struct note *note = folio_data(folio, struct note);
	__u32 list = folio->list;

	if (!note)
		return;
	/* mostly it is used just before */
	if (list != home + USED) {
		/* said again, it changes nothing */
		if (!can_be_told_of(list) || (list == lists + LENT && lent_home(note) == home + USED))
			return;
		count_move(folio, note, home);
	}
	note->place = lent_by(note->last_use, home + USED);
	bpf_cachebpf_list_insert(policy, folio, lists + LENT, NR_SORTED);
}

/*
 * The next pages of the range, which are on USED of the level @from still, mostly all of them:
 * what put() and lend() do with each, at once.
 */
static __always_inline void put_next(struct cachebpf_advice *a, __u32 from, __u32 lists)
{
	int nr;

	if (from == lists)
		return;
	nr = bpf_cachebpf_advice_insert(a, from + USED, lists + SWAPPED);
	if (nr > 0) {
		count(from, -(__s64)nr);
		count(lists, nr);
	}
}

static __always_inline void lend_next(struct cachebpf_advice *a, __u32 lists, __u32 home)
{
	/* mostly they are used just before */
	bpf_cachebpf_advice_move(a, home + USED, lists + LENT, lent_by(now, home + USED));
}

__s32 CACHEBPF_OP(managers_advise, struct cachebpf_policy *policy, struct cachebpf_advice *a)
{
	struct cachebpf_file file = { .ino = a->file.ino, .dev = a->file.dev,
				      .generation = a->file.generation };
	__u32 level = advice_level(a->advice), was, home, lists, homes;
	struct cachebpf_folio *folio;
	__u64 id = a->manager;
	struct manager *m;
	__s32 answer;

	/* what is standard the kernel does itself */
	if ((a->advice & ADVICE_MASK) != ADVICE)
		return 0;
	m = manager_of(id);
	was = level_of(m, id, &file);
	if (a->begins) {
		answer = hear(m, id, &file, was, a->advice);
		if (answer != CACHEBPF_ADVICE_WALK)
			return answer;
		if (m->slot == OTHERS)
			m = manager_of(id);
	}
	if (m->slot == OTHERS)
		return 0;
	home = a->begins && advice_what(a->advice) == ADVICE_SET_PRIORITY ? level : was;
	lists = lists_of(m->slot, level);
	homes = lists_of(m->slot, home);
	if (!a->begins) {
		for_each_advised_folio(folio, a) {
			if (lists == homes)
				put(policy, folio, lists);
			else
				lend(policy, folio, lists, homes);
		}
	}
	/* what was said of another part of the file before has not moved these */
	if (lists == homes)
		put_next(a, lists_of(m->slot, was == level ? LEVEL_DEFAULT : was), lists);
	else
		lend_next(a, lists, homes);
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
		home = note ? lent_home(note) : 0;
		/* another request was faster, and the note means something else */
		if (folio->list != returned)
			continue;
		bpf_cachebpf_list_move(policy, folio, is_of_level(home) ? home : list_of_others(), TAIL);
	}
}

/*
 * Whose is @folio, of the pages of @m?  It may be another's who has begun to speak since it
 * came, and he gets it; or nobody's, since its manager is gone.
 */
static struct manager *owner_of(struct cachebpf_policy *policy, struct manager *m,
				struct cachebpf_folio *folio)
{
	struct manager *its = manager_of(bpf_cachebpf_owner(policy, folio));

	if (its->slot != m->slot && its->slot < OTHERS) {
		put(policy, folio, lists_of(its->slot, LEVEL_DEFAULT));
		has_pages(its, LEVEL_DEFAULT, SWAPPED);
	}
	return its;
}

/* ---- which page */

static __always_inline void consider(struct oldest *o, __u32 list, __u32 number, __s64 place)
{
	if (place < o->place) {
		o->next = o->place;
		o->place = place;
		o->number = number;
		o->list = list;
	} else if (place < o->next) {
		o->next = place;
	}
}

static __noinline void look_at(struct cachebpf_evict *evict, __u32 list, __u32 kind,
			       struct candidates *found)
{
	struct cachebpf_seen seen = {};
	__s64 place;

	if (bpf_cachebpf_first(evict, list, 0, &seen))
		return;
	/* struct note */
	place = seen.data[kind != SWAPPED];
	consider(&found->all, list, seen.number, place);
	if (!found->lowest.number || level_of_list(list) == level_of_list(found->lowest.list))
		consider(&found->lowest, list, seen.number, place);
}

/* The pages of @m that pay next, and go next. */
__verified_once int managers_find_oldest(struct cachebpf_evict *evict __arg_trusted,
				    struct manager *m __arg_nonnull,
				    struct candidates *found __arg_nonnull)
{
	__u32 level, bits, lists;

	found->all = found->lowest = (struct oldest) { .place = NEVER, .next = NEVER };
	bpf_for(level, 0, NR_LEVELS) {
		bits = m->lists >> (level * NR_LISTS & 15) & 7;
		lists = lists_of(m->slot, level);
		if (bits >> USED & 1)
			look_at(evict, lists + USED, USED, found);
		if (bits >> SWAPPED & 1)
			look_at(evict, lists + SWAPPED, SWAPPED, found);
		if (bits >> LENT & 1)
			look_at(evict, lists + LENT, LENT, found);
	}
	return 0;
}

/* Of the level of @list the page used last goes first, which @m says. */
static __always_inline bool is_mru(const struct manager *m, __u32 list)
{
	return m->mru >> (level_of_list(list) & 7) & 1;
}

/* Of the last @nr pages on @list the one that was used last. */
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

/* What else goes first of the level of @lowest, of which no page was used since it came or was swapped. */
static __u32 newest_of(struct cachebpf_evict *evict, const struct oldest *lowest)
{
	__u32 lists = lowest->list - kind_of(lowest->list);

	return newest_on(evict, lists + SWAPPED, NR_SEARCHED) ?: newest_on(evict, lists + LENT, 1) ?:
	       lowest->number;
}

/* The next page of a walk that still is on its @list; with @mru only what was read at all, and @before. */
static __always_inline struct cachebpf_folio *next_to_go(struct bpf_iter_cachebpf_list *walk,
							 __u32 list, bool mru, __s64 before)
{
	struct cachebpf_folio *folio;
	struct note *note;

	while ((folio = bpf_iter_cachebpf_list_next(walk))) {
		note = folio_data(folio, struct note);
		if (folio->list == list && note &&
		    (!mru || (was_used(folio) && note->last_use < before)))
			break;
	}
	return folio;
}

/* The page A of @m stays, and gets the place of B. */
static void levels_swap(struct cachebpf_policy *policy, struct manager *m, struct cachebpf_folio *A,
			struct cachebpf_folio *B)
{
	struct note *a = folio_data(A, struct note), *b = folio_data(B, struct note);
	__u32 list = A->list;
	__s64 place;

	/* used just now, or another request has it */
	if (!a || !b || slot_of_list(list) != m->slot)
		return;
	place = place_on(B->list, b);
	if (kind_of(list) == LENT) {
		/* there the place is that of its last use, and it has to know its way back */
		a->last_use = place;
		a->place = lent_by(place, lent_home(a)) | STAYED;
		bpf_cachebpf_list_insert(policy, A, list, NR_SORTED);
	} else {
		a->place = place;
		bpf_cachebpf_list_insert(policy, A, list - kind_of(list) + SWAPPED, NR_SORTED);
		has_pages(m, level_of_list(list), SWAPPED);
	}
}

/* In evict_folios(): as long as nobody has spoken, or if too many requests wait for this processor. */
static __noinline void levels_evict_others(struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, list_of_others(), 0, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			return;
}
