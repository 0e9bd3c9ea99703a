/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Managers: who says which pages go first.
 *
 * A manager is a control group right below the policy's, or that itself, whose
 * programs have said something by the numbers of lib/advice.bpf.h, or for whom
 * somebody did by the program managers_say.  It has a slot; the slot OTHERS is for all
 * who have said nothing.  Where their pages are: lib/levels.bpf.h.
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
/* after so many it is seen how many were wrong; of these periods it has no say in so many */
#define NR_DECISIONS	256
/* and as many of these it may make again, as a page was kept */
#define MAX_KEPT	128
/* with those before, up to so many, of which half is forgotten then */
#define MAX_DECISIONS	1024
/* decisions are noted in 13 bits, and 3 for what units they are in */
#define UNIT_SHIFT	13
#define UNIT_MASK	((1U << UNIT_SHIFT) - 1)
#define UNIT_MAX	7
#define UNITS		256
/* pages that it may have paid in advance: a huge one */
#define PAID_MAX	512
#define PENALTY_MIN	4
#define PENALTY_MAX	64

#define MANAGERS_ENOENT	2
#define MANAGERS_EAGAIN	11
#define MANAGERS_EEXIST	17
#define MANAGERS_EINVAL	22
#define MANAGERS_ENOSPC	28

/* Whoever loads the policy reads these three maps: their layout is an interface. */

