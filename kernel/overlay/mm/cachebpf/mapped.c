// SPDX-License-Identifier: GPL-2.0-only
/*
 * Uses of folios through mappings, of which nobody tells: there is a bit of the
 * page table.
 *
 * Reclaim looks at that when a policy has chosen a folio already.  A policy that
 * counts uses would know of none before.  So a worker looks at mapped folios all
 * the time, one after the other in the order of their frames, and what was used
 * since it looked last counts as used once.  It leaves word for reclaim, as all do
 * that clear such a bit.  It takes a hundredth of one processor at most, for all
 * policies together.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/page_idle.h>
#include <linux/pagemap.h>
#include <linux/rmap.h>
#include <linux/sched/clock.h>

#include "internal.h"

/* it works so long, or until there is no more to look at, */
#define WORK_NS		NSEC_PER_MSEC
/* and pauses so many times as long, */
#define PAUSE_FACTOR	100
/* and in any case; not longer, as its time is that of others, too, if it was preempted */
#define PAUSE_LEAST	(HZ / 10)
#define PAUSE_MOST	(5 * HZ)
/* where there is nothing to look at */
#define PAUSE_IDLE	HZ
/* mappings of one folio that are looked at, as a library may have thousands; and passed over */
#define MAX_MAPPINGS	64
#define MAX_OTHERS	1024

static void look_around(struct work_struct *work);

static DECLARE_DELAYED_WORK(looking, look_around);
/* where it goes on; and policies that there are */
static unsigned long next_pfn;
static atomic_t nr_policies;
/* when policies are asked again what they have mapped */
static unsigned long next_find = INITIAL_JIFFIES;

/*
 * A program that reads what it has mapped at random says so by MADV_RANDOM, and
 * the LRU does not look at its uses: it cannot tell the folios that it uses often
 * from the others.  A policy may well, and databases use some far more often.
 */
bool __cachebpf_has_recency(struct vm_area_struct *vma)
{
	struct cachebpf_policy *policy;
	struct mem_cgroup *memcg;
	bool has;

	if (!(vma->vm_flags & VM_RAND_READ) || !vma->vm_file)
		return false;
	rcu_read_lock();
	memcg = mem_cgroup_from_task(rcu_dereference(vma->vm_mm->owner));
	policy = memcg ? rcu_dereference(memcg->cachebpf) : NULL;
	has = policy && !(READ_ONCE(policy->flags) & CACHEBPF_NOT_ASKED);
	rcu_read_unlock();
	return has;
}

/* One look at the mappings of a folio. */
struct look {
	struct mem_cgroup	*memcg;
	int			nr_mappings;
	int			nr_others;
	bool			used;
};

/* For rmap_walk(): was the folio used through this mapping?  It is not any more then. */
static bool look_at_mapping(struct folio *folio, struct vm_area_struct *vma, unsigned long addr,
			    void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, addr, 0);
	struct look *look = arg;
	int young = 0;

	/* as reclaim has it: those that say nothing, and what others have mapped */
	if (!vma_has_recency(vma) || !mm_match_cgroup(vma->vm_mm, look->memcg))
		return ++look->nr_others < MAX_OTHERS;
	while (page_vma_mapped_walk(&pvmw))
		if (pvmw.pte)
			young |= ptep_clear_young_notify(vma, pvmw.address, pvmw.pte);
		else if (IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE))
			young |= pmdp_clear_young_notify(vma, pvmw.address, pvmw.pmd);
	look->used |= young;
	return ++look->nr_mappings < MAX_MAPPINGS;
}

/* Look at @folio, of which there is a reference, for the policy of @memcg. */
static void look_at(struct folio *folio, struct mem_cgroup *memcg)
{
	struct look look = { .memcg = memcg };
	struct rmap_walk_control rwc = {
		.arg		= &look,
		.rmap_one	= look_at_mapping,
		.try_lock	= true,
	};

	if (!folio_trylock(folio))
		return;
	if (folio->mapping && !folio_test_anon(folio))
		rmap_walk(folio, &rwc);
	folio_unlock(folio);
	if (!look.used)
		return;
	folio_clear_idle(folio);
	folio_set_young(folio);
	cachebpf_folio_accessed(folio);
}

