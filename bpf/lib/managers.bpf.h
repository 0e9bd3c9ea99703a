/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Managers: who says which pages go first, and which page that is.
 *
 * A manager is a control group right below the policy's, or that itself, whose
 * programs have said something by the numbers of lib/advice.bpf.h.  It has a slot,
 * from 0; slot NR_MANAGERS stands for all others.  Its pages are in levels, and a
 * level has three lists:
 *
 * - USED, in the order of use;
 * - SWAPPED, of those that have another place in the order in which managers pay, in
 *   the order of these places; a use takes them back;
 * - LENT, of those that a program put into the level until they are used; then they
 *   are returned to the level of their file.
 *
 * Whoever loads the policy finds managers and priorities in maps.
 *
 * Source: Cao, Felten and Li, "Implementation and performance of
 * application-controlled file caching", OSDI 1994, sections 3 and 6.2.
 */
#pragma once

#include "../cachebpf.bpf.h"
#include "advice.bpf.h"

#define NR_MANAGERS	64
/* files that a manager can name */
#define NR_FILES	1024
/* after so many it is seen how many were wrong */
#define NR_DECISIONS	256

/* pages looked at for the place of one: as many as the kernel does */
#define NR_SORTED	128
/* pages that were read ahead, which MRU passes over, and swapped ones that it looks at */
#define NR_UNREAD	1024
#define NR_SEARCHED	256
#define NEVER		((__s64)1 << 62)

#define IN_ORDER	(CACHEBPF_LIST_USED_TAIL | CACHEBPF_LIST_STAMPED)

#define MANAGERS_EAGAIN	11
#define MANAGERS_EEXIST	17
#define MANAGERS_EINVAL	22
#define MANAGERS_ENOSPC	28

enum { USED, SWAPPED, LENT, NR_LISTS };

struct note {
	/* on SWAPPED: its place; on LENT: the list it is returned to; else the policy's */
	__s64 place;
	/* the kernel's */
	__s64 last_use;
};

/* A page, where it is in the order in which managers pay, and its level. */
struct candidate {
	__s64 place;
	__u32 number, level;
};

struct manager {
	__u64 id;
	/* levels that have, or had, pages; levels that are MRU; a bit each */
	__u32 levels, mru;
	__u32 nr_files;
	/* too many of its decisions were wrong: it has no say */
	__u32 revoked;
	/* of the current NR_DECISIONS */
	__u32 nr_recent, nr_recent_wrong;
	__u64 nr_decisions, nr_wrong;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_MANAGERS);
	__type(key, __u32);
	__type(value, struct manager);
} cachebpf_managers SEC(".maps");

/* which of them has a control group, by its id */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NR_MANAGERS);
	__type(key, __u64);
	__type(value, __u32);
} cachebpf_slots SEC(".maps");

struct named_file {
	__u64 ino;
	__u32 dev, generation;
	__u64 slot;
};

/* the levels of files that have another one than LEVEL_DEFAULT */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, NR_MANAGERS * NR_FILES);
	__type(key, struct named_file);
	__type(value, __u32);
} cachebpf_priorities SEC(".maps");

static __u32 nr_managers;
/* pages without a manager are on @silent */
static __u32 silent, first_list, returned;

/* NULL: @slot is none of a manager. */
static __always_inline struct manager *manager_in(__u32 slot)
{
	return bpf_map_lookup_elem(&cachebpf_managers, &slot);
}

/* The slot of the manager with @id. */
static __u32 slot_of(__u64 id)
{
	__u32 *slot = bpf_map_lookup_elem(&cachebpf_slots, &id);

	return slot ? *slot : NR_MANAGERS;
}

/* The same for one who has something to say now; or a negative errno. */
static __s32 slot_for(__u64 id)
{
	__u32 slot = slot_of(id), none = NR_MANAGERS, *mine;
	struct manager *m;
	int err;

	if (slot < NR_MANAGERS)
		return slot;
	/* of threads that are the first of theirs to speak one gets the slot for all */
	err = bpf_map_update_elem(&cachebpf_slots, &id, &none, BPF_NOEXIST);
	if (err)
		return err == -MANAGERS_EEXIST ? -MANAGERS_EAGAIN : -MANAGERS_ENOSPC;
	slot = __sync_fetch_and_add(&nr_managers, 1);
	m = manager_in(slot);
	mine = bpf_map_lookup_elem(&cachebpf_slots, &id);
	if (!m || !mine)
		return -MANAGERS_ENOSPC;
	m->id = id;
	*mine = slot;
	return slot;
}

