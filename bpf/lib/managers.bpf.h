/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Managers: who says which pages go first, and which page that is.
 *
 * A manager is a control group right below the policy's, or that itself, whose
 * programs have said something by the numbers of lib/advice.bpf.h, or for whom
 * somebody did by the program managers_say.  It has a slot with five levels, and a
 * level has three lists:
 *
 * - USED, in the order of use;
 * - SWAPPED, of those that have another place in the order in which managers pay, in
 *   the order of these places; a use takes them back;
 * - LENT, of those that a program put into the level until they are used; then they
 *   are returned to the level of their file.
 *
 * The slot OTHERS is for all who have said nothing: one more manager, with one level.
 *
 * Source: Cao, Felten and Li, "Implementation and performance of
 * application-controlled file caching", OSDI 1994, sections 3 and 6.2.
 */
#pragma once

#include "../cachebpf.bpf.h"
#include "advice.bpf.h"

#define NR_MANAGERS	64
#define OTHERS		NR_MANAGERS
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

#define MANAGERS_ENOENT	2
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

/* Whoever loads the policy reads these three maps: their layout is an interface. */

struct manager {
	/* OTHERS: none yet, which is over in a moment */
	__u32 slot;
	/* levels that have, or had, pages; levels that are MRU; a bit each */
	__u32 levels, mru;
	/* that have another level than LEVEL_DEFAULT */
	__u32 nr_files;
	/* too many of its decisions were wrong: it has no say */
	__u32 revoked;
	/* of the current NR_DECISIONS */
	__u32 nr_recent, nr_recent_wrong;
	/* there may be pages in its levels of one who had the slot before; see owner_of() */
	__u32 inherits;
	__u64 nr_decisions, nr_wrong;
};

/* by the id of its control group; some more than slots, for those who begin at the same time */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * NR_MANAGERS);
	__type(key, __u64);
	__type(value, struct manager);
} cachebpf_managers SEC(".maps");

struct named_file {
	__u64 ino;
	__u32 dev, generation;
	__u64 manager;
};

/* the levels of files that have another one than LEVEL_DEFAULT */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, NR_MANAGERS * NR_FILES);
	__type(key, struct named_file);
	__type(value, __u32);
} cachebpf_priorities SEC(".maps");

/* Pages in each level of each slot; what is lent counts where it is returned to. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_MANAGERS * NR_LEVELS);
	__type(key, __u32);
	__type(value, __s64);
} cachebpf_pages SEC(".maps");

/* the id of who has the slot; 0: nobody */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_MANAGERS);
	__type(key, __u32);
	__type(value, __u64);
} cachebpf_slots SEC(".maps");

/* of any program's; the kernel's own */
struct cgroup {
	int level;
} __kernel_type;

struct cgroup *bpf_cgroup_from_id(__u64 id) __ksym;
void bpf_cgroup_release(struct cgroup *cgroup) __ksym;

static struct manager others = { .slot = OTHERS, .levels = 1 << LEVEL_DEFAULT };
/* that were given a slot so far */
static __u32 nr_managers;
static __u32 first_list, returned;

/* ---- who they are */

/* NULL: nobody has @slot. */
static struct manager *manager_in(__u32 slot)
{
	__u64 *id;

	if (slot == OTHERS)
		return &others;
	id = bpf_map_lookup_elem(&cachebpf_slots, &slot);
	return id && *id ? bpf_map_lookup_elem(&cachebpf_managers, id) : NULL;
}

/* Who says what is to happen with pages of the control group with @id. */
static __always_inline struct manager *manager_of(__u64 id)
{
	struct manager *m = bpf_map_lookup_elem(&cachebpf_managers, &id);

	return m && m->slot < OTHERS ? m : &others;
}

/* Is the control group with @id gone?  No other one ever has that number. */
static bool is_gone(__u64 id)
{
	struct cgroup *cgroup = bpf_cgroup_from_id(id);

	if (!cgroup)
		return true;
	bpf_cgroup_release(cgroup);
	return false;
}

static long forget_file(void *map, struct named_file *name, __u32 *level, void *unused)
{
	if (!bpf_map_lookup_elem(&cachebpf_managers, &name->manager))
		bpf_map_delete_elem(&cachebpf_priorities, name);
	return 0;
}

/*
 * Take their slots from those who are gone, and forget what they have said.  Their pages
 * stay where they are: nobody has to wait while thousands are moved, and here they could
 * not be found.  Nobody asks for them any more, and they are older than those of whoever
 * has the slot next.  So they do no harm if they go in the stead of his; and if he says
 * MRU, by which they would stay, owner_of() finds them when they are to pay: then they go.
 */