struct manager {
	/* OTHERS: none yet, which is over in a moment */
	__u32 slot;
	/* its lists that have, or had, pages, see has_pages(); levels that are MRU; a bit each */
	__u32 lists, mru;
	/* that have another level than LEVEL_DEFAULT */
	__u32 nr_files;
	/* too many of its decisions were wrong: it has no say for so many periods, of so many */
	__u16 revoked, penalty;
	/* of those that are judged, MAX_DECISIONS at most */
	__u32 nr_recent, nr_recent_wrong;
	/* there may be pages in its levels of one who had the slot before; see owner_of() */
	__u8 inherits;
	/* in what units its decisions are noted, see decisions_noted() */
	__u8 unit;
	/* pages that went for one that has more, and has not been paid for yet; or too many for one that has less */
	__u16 paid;
	__u64 nr_decisions, nr_wrong;
	/* pages that it has to give for others that it misses; below 0 if two processors counted one */
	__s16 owes;
	/* of its last decisions, NR_DECISIONS at most, those that it makes again, as a page was kept */
	__u16 nr_kept;
	/* of the last one, which page had stayed, and when it was missed */
	__u32 stayed;
	__s64 missed_at;
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

static struct manager others = { .slot = OTHERS };
/* that were given a slot so far */
static __u32 nr_managers;

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

/* Forget what the manager @id has said, who is gone. */
static void manager_forget(__u64 id)
{
	struct manager *m = bpf_map_lookup_elem(&cachebpf_managers, &id);
	bool any = m && m->nr_files;

	bpf_map_delete_elem(&cachebpf_managers, &id);
	if (any)
		bpf_for_each_map_elem(&cachebpf_priorities, forget_file, NULL, 0);
}

/*
 * Take a slot for @id from somebody who is gone.  His pages stay where they are: nobody has
 * to wait while thousands are moved, and here they could not be found.  Nobody asks for them
 * any more, and they are older than those of @id.  So they do no harm if they go in the stead
 * of his; and if he says MRU, by which they would stay, owner_of() finds them when they are to
 * pay: then they go.  All others who are gone stay managers, for who else would pay with their
 * pages?  Slots take turns: he who has had his for the longest time has the fewest of them left.
 * Returns OTHERS if nobody is gone.
 */
static __u32 inherit_slot(__u64 id)
{
	__u32 i;

	bpf_for(i, 0, NR_MANAGERS) {
		__u32 at = (nr_managers + i) % NR_MANAGERS;
		__u64 *whose = bpf_map_lookup_elem(&cachebpf_slots, &at);
		__u64 gone = whose ? *whose : 0;

		if (!gone || !is_gone(gone))
			continue;
		/* another thread may see the same */
		if (__sync_val_compare_and_swap(whose, gone, id) != gone)
			continue;
		manager_forget(gone);
		return at;
	}
	return OTHERS;
}

/* Returns OTHERS if there is no slot that nobody had yet. */
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
		return -MANAGERS_EAGAIN;
	if (is_gone(id))
		return -MANAGERS_ENOENT;
	/* of threads that are the first of theirs to speak one gets the slot for all */
	err = bpf_map_update_elem(&cachebpf_managers, &id, &none, BPF_NOEXIST);
	if (err)
		return err == -MANAGERS_EEXIST ? -MANAGERS_EAGAIN : -MANAGERS_ENOSPC;
	slot = take_slot(id);
	if (slot == OTHERS)
		slot = inherit_slot(id);
	m = bpf_map_lookup_elem(&cachebpf_managers, &id);
	if (slot == OTHERS || !m) {
		bpf_map_delete_elem(&cachebpf_managers, &id);
		return -MANAGERS_ENOSPC;
	}
	/* as long as there are new slots nobody is forgotten */
	if (__sync_fetch_and_add(&nr_managers, 1) >= NR_MANAGERS) {
		m->lists = ~0U;
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

/* The level of @file of @m, with @id. */
static __u32 level_of(const struct manager *m, __u64 id, const struct cachebpf_file *file)
{
	struct named_file name = name_of(file, id);
	__u32 *level = m->nr_files ? bpf_map_lookup_elem(&cachebpf_priorities, &name) : NULL;

	return level ? *level : LEVEL_DEFAULT;
}

/* @file, which has the level @was, gets another one. */
static __s32 set_level(struct manager *m, __u64 id, const struct cachebpf_file *file, __u32 was,
		       __u32 level)
{
	struct named_file name = name_of(file, id);

	if (level == was)
		return CACHEBPF_ADVICE_WALK;
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

/*
 * Note what @m, with @id, says of @file, which has the level @was.  Returns what advise() has to
 * return, in the first call.
 */
static __s32 hear(struct manager *m, __u64 id, const struct cachebpf_file *file, __u32 was, __s32 advice)
{
	__u32 what = advice_what(advice), level = advice_level(advice), more = advice_more(advice);
	__s32 err;

	if (level >= NR_LEVELS || more > (what == ADVICE_SET_REPLACEMENT))
		return -MANAGERS_EINVAL;
	if (what == ADVICE_GET_PRIORITY)
		return was;
	if (what == ADVICE_GET_REPLACEMENT)
		return m->mru >> level & 1;
	if (what != ADVICE_SET_PRIORITY && what != ADVICE_SET_REPLACEMENT &&
	    what != ADVICE_SET_TEMPORARY)
		return -MANAGERS_EINVAL;
	if (m->slot == OTHERS) {
		err = manager_begin(id);
		if (err)
			return err;
		m = manager_of(id);
		if (m->slot == OTHERS)
			return -MANAGERS_ENOENT;
	}
	if (what == ADVICE_SET_PRIORITY)
		return set_level(m, id, file, was, level);
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
	struct manager *m = manager_of(said->manager);
	__s32 answer;

	if ((said->advice & ADVICE_MASK) != ADVICE || advice_what(said->advice) == ADVICE_SET_TEMPORARY)
		return -MANAGERS_EINVAL;
	answer = hear(m, said->manager, &file, level_of(m, said->manager, &file), said->advice);
	return answer == CACHEBPF_ADVICE_WALK ? 0 : answer;
}

/*
 * One more decision of @m, of which at most @percent may be wrong, 0: all; has it a say?  Not if
 * what it names is kept again and again: reclaim would wait for it, or others pay.
 */
__verified_once int may_decide(struct manager *m __arg_nonnull, __u32 percent)
{
	bool has_say = !(m->revoked | m->nr_kept / MAX_KEPT);

	m->nr_decisions++;
	if (++m->nr_recent % NR_DECISIONS)
		return has_say;
	m->nr_kept = 0;
	if (percent && m->nr_recent_wrong * 100 > percent * m->nr_recent) {
		/* each time for twice as long */
		m->penalty = min(max(2 * m->penalty, PENALTY_MIN), PENALTY_MAX);
		m->revoked = m->penalty;
	} else if (m->revoked) {
		m->revoked--;
	} else if (m->penalty) {
		m->penalty--;
	}
	if (!has_say || m->revoked) {
		m->nr_recent = 0;
		m->nr_recent_wrong = 0;
	} else if (m->nr_recent >= MAX_DECISIONS) {
		m->nr_recent /= 2;
		m->nr_recent_wrong /= 2;
	}
	return !m->revoked;
}

/* Where so many pages stayed decisions are noted in units of which they are 64 to 256, or in single ones. */
static __always_inline void set_unit(struct manager *m, __u64 nr_stayed)
{
	__u32 unit = 0;

	__unrolled
	for (int i = 0; i < UNIT_MAX; i++)
		unit += nr_stayed >> 2 * i >= UNITS;
	m->unit = unit;
}

/*
 * How many decisions @m has made, in 16 bits: the unit, a power of 4, and how many of
 * these, of which only the last bits are kept.
 */
static __always_inline __u16 decisions_noted(const struct manager *m)
{
	__u32 unit = m->unit & UNIT_MAX;

	return unit << UNIT_SHIFT | (m->nr_decisions >> 2 * unit & UNIT_MASK);
}

/*
 * Has it made at most @nr since?  Less than a unit may be left out: who is wrong each time makes
 * just as many as pages stay.  If the unit is too small for so many nobody knows; beyond eight
 * times as many it may seem so again.
 */
static __always_inline bool decisions_are_at_most(const struct manager *m, __u16 noted, __u64 nr)
{
	__u32 unit = noted >> UNIT_SHIFT;
	__u64 nr_units = ((m->nr_decisions >> 2 * unit) - noted) & UNIT_MASK;

	return nr >> 2 * unit < 4 * UNITS && nr_units << 2 * unit <= nr;
}

/* @nr_go pages of @m go; may @nr_stay stay for these, and those before? */
static bool pays_for(struct manager *m, __u32 nr_stay, __u32 nr_go)
{
	__u32 paid = m->paid + nr_go;
	bool enough = paid >= nr_stay;

	m->paid = min(enough ? paid - nr_stay : paid, PAID_MAX);
	return enough;
}

static __always_inline void was_wrong(struct manager *m)
{
	m->nr_wrong++;
	m->nr_recent_wrong++;
}