static __always_inline struct named_file name_of(const struct cachebpf_file *file, __u32 slot)
{
	return (struct named_file) { .ino = file->ino, .dev = file->dev,
				     .generation = file->generation, .slot = slot };
}

/* The level of @file of the manager in @slot. */
static __u32 level_of(__u32 slot, const struct cachebpf_file *file)
{
	struct named_file name = name_of(file, slot);
	__u32 *level = bpf_map_lookup_elem(&cachebpf_priorities, &name);

	return level ? *level : LEVEL_DEFAULT;
}

static __s32 set_level(__u32 slot, const struct cachebpf_file *file, __u32 level)
{
	struct named_file name = name_of(file, slot);
	struct manager *m = manager_in(slot);

	if (!m)
		return -MANAGERS_ENOSPC;
	if (level == LEVEL_DEFAULT) {
		if (!bpf_map_delete_elem(&cachebpf_priorities, &name))
			__sync_fetch_and_add(&m->nr_files, -1);
		return CACHEBPF_ADVICE_WALK;
	}
	if (!bpf_map_update_elem(&cachebpf_priorities, &name, &level, BPF_EXIST))
		return CACHEBPF_ADVICE_WALK;
	if (__sync_fetch_and_add(&m->nr_files, 1) < NR_FILES &&
	    !bpf_map_update_elem(&cachebpf_priorities, &name, &level, BPF_NOEXIST))
		return CACHEBPF_ADVICE_WALK;
	__sync_fetch_and_add(&m->nr_files, -1);
	/* another thread may have been faster */
	return bpf_map_update_elem(&cachebpf_priorities, &name, &level, BPF_EXIST) ?
	       -MANAGERS_ENOSPC : CACHEBPF_ADVICE_WALK;
}

static __s32 set_replacement(__u32 slot, __u32 level, __u32 mru)
{
	struct manager *m = manager_in(slot);

	if (!m)
		return -MANAGERS_ENOSPC;
	if (mru)
		__sync_fetch_and_or(&m->mru, 1U << level);
	else
		__sync_fetch_and_and(&m->mru, ~(1U << level));
	return 0;
}

/* In advise(): note what @a says.  Returns what advise() has to return, in the first call. */
static __s32 hear(struct cachebpf_advice *a, const struct cachebpf_file *file)
{
	__u32 what = advice_what(a->advice), level = advice_level(a->advice);
	__u32 more = advice_more(a->advice), slot = slot_of(a->manager);
	struct manager *m = manager_in(slot);
	__s32 mine;

	/* what is standard the kernel does itself */
	if ((a->advice & ADVICE_MASK) != ADVICE)
		return 0;
	if (level >= NR_LEVELS || more > (what == ADVICE_SET_REPLACEMENT))
		return -MANAGERS_EINVAL;
	if (what == ADVICE_GET_PRIORITY)
		return level_of(slot, file);
	if (what == ADVICE_GET_REPLACEMENT)
		return m ? m->mru >> level & 1 : 0;
	if (what != ADVICE_SET_PRIORITY && what != ADVICE_SET_REPLACEMENT &&
	    what != ADVICE_SET_TEMPORARY)
		return -MANAGERS_EINVAL;
	mine = slot_for(a->manager);
	if (mine < 0)
		return mine;
	if (what == ADVICE_SET_PRIORITY)
		return set_level(mine, file, level);
	if (what == ADVICE_SET_REPLACEMENT)
		return set_replacement(mine, level, more);
	return CACHEBPF_ADVICE_WALK;
}

/* @m has pages in @level. */
static __always_inline void has_pages(struct manager *m, __u32 level)
{
	if (!(m->levels >> (level & 7) & 1))
		__sync_fetch_and_or(&m->levels, 1U << (level & 7));
}

/* One more decision of @m, of which at most @percent may be wrong, 0: all; has it a say? */
static bool may_decide(struct manager *m, __u32 percent)
{
	m->nr_decisions++;
	if (++m->nr_recent >= NR_DECISIONS) {
		m->revoked = percent && m->nr_recent_wrong * 100 > percent * NR_DECISIONS;
		m->nr_recent = 0;
		m->nr_recent_wrong = 0;
	}
	return !m->revoked;
}

static __always_inline void was_wrong(struct manager *m)
{
	m->nr_wrong++;
	m->nr_recent_wrong++;
}

/* ---- lists */

/* Its lists follow each other. */
static __always_inline __u32 lists_of(__u32 slot, __u32 level)
{
	return first_list + (slot * NR_LEVELS + level) * NR_LISTS;
}

