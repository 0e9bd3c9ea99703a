// SPDX-License-Identifier: GPL-2.0-only
/*
 * Uses of folios: who is told, and lists in the order of use
 * (CACHEBPF_LIST_USED_HEAD, _TAIL).
 *
 * Moving a folio at every hit would have all readers of a cgroup wait for one
 * lock.  Instead, each processor notes what was used, and moves a batch of
 * folios at a time, as the LRU does when it activates.  If the lock is taken
 * then, half of them are forgotten and it tries again when there are as many
 * again: an order that is a little wrong costs less than readers that wait for
 * each other.  (Ding, Jiang and Zhang, "BP-Wrapper", ICDE 2009, try, but wait in
 * the end.)  A reclaimer applies what its own processor has noted before it asks
 * the policy.
 *
 * Notes are page frame numbers and hints: by the time they are applied the
 * folio can be gone, or be another one that is moved for nothing.  An interrupt
 * in the middle can lose or repeat a note, nothing else.
 */
#include <linux/mm.h>

#include "delay.h"
#include "internal.h"
#include "list.h"

/* What one processor has noted, as far as it is not applied yet. */
struct notes {
	struct cachebpf_policy	*policy;
	const u32		*next;
	const u32		*end;
};

/* Of @pfn, which has an entry of the policy and so is memory. */
static __always_inline struct cachebpf_node *node_of(const struct notes *n, u32 pfn)
{
	return n->policy->nodes[page_to_nid(pfn_to_page(pfn))];
}

/*
 * Move folios to an end of the list @nr, until one is noted that is not on it.
 * The end stays in registers meanwhile.
 */
static __always_inline void move_run(struct notes *n, struct cachebpf_node *node, u16 nr, bool tail,
				     bool stamped)
{
	struct cachebpf_list *list = node->lists[nr];
	struct cachebpf_end end = *cachebpf_end_of(list, tail);
	bool walked = !hlist_empty(&list->walks);
	u64 now = stamped ? cachebpf_now(n->policy) : 0;
	/* where several things have to be looked at, no folio's list is this one */
	u16 easy = walked || num_node_state(N_MEMORY) > 1 ? CACHEBPF_NEVER_LIST : nr;

	do {
		u32 pfn = READ_ONCE(*n->next);
		struct cachebpf_folio *entries = cachebpf_table_known(pfn), *f;

		if (unlikely(!entries))
			continue;
		f = entries + pfn;
		if (unlikely(!cachebpf_owns(n->policy, f)))
			continue;
		if (unlikely(pfn == end.pfn)) {
			if (stamped)
				WRITE_ONCE(*cachebpf_stamp(f), now);
			continue;
		}
		if (unlikely(f->list != easy)) {
			if (READ_ONCE(f->list) != nr || node_of(n, pfn) != node)
				break;
			if (walked)
				cachebpf_advance_walks(list, f, pfn);
		}
		if (stamped)
			WRITE_ONCE(*cachebpf_stamp(f), now);
		cachebpf_move_before(list, &end, f, pfn, tail);
	} while (++n->next < n->end);
	*cachebpf_end_of(list, tail) = end;
}

/*
 * The same for the folio noted next, whose list has it go to another one.  Of a
 * policy that is handing its folios over that one may be empty already, and is
 * not looked at again: retire_policy() waits for those who do not see its end.
 */
static void move_elsewhere(struct notes *n, struct cachebpf_node *node, u16 nr, bool tail)
{
	u32 pfn = READ_ONCE(*n->next++);
	struct cachebpf_folio *entries = cachebpf_table_known(pfn), *f = entries + pfn;

	if (!rcu_access_pointer(n->policy->ops))
		return;
	if (!entries || !cachebpf_owns(n->policy, f) || f->list != nr || node_of(n, pfn) != node)
		return;
	/* whoever removes it looks without the lock: it is on a list all the time */
	cachebpf_relink(node, f, pfn, node->lists[nr]->elsewhere, tail);
	cachebpf_stamp_new(n->policy, node->lists[f->list], f);
}

static __always_inline void apply_run(struct notes *n, struct cachebpf_node *node, u16 nr,
				      bool tail)
{
	u16 flags = node->lists[nr]->flags;

	if (unlikely(flags & CACHEBPF_LIST_USED_ELSEWHERE))
		move_elsewhere(n, node, nr, tail);
	else if (unlikely(flags & CACHEBPF_LIST_STAMPED))
		move_run(n, node, nr, tail, true);
	else
		move_run(n, node, nr, tail, false);
}

/*
 * Move the folio noted next, and those behind it that are on the same list.
 * Returns false if the lock is taken, and @wait is not given.
 */