/*
 * Is the folio at @pfn mapped, of which @f is the entry?  A guess without a reference:
 * it can be any folio by now, of any size.
 */
static bool seems_mapped(unsigned long pfn, const struct cachebpf_folio *f)
{
	struct page *page = pfn_to_page(pfn);
	struct folio *folio = (struct folio *)page;

	/* an entry is that of a head: what a tail says of its own would be a stranger's */
	if (PageTail(page))
		return false;
	return atomic_read(f->order ? &folio->_large_mapcount : &folio->_mapcount) >= 0;
}

/*
 * A reference to the folio at @pfn, and to the cgroup of its policy, if it is mapped
 * and that wants to know.  What was rejected is used by whom it was rejected for, as
 * far as can be known.
 */
static struct folio *get_mapped(unsigned long pfn, struct mem_cgroup **memcg)
{
	struct cachebpf_policy *policy;
	struct cachebpf_folio *f;
	struct folio *folio = NULL;

	rcu_read_lock();
	f = cachebpf_table_lookup(pfn);
	policy = f ? cachebpf_owner_of(f) : NULL;
	if (policy && READ_ONCE(policy->has_mapped) && seems_mapped(pfn, f))
		folio = cachebpf_get_folio(pfn_to_page(pfn));
	/* with a reference it stays what it is now */
	if (folio && (READ_ONCE(f->owner) != policy->id || cachebpf_is_rejected(f) ||
		      !folio_test_lru(folio) || !folio_mapped(folio) ||
		      !css_tryget(&policy->memcg->css))) {
		folio_put(folio);
		folio = NULL;
	}
	if (folio)
		*memcg = policy->memcg;
	rcu_read_unlock();
	return folio;
}

static void look_at_frame(unsigned long pfn)
{
	struct mem_cgroup *memcg;
	struct folio *folio = get_mapped(pfn, &memcg);

	if (!folio)
		return;
	look_at(folio, memcg);
	folio_put(folio);
	css_put(&memcg->css);
}

/* Which policies have files that are mapped?  Returns whether one has. */
static bool find_mapped(void)
{
	struct cachebpf_policy *policy;
	bool has, some = false;
	int id;

	rcu_read_lock();
	for (id = 1; id < CACHEBPF_MAX_POLICIES; id++) {
		policy = cachebpf_policy_by_id(id);
		if (!policy)
			continue;
		has = !(READ_ONCE(policy->flags) & CACHEBPF_NOT_ASKED) &&
		      memcg_page_state(policy->memcg, NR_FILE_MAPPED) > 0;
		/* it is beside what is read at each hit */
		if (has != policy->has_mapped)
			WRITE_ONCE(policy->has_mapped, has);
		some |= has;
	}
	rcu_read_unlock();
	return some;
}

static void look_around(struct work_struct *work)
{
	bool some = true;
	u64 begin, ns = 0;

	/* not in each round: with the checks of a debug kernel this alone takes longer */
	if (time_after_eq(jiffies, next_find)) {
		some = find_mapped();
		next_find = jiffies + HZ;
	}
	begin = local_clock();
	while (some && ns < WORK_NS) {
		some = cachebpf_table_next(&next_pfn);
		if (some)
			look_at_frame(next_pfn++);
		else
			next_pfn = 0;
		ns = max_t(s64, local_clock() - begin, 0);
	}
	if (atomic_read(&nr_policies))
		queue_delayed_work(system_unbound_wq, &looking,
				   ns ? clamp(nsecs_to_jiffies(ns * PAUSE_FACTOR), PAUSE_LEAST,
					      PAUSE_MOST) : PAUSE_IDLE);
}

/* There is one policy more. */
void cachebpf_looking_start(void)
{
	if (atomic_inc_return(&nr_policies) == 1)
		mod_delayed_work(system_unbound_wq, &looking, PAUSE_IDLE);
}

/* And one less. */
void cachebpf_looking_stop(void)
{
	atomic_dec(&nr_policies);
}
