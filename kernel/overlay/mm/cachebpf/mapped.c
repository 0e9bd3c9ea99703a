// SPDX-License-Identifier: GPL-2.0-only
/*
 * Uses of folios through mappings, of which nobody tells: there is a bit of the
 * page table.
 *
 * Reclaim looks at that when a policy has chosen a folio already.  A policy that
 * counts uses would know of none before.  So a worker looks at mapped folios all
 * the time, one after the other in the order of their frames, and what was used
 * since it looked last counts as used once.  It takes a hundredth of one
 * processor at most, for all policies together, and hardly anything where no
 * policy has mapped files.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/pagemap.h>
#include <linux/rmap.h>
#include <linux/sched/clock.h>

#include "internal.h"

/* folios that are looked at before it pauses */
#define LOOKS_BATCH	1024
/* it pauses so many times as long as it has looked, */
#define PAUSE_FACTOR	100
/* and in any case */
#define PAUSE_LEAST	(HZ / 10)
/* where there is nothing to look at */
#define PAUSE_IDLE	HZ

static void look_around(struct work_struct *work);

static DECLARE_DELAYED_WORK(looking, look_around);
/* where it goes on; and policies that there are */
static unsigned long next_pfn;
static atomic_t nr_policies;

/*
 * A program that reads what it has mapped at random says so by MADV_RANDOM, and
 * the LRU does not look at its uses: it cannot tell the folios that it uses often
 * from the others.  A policy may well, and databases use some far more often.
 */
bool __cachebpf_has_recency(struct vm_area_struct *vma)
{
	struct mem_cgroup *memcg;
	bool has;

	if (!(vma->vm_flags & VM_RAND_READ))
		return false;
	rcu_read_lock();
	memcg = mem_cgroup_from_task(rcu_dereference(vma->vm_mm->owner));
	has = memcg && rcu_access_pointer(memcg->cachebpf);
	rcu_read_unlock();
	return has;
}

/* For rmap_walk(): was the folio used through this mapping?  It is not any more then. */
static bool look_at_mapping(struct folio *folio, struct vm_area_struct *vma, unsigned long addr,
			    void *used)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, addr, 0);
	int young = 0;

	while (page_vma_mapped_walk(&pvmw))
		if (pvmw.pte)
			young |= ptep_clear_young_notify(vma, pvmw.address, pvmw.pte);
		else if (IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE))
			young |= pmdp_clear_young_notify(vma, pvmw.address, pvmw.pmd);
	*(bool *)used |= young;
	return true;
}

/* Of whom uses say nothing, as reclaim has it. */
static bool says_nothing(struct vm_area_struct *vma, void *used)
{
	return !vma_has_recency(vma);
}

/* Look at @folio, of which there is a reference. */
static void look_at(struct folio *folio)
{
	bool used = false;
	struct rmap_walk_control rwc = {
		.arg		= &used,
		.rmap_one	= look_at_mapping,
		.invalid_vma	= says_nothing,
		.try_lock	= true,
	};

	if (!folio_trylock(folio))
		return;
	if (folio->mapping && !folio_test_anon(folio))
		rmap_walk(folio, &rwc);
	folio_unlock(folio);
	if (used)
		cachebpf_folio_accessed(folio);
}

/* A reference to the folio at @pfn, if it is mapped and of a policy that wants to know. */
static struct folio *get_mapped(unsigned long pfn)
{
	struct cachebpf_policy *policy;
	struct cachebpf_folio *f;
	struct folio *folio = NULL;

	rcu_read_lock();
	f = cachebpf_table_lookup(pfn);
	policy = f ? cachebpf_owner_of(f) : NULL;
	if (policy && policy->has_mapped && folio_mapped(pfn_folio(pfn)))
		folio = cachebpf_get_folio(pfn_to_page(pfn));
	rcu_read_unlock();
	return folio;
}

/* Which policies have files that are mapped?  Returns whether one has. */
static bool find_mapped(void)
{
	struct cachebpf_policy *policy;
	bool some = false;
	int id;

	rcu_read_lock();
	for (id = 1; id < CACHEBPF_MAX_POLICIES; id++) {
		policy = cachebpf_policy_by_id(id);
		if (!policy)
			continue;
		policy->has_mapped = !(policy->flags & CACHEBPF_F_STOCK_RECLAIM) &&
				     memcg_page_state(policy->memcg, NR_FILE_MAPPED) > 0;
		some |= policy->has_mapped;
	}
	rcu_read_unlock();
	return some;
}

static void look_around(struct work_struct *work)
{
	unsigned long pause = PAUSE_IDLE;
	struct folio *folio;
	int nr = 0;
	u64 ns;

	if (find_mapped()) {
		ns = local_clock();
		while (nr < LOOKS_BATCH && cachebpf_table_next(&next_pfn)) {
			folio = get_mapped(next_pfn++);
			if (!folio)
				continue;
			look_at(folio);
			folio_put(folio);
			nr++;
		}
		if (nr < LOOKS_BATCH)
			next_pfn = 0;
		ns = max_t(s64, local_clock() - ns, 0);
		pause = max(nsecs_to_jiffies(ns * PAUSE_FACTOR), PAUSE_LEAST);
	}
	if (atomic_read(&nr_policies))
		queue_delayed_work(system_unbound_wq, &looking, pause);
}

/* There is one policy more. */
void cachebpf_looking_start(void)
{
	if (atomic_inc_return(&nr_policies) == 1)
		queue_delayed_work(system_unbound_wq, &looking, PAUSE_IDLE);
}

/* And one less. */
void cachebpf_looking_stop(void)
{
	atomic_dec(&nr_policies);
}