static __always_inline bool apply_next_note(struct notes *n, bool wait)
{
	u32 pfn = READ_ONCE(*n->next), order;
	struct cachebpf_folio *entries = cachebpf_table_known(pfn);
	struct cachebpf_node *node;
	unsigned long flags;
	u16 nr;

	if (unlikely(!entries || entries[pfn].owner != n->policy->id))
		goto skip;
	nr = READ_ONCE(entries[pfn].list);
	/* on none yet, or rejected */
	if (unlikely(nr >= n->policy->nr_lists))
		goto skip;
	node = node_of(n, pfn);
	order = node->lists[nr]->flags & CACHEBPF_LIST_USED;
	if (!order)
		goto skip;

	cachebpf_delay(CACHEBPF_AT_APPLY);
	if (wait)
		spin_lock_irqsave(&node->lock, flags);
	else if (!spin_trylock_irqsave(&node->lock, flags))
		return false;
	if (order == CACHEBPF_LIST_USED_HEAD)
		apply_run(n, node, nr, false);
	else
		apply_run(n, node, nr, true);
	spin_unlock_irqrestore(&node->lock, flags);
	return true;
skip:
	n->next++;
	return true;
}

/* Apply @nr notes of this processor, which is not left. */
static __always_inline bool apply_notes(struct cachebpf_policy *policy, u32 nr, bool wait)
{
	struct cachebpf_pcpu *cpu = this_cpu_ptr(policy->pcpu);
	struct notes n = { .policy = policy, .next = cpu->uses, .end = cpu->uses + nr };

	while (n.next < n.end)
		if (!apply_next_note(&n, wait))
			return false;
	return true;
}

/* Bring the lists of @policy in order, as far as this processor, which is not left, knows. */
void cachebpf_apply_uses(struct cachebpf_policy *policy)
{
	apply_notes(policy, this_cpu_xchg(policy->pcpu->nr_uses, 0), true);
}

/* The same for a batch that is full, if nobody else is at the lists. */
noinline void cachebpf_apply_batch(struct cachebpf_policy *policy)
{
	if (!apply_notes(policy, CACHEBPF_USES_BATCH, false))
		this_cpu_write(policy->pcpu->nr_uses, CACHEBPF_USES_BATCH / 2);
}

/* Functions of their own, so that none saves registers for what the next one does. */
static noinline void tell_of_use(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	struct cachebpf_ops *ops = rcu_dereference(policy->ops);

	if (ops)
		ops->folio_accessed(policy, cachebpf_held(f));
}

static noinline void tell_and_note_use(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	tell_of_use(policy, f);
	if (policy->orders_uses)
		cachebpf_note_use(policy, policy->pcpu, cachebpf_folio_pfn(f));
}

/* What all uses of @f mean but that it is used again. */
static noinline void note_marks(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	if (f->unread)
		cachebpf_unread_used(policy, f);
	if (f->sampled)
		cachebpf_tell_used(policy, f);
}

static noinline void marked_is_used(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	note_marks(policy, f);
	if (policy->hears_uses)
		tell_and_note_use(policy, f);
	else if (policy->orders_uses)
		cachebpf_note_use(policy, policy->pcpu, cachebpf_folio_pfn(f));
}

void __cachebpf_folio_accessed(struct folio *folio)
{
	unsigned long pfn = folio_pfn(folio);
	struct cachebpf_policy *policy;
	struct cachebpf_pcpu __percpu *cpu;
	struct cachebpf_folio *entries, *f;

	/* this is where a hit pays: every instruction counts */
	rcu_read_lock();
	entries = cachebpf_table_entries(pfn);
	if (!entries)
		goto out;
	f = entries + pfn;
	policy = cachebpf_owner_of(f);
	if (!policy)
		goto out;
	if (cachebpf_is_rejected(f)) {
		cachebpf_rejected_used(policy, pfn_folio(cachebpf_folio_pfn(f)), f);
		goto out;
	}

	/* racing increments may be lost: it is a statistic, not a reference */
	if (likely((s16)data_race(f->accesses) > 0)) {
		/* or gcc makes three instructions of one that adds to memory */
		barrier();
		/* lost if another processor does the same */
		data_race(f->accesses++);
	} else if (!READ_ONCE(f->accesses)) {
		/* the first one is the miss that brought the folio in */
		WRITE_ONCE(f->accesses, 1);
		cachebpf_count(policy, CACHEBPF_STAT_MISSES, 1);
		if (unlikely(f->sampled || f->unread))
			note_marks(policy, f);
		goto out;
	}
	cpu = policy->pcpu;
	this_cpu_inc(cpu->count[CACHEBPF_STAT_HITS]);
	/* unread, and used before: a policy may write what it likes into accesses */
	if (unlikely(f->sampled || f->unread)) {
		marked_is_used(policy, f);
		goto out;
	}
	if (!policy->wants_uses)
		goto out;
	if (unlikely(policy->hears_uses))
		tell_and_note_use(policy, f);
	else
		cachebpf_note_use(policy, cpu, pfn);
out:
	rcu_read_unlock();
}