static void forget_gone(void)
{
	__u32 slot;
	__u64 *id;

	bpf_for(slot, 0, NR_MANAGERS) {
		__u32 at = slot;
		__u64 gone;

		id = bpf_map_lookup_elem(&cachebpf_slots, &at);
		gone = id ? *id : 0;
		if (!gone || !is_gone(gone))
			continue;
		/* another thread may see the same, and somebody have the slot already */
		if (__sync_val_compare_and_swap(id, gone, 0) == gone)
			bpf_map_delete_elem(&cachebpf_managers, &gone);
	}
	bpf_for_each_map_elem(&cachebpf_priorities, forget_file, NULL, 0);
}

/* Returns OTHERS if there is no slot. */
static __u32 take_slot(__u64 id)
{
	__u32 slot;

	bpf_for(slot, 0, NR_MANAGERS) {
		__u32 at = slot;
		__u64 *whose = bpf_map_lookup_elem(&cachebpf_slots, &at);

		if (whose && !*whose && !__sync_val_compare_and_swap(whose, 0, id))
			return at;
	}
	return OTHERS;
}

/* Have a manager of the control group with @id, who has something to say.  Returns 0 or a negative errno. */
static __s32 manager_begin(__u64 id)
{
	struct manager *m = bpf_map_lookup_elem(&cachebpf_managers, &id), none = { .slot = OTHERS };
	__u32 slot;
	__s32 err;

	if (m)
		return m->slot < OTHERS ? 0 : -MANAGERS_EAGAIN;
	if (is_gone(id))
		return -MANAGERS_ENOENT;
	/* of threads that are the first of theirs to speak one gets the slot for all */
	err = bpf_map_update_elem(&cachebpf_managers, &id, &none, BPF_NOEXIST);
	if (err)
		return err == -MANAGERS_EEXIST ? -MANAGERS_EAGAIN : -MANAGERS_ENOSPC;
	slot = take_slot(id);
	if (slot == OTHERS) {
		forget_gone();
		slot = take_slot(id);
	}
	m = bpf_map_lookup_elem(&cachebpf_managers, &id);
	if (slot == OTHERS || !m) {
		bpf_map_delete_elem(&cachebpf_managers, &id);
		return -MANAGERS_ENOSPC;
	}
	/* as long as there are new slots nobody is forgotten */
	if (__sync_fetch_and_add(&nr_managers, 1) >= NR_MANAGERS) {
		m->levels = (1 << NR_LEVELS) - 1;
		m->inherits = true;
	}
	m->slot = slot;
	return 0;
}

/* ---- what they say */

static __always_inline struct named_file name_of(const struct cachebpf_file *file, __u64 manager)
{
	return (struct named_file) { .ino = file->ino, .dev = file->dev,
				     .generation = file->generation, .manager = manager };
}

/* The level of @file of the manager with @id. */
static __u32 level_of(__u64 id, const struct cachebpf_file *file)
{
	struct named_file name = name_of(file, id);
	__u32 *level = bpf_map_lookup_elem(&cachebpf_priorities, &name);

	return level ? *level : LEVEL_DEFAULT;
}

