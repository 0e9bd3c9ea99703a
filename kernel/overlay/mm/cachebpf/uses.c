// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists in the order of use (CACHEBPF_LIST_USED_HEAD, _TAIL).
 *
 * Moving a folio at every hit would have all readers of a cgroup wait for one
 * lock.  Instead, each processor notes what was used, and moves a batch of
 * folios at a time, as the LRU does when it activates.  A reclaimer applies
 * what its own processor has noted before it asks the policy.
 *
 * Notes are page frame numbers and hints: by the time they are applied the
 * folio can be gone, or be another one that is moved for nothing.  An interrupt
 * in the middle can lose or repeat a note, nothing else.
 */
#include <linux/mm.h>

#include "internal.h"

static void apply_use(struct cachebpf_policy *policy, struct cachebpf_node *node,
		      struct cachebpf_folio *f, u32 pfn)
{
	struct cachebpf_list *list;

	if (unlikely(f->owner != policy->id || f->list == CACHEBPF_NO_LIST))
		return;
	list = node->lists[f->list];
	if (list->flags & CACHEBPF_LIST_USED_HEAD)
		cachebpf_move_to_end(list, f, pfn, false);
	else if (list->flags & CACHEBPF_LIST_USED_TAIL)
		cachebpf_move_to_end(list, f, pfn, true);
}

static noinline void apply_uses(struct cachebpf_policy *policy, struct cachebpf_pcpu *cpu)
{
	u32 i, nr = min_t(u32, cpu->nr_uses, CACHEBPF_USES_BATCH);
	struct cachebpf_node *node, *locked = NULL;
	struct cachebpf_folio *f;
	unsigned long flags;

	cpu->nr_uses = 0;
	for (i = 0; i < nr; i++) {
		u32 pfn = READ_ONCE(cpu->uses[i]);

		f = cachebpf_table_lookup(pfn);
		if (unlikely(!f))
			continue;
		node = policy->nodes[page_to_nid(pfn_to_page(pfn))];
		if (node != locked) {
			if (locked)
				spin_unlock_irqrestore(&locked->lock, flags);
			locked = node;
			spin_lock_irqsave(&locked->lock, flags);
		}
		apply_use(policy, node, f, pfn);
	}
	if (locked)
		spin_unlock_irqrestore(&locked->lock, flags);
}

/* Bring the lists of @policy in order, as far as this processor knows; in an RCU read side. */
void cachebpf_apply_uses(struct cachebpf_policy *policy)
{
	struct cachebpf_pcpu *cpu = get_cpu_ptr(policy->pcpu);

	apply_uses(policy, cpu);
	put_cpu_ptr(policy->pcpu);
}

static void note_use(struct cachebpf_policy *policy, u32 pfn)
{
	struct cachebpf_pcpu *cpu = get_cpu_ptr(policy->pcpu);
	u32 nr = cpu->nr_uses;

	cpu->uses[nr % CACHEBPF_USES_BATCH] = pfn;
	cpu->nr_uses = ++nr;
	if (unlikely(nr >= CACHEBPF_USES_BATCH))
		apply_uses(policy, cpu);
	put_cpu_ptr(policy->pcpu);
}

static noinline void tell_of_use(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	struct cachebpf_ops *ops = rcu_dereference(policy->ops);

	if (ops)
		ops->folio_accessed(policy, f);
}

/* @f, of @pfn, was used again, and @policy wants something done about it; in an RCU read side. */
void cachebpf_used_again(struct cachebpf_policy *policy, struct cachebpf_folio *f, u32 pfn)
{
	if (policy->orders_uses)
		note_use(policy, pfn);
	if (policy->hears_uses)
		tell_of_use(policy, f);
}