/* Is @list a level's?  In the moment of a move a folio is on none. */
static __always_inline bool is_of_level(__u32 list)
{
	return list - first_list < NR_MANAGERS * NR_LEVELS * NR_LISTS;
}

/* Which of a level's lists @list is; others have no kind of interest. */
static __always_inline __u32 kind_of(__u32 list)
{
	return list < first_list ? USED : (list - first_list) % NR_LISTS;
}

static int levels_create(struct cachebpf_policy *policy)
{
	int i, err = list_create(policy, &silent, IN_ORDER | CACHEBPF_LIST_NEW_TAIL) ?:
		     list_create(policy, &returned, IN_ORDER);
	__u32 list = 0, used = 0;

	bpf_for(i, 0, NR_MANAGERS * NR_LEVELS) {
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

/*
 * Put @folio into the level @lists, at the place of its last use.  What is on USED
 * came there by a use: the oldest is at its head.
 */
static void put(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 lists)
{
	struct note *note = folio_data(folio, struct note);
	__u32 list = folio->list;

	if (!note || list == lists + USED || list == lists + SWAPPED)
		return;
	note->place = note->last_use;
	bpf_cachebpf_list_insert(policy, folio, lists + SWAPPED, NR_SORTED);
}

/* Lend it to that level; its use returns it to @home. */
static void lend(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 lists,
		 __u32 home)
{
	struct note *note = folio_data(folio, struct note);

	if (!note)
		return;
	note->place = home + USED;
	bpf_cachebpf_list_move(policy, folio, lists + LENT, TAIL);
}

__s32 CACHEBPF_OP(managers_advise, struct cachebpf_policy *policy, struct cachebpf_advice *a)
{
	struct cachebpf_file file = { .ino = a->file.ino, .dev = a->file.dev,
				      .generation = a->file.generation };
	__u32 slot, level = advice_level(a->advice), home;
	struct cachebpf_folio *folio;
	struct manager *m;

	if (a->begins)
		return hear(a, &file);
	slot = slot_of(a->manager);
	m = manager_in(slot);
	if (!m)
		return 0;
	home = level_of(slot, &file);
	has_pages(m, level);
	has_pages(m, home);
	for_each_advised_folio(folio, a) {
		if (level == home)
			put(policy, folio, lists_of(slot, home));
		else
			lend(policy, folio, lists_of(slot, level), lists_of(slot, home));
	}
	return CACHEBPF_ADVICE_WALK;
}

/* What was lent, and used since, goes to the level of its file. */
static void levels_take_back(struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;
	struct note *note;
	__u32 home;

	for_each_folio(folio, evict, returned, 0, 0) {
		note = folio_data(folio, struct note);
		home = note ? note->place : 0;
		bpf_cachebpf_list_move(policy, folio, is_of_level(home) ? home : silent, TAIL);
	}
}

/* ---- which page */

static void compare(struct cachebpf_evict *evict, __u32 list, __u32 kind, __u32 level,
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

/* The page of @list, of the last @nr, that was used last; one of those read at all, if it is @in_order. */
static __u32 newest_on(struct cachebpf_evict *evict, __u32 list, __u32 nr, bool in_order)
{
	struct cachebpf_folio *folio;
	struct note *note;
	__s64 newest = -1;
	__u32 number = 0;

	for_each_folio(folio, evict, list, nr, CACHEBPF_ITER_REVERSE) {
		if (in_order && was_used(folio))
			return bpf_cachebpf_number(folio);
		note = folio_data(folio, struct note);
		if (in_order || !note || note->last_use <= newest)
			continue;
		newest = note->last_use;
		number = bpf_cachebpf_number(folio);
	}
	return number;
}

/* The page that the manager in @slot replaces first; 0: there is none. */
__noinline __u32 managers_choose(struct cachebpf_evict *evict __arg_trusted, __u32 slot)
{
	struct candidate oldest = { .place = NEVER };
	struct manager *m = manager_in(slot);
	__u32 level, lists, number;

	if (!m)
		return 0;
	bpf_for(level, 0, NR_LEVELS) {
		if (!(m->levels >> level & 1))
			continue;
		lists = lists_of(slot, level);
		if (m->mru >> level & 1) {
			number = newest_on(evict, lists + USED, NR_UNREAD, true) ?:
				 newest_on(evict, lists + SWAPPED, NR_SEARCHED, false) ?:
				 newest_on(evict, lists + LENT, 1, false);
			if (number)
				return number;
		}
		compare(evict, lists, USED, level, &oldest);
		compare(evict, lists, SWAPPED, level, &oldest);
		compare(evict, lists, LENT, level, &oldest);
		if (oldest.number)
			return oldest.number;
	}
	return 0;
}