static __s32 set_level(struct manager *m, __u64 id, const struct cachebpf_file *file, __u32 level)
{
	struct named_file name = name_of(file, id);

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

static __s32 set_replacement(struct manager *m, __u32 level, __u32 mru)
{
	if (mru)
		__sync_fetch_and_or(&m->mru, 1U << level);
	else
		__sync_fetch_and_and(&m->mru, ~(1U << level));
	return 0;
}

/* Note what the manager with @id says of @file.  Returns what advise() has to return, in the first call. */
static __s32 hear(__u64 id, const struct cachebpf_file *file, __s32 advice)
{
	__u32 what = advice_what(advice), level = advice_level(advice), more = advice_more(advice);
	struct manager *m;
	__s32 err;

	/* what is standard the kernel does itself */
	if ((advice & ADVICE_MASK) != ADVICE)
		return 0;
	if (level >= NR_LEVELS || more > (what == ADVICE_SET_REPLACEMENT))
		return -MANAGERS_EINVAL;
	if (what == ADVICE_GET_PRIORITY)
		return level_of(id, file);
	if (what == ADVICE_GET_REPLACEMENT)
		return manager_of(id)->mru >> level & 1;
	if (what != ADVICE_SET_PRIORITY && what != ADVICE_SET_REPLACEMENT &&
	    what != ADVICE_SET_TEMPORARY)
		return -MANAGERS_EINVAL;
	err = manager_begin(id);
	if (err)
		return err;
	m = manager_of(id);
	if (what == ADVICE_SET_PRIORITY)
		return set_level(m, id, file, level);
	if (what == ADVICE_SET_REPLACEMENT)
		return set_replacement(m, level, more);
	return CACHEBPF_ADVICE_WALK;
}

struct managers_say {
	/* the id of its control group */
	__u64 manager;
	/* the file, if one is meant */
	__u64 ino;
	__u32 dev, generation;
	/* as of posix_fadvise(); but nothing of cached pages, which cannot be found here */
	__s32 advice;
	__u32 unused;
};

/* For whoever loads the policy, to speak for programs that do not: returns what posix_fadvise() would. */
SEC("syscall") int managers_say(struct managers_say *said)
{
	struct cachebpf_file file = { .ino = said->ino, .dev = said->dev,
				      .generation = said->generation };
	__s32 answer;

	if ((said->advice & ADVICE_MASK) != ADVICE || advice_what(said->advice) == ADVICE_SET_TEMPORARY)
		return -MANAGERS_EINVAL;
	answer = hear(said->manager, &file, said->advice);
	return answer == CACHEBPF_ADVICE_WALK ? 0 : answer;
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

static __always_inline __u32 list_of_others(void)
{
	return lists_of(OTHERS, LEVEL_DEFAULT) + USED;
}

/* Is @list a level's?  In the moment of a move a folio is on none. */
static __always_inline bool is_of_level(__u32 list)
{
	return list - first_list < (OTHERS + 1) * NR_LEVELS * NR_LISTS;
}

/* Which of a level's lists @list is; others have no kind of interest. */
static __always_inline __u32 kind_of(__u32 list)
{
	return is_of_level(list) ? (list - first_list) % NR_LISTS : USED;
}

static int levels_create(struct cachebpf_policy *policy)
{
	int i, err = list_create(policy, &returned, IN_ORDER);
	__u32 list = 0, used = 0;

	bpf_for(i, 0, (OTHERS + 1) * NR_LEVELS) {
		if (err)
			break;
		err = list_create(policy, &used, i == OTHERS * NR_LEVELS + LEVEL_DEFAULT ?
						 IN_ORDER | CACHEBPF_LIST_NEW_TAIL : IN_ORDER) ?:
		      list_create(policy, &list, IN_ORDER | LIST_USED_TO(used)) ?:
		      list_create(policy, &list, IN_ORDER | LIST_USED_TO(returned));
		if (!i)
			first_list = used;
	}
	return err;
}

/* The list of a level that a page on @list belongs to, or will be returned to. */
static __always_inline __u32 home_of(__u32 list, const struct note *note)
{
	return list == returned || kind_of(list) == LENT ? note->place : list;
}

/* The level of @list has @nr more pages; for lists of no manager nothing is counted. */
static __always_inline void count(__u32 list, __s64 nr)
{
	__u32 i = (list - first_list) / NR_LISTS;
	__s64 *pages = bpf_map_lookup_elem(&cachebpf_pages, &i);

	if (pages)
		__sync_fetch_and_add(pages, nr);
}

/* The page @folio belongs to @list from now on. */
static __always_inline void count_move(struct cachebpf_folio *folio, const struct note *note, __u32 list)
{
	__s64 nr = folio_pages(folio);

	count(home_of(folio->list, note), -nr);
	count(list, nr);
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
	count_move(folio, note, lists);
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
	count_move(folio, note, home);
	note->place = home + USED;
	bpf_cachebpf_list_move(policy, folio, lists + LENT, TAIL);
}

__s32 CACHEBPF_OP(managers_advise, struct cachebpf_policy *policy, struct cachebpf_advice *a)
{
	struct cachebpf_file file = { .ino = a->file.ino, .dev = a->file.dev,
				      .generation = a->file.generation };
	__u32 level = advice_level(a->advice), home;
	struct cachebpf_folio *folio;
	__u64 id = a->manager;
	struct manager *m;

	if (a->begins)
		return hear(id, &file, a->advice);
	m = manager_of(id);
	if (m->slot == OTHERS)
		return 0;
	home = level_of(id, &file);
	has_pages(m, level);
	has_pages(m, home);
	for_each_advised_folio(folio, a) {
		if (level == home)
			put(policy, folio, lists_of(m->slot, home));
		else
			lend(policy, folio, lists_of(m->slot, level), lists_of(m->slot, home));
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
			has_pages(its, LEVEL_DEFAULT);
			put(policy, folio, lists_of(its->slot, LEVEL_DEFAULT));
		}
		return its;
	}
	return m;
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

/* The page of @m with the oldest place. */
__noinline int managers_find_oldest(struct cachebpf_evict *evict __arg_trusted,
				    struct manager *m __arg_nonnull,
				    struct candidate *oldest __arg_nonnull)
{
	__u32 level;

	*oldest = (struct candidate) { .place = NEVER };
	bpf_for(level, 0, NR_LEVELS) {
		if (!(m->levels >> level & 1))
			continue;
		compare(evict, lists_of(m->slot, level), USED, level, oldest);
		compare(evict, lists_of(m->slot, level), SWAPPED, level, oldest);
		compare(evict, lists_of(m->slot, level), LENT, level, oldest);
	}
	return 0;
}

/* The page that @m replaces first; 0: there is none. */
__noinline __u32 managers_choose(struct cachebpf_evict *evict __arg_trusted,
				 struct manager *m __arg_nonnull)
{
	struct candidate oldest = { .place = NEVER };
	__u32 level, lists, number;

	bpf_for(level, 0, NR_LEVELS) {
		if (!(m->levels >> level & 1))
			continue;
		lists = lists_of(m->slot, level);
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
