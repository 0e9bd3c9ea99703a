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
#include "list.h"

static __always_inline void apply_use(struct cachebpf_policy *policy, struct cachebpf_node *node,
				      u32 pfn)
{
	struct cachebpf_block *block = cachebpf_table_block(pfn);
	struct cachebpf_list *list;
	struct cachebpf_folio *f;

	if (unlikely(!block))
		return;
	f = &block->entries[pfn % CACHEBPF_BLOCK_ENTRIES];
	/* or gcc finds it again and again */
	OPTIMIZER_HIDE_VAR(f);
	if (unlikely(f->owner != policy->id || f->list == CACHEBPF_NO_LIST))
		return;
	list = node->lists[f->list];
	if (list->flags & CACHEBPF_LIST_USED_HEAD)
		cachebpf_move(list, f, pfn, false);
	else if (list->flags & CACHEBPF_LIST_USED_TAIL)
		cachebpf_move(list, f, pfn, true);
}

/* Bring the lists of @policy in order, as far as @cpu, this processor's, knows. */
noinline void cachebpf_apply_uses(struct cachebpf_policy *policy, struct cachebpf_pcpu *cpu)
{
	u32 *use = cpu->uses, *end = use + min_t(u32, cpu->nr_uses, CACHEBPF_USES_BATCH);
	struct cachebpf_node *node = policy->nodes[first_memory_node], *next = node;
	bool several = num_node_state(N_MEMORY) > 1;
	unsigned long flags;

	if (use == end)
		return;
	cpu->nr_uses = 0;
	spin_lock_irqsave(&node->lock, flags);
	for (; use < end; use++) {
		u32 pfn = READ_ONCE(*use);

		if (several)
			next = policy->nodes[page_to_nid(pfn_to_page(pfn))];
		if (unlikely(next != node)) {
			spin_unlock_irqrestore(&node->lock, flags);
			node = next;
			spin_lock_irqsave(&node->lock, flags);
		}
		apply_use(policy, node, pfn);
	}
	spin_unlock_irqrestore(&node->lock, flags);
}
