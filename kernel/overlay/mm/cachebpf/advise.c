// SPDX-License-Identifier: GPL-2.0-only
/*
 * Advice of programs: posix_fadvise() tells the policy of the caller's cgroup,
 * which may want to see what of the range is cached.
 *
 * Who speaks has a say about his own pages only: those that are charged to the
 * same child of the policy's cgroup as he is, or, like him, to none.  Such a
 * child is a manager.
 *
 * Source: Cao, Felten and Li, "Implementation and performance of
 * application-controlled file caching", OSDI 1994, sections 3 and 4.
 */
#include <linux/bpf.h>
#include <linux/btf_ids.h>
#include <linux/cgroup.h>
#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/sched/signal.h>

#include "internal.h"
#include "kfunc.h"

struct bpf_iter_cachebpf_advice {
	__u64 __opaque[2];
} __aligned(8);

struct advice_iter {
	struct cachebpf_advice	*advice;
	u32			nr_used;
};

static_assert(sizeof(struct advice_iter) == sizeof(struct bpf_iter_cachebpf_advice));
static_assert(__alignof__(struct advice_iter) == __alignof__(struct bpf_iter_cachebpf_advice));

/* The child of @policy's cgroup that @memcg is, or is below of; else that cgroup itself. */
static struct mem_cgroup *manager_of(const struct cachebpf_policy *policy, struct mem_cgroup *memcg)
{
	struct mem_cgroup *parent;

	while (memcg && memcg != policy->memcg) {
		parent = parent_mem_cgroup(memcg);
		if (parent == policy->memcg)
			return memcg;
		memcg = parent;
	}
	return policy->memcg;
}

static struct mem_cgroup *manager_of_folio(const struct cachebpf_policy *policy,
					   struct folio *folio)
{
	return manager_of(policy, folio_memcg_check(folio));
}

void cachebpf_file_of(struct cachebpf_file *file, const struct address_space *mapping,
		      pgoff_t index)
{
	const struct inode *inode = mapping->host;

	file->ino = inode->i_ino;
	file->index = index;
	file->dev = new_encode_dev(inode->i_sb->s_dev);
	file->generation = inode->i_generation;
}

/* Has @advice the entries of those in @fbatch that are @policy's and the caller's. */
static void take_batch(struct cachebpf_advice *advice, struct cachebpf_policy *policy,
		       struct mem_cgroup *manager, struct folio_batch *fbatch)
{
	struct cachebpf_folio *f;
	unsigned int i;

	advice->nr_folios = 0;
	for (i = 0; i < folio_batch_count(fbatch); i++) {
		f = cachebpf_table_lookup(folio_pfn(fbatch->folios[i]));
		if (f && READ_ONCE(f->owner) == policy->id && !cachebpf_is_rejected(f) &&
		    READ_ONCE(f->list) != CACHEBPF_NO_LIST &&
		    manager_of_folio(policy, fbatch->folios[i]) == manager)
			advice->folios[advice->nr_folios++] = f;
	}
}

/*
 * One call of the policy that @memcg has, with what is in @fbatch.  -EAGAIN if it
 * is another one than that which the last call went to.
 */
static int tell_policy(struct cachebpf_advice *advice, struct mem_cgroup *memcg,
		       struct folio_batch *fbatch)
{
	struct cachebpf_policy *policy;
	struct mem_cgroup *manager;
	struct cachebpf_ops *ops;
	int ret = -EOPNOTSUPP;

	rcu_read_lock();
	policy = rcu_dereference(memcg->cachebpf);
	ops = policy ? rcu_dereference(policy->ops) : NULL;
	if (!ops || !ops->advise)
		goto out;
	ret = -EAGAIN;
	if (advice->policy_serial && advice->policy_serial != policy->serial)
		goto out;
	manager = manager_of(policy, memcg);
	advice->policy_serial = policy->serial;
	advice->manager = cgroup_id(manager->css.cgroup);
	take_batch(advice, policy, manager, fbatch);
	ret = advice->begins || advice->nr_folios ? ops->advise(policy, advice) :
						   CACHEBPF_ADVICE_WALK;
out:
	rcu_read_unlock();
	return ret;
}

/* Show the policy what of the range is cached, a batch at a time. */
static int walk_range(struct cachebpf_advice *advice, struct mem_cgroup *memcg,
		      struct address_space *mapping)
{
	pgoff_t index = advice->first, last = advice->last;
	struct folio_batch fbatch;
	int ret = CACHEBPF_ADVICE_WALK;

	folio_batch_init(&fbatch);
	advice->begins = false;
	while (ret == CACHEBPF_ADVICE_WALK && filemap_get_folios(mapping, &index, last, &fbatch)) {
		ret = tell_policy(advice, memcg, &fbatch);
		folio_batch_release(&fbatch);
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	return ret == CACHEBPF_ADVICE_WALK ? 0 : ret;
}

/**
 * __cachebpf_advise - tell the policy of the current task's cgroup
 * @mapping: of the file
 * @start: first byte of the range
 * @end: its last byte
 * @advice: a standard advice, or one of %CACHEBPF_ADVICE_OWN
 *
 * Return: what the policy answers, not negative or an errno; -EOPNOTSUPP: it
 * wants no advice, -EAGAIN: it was replaced meanwhile, -EINTR.
 */
int __cachebpf_advise(struct address_space *mapping, loff_t start, loff_t end, int advice)
{
	struct cachebpf_advice a = {
		.advice = advice,
		.first = start >> PAGE_SHIFT,
		.last = end >> PAGE_SHIFT,
		.begins = true,
	};
	struct mem_cgroup *memcg;
	struct folio_batch none;
	int ret;

	if (start < 0)
		return -EINVAL;
	memcg = get_mem_cgroup_from_current();
	if (!memcg)
		return -EOPNOTSUPP;
	cachebpf_file_of(&a.file, mapping, a.first);
	folio_batch_init(&none);
	ret = tell_policy(&a, memcg, &none);
	if (ret == CACHEBPF_ADVICE_WALK)
		ret = walk_range(&a, memcg, mapping);
	css_put(&memcg->css);
	return ret < -MAX_ERRNO ? -EINVAL : ret;
}

__bpf_kfunc_start_defs();

/**
 * bpf_cachebpf_owner - whose folio is it?
 * @policy: the calling policy
 * @f: one of its folios
 *
 * Return: the id of the manager that it is charged to: of a child of the
 * policy's cgroup, or of that cgroup.
 */
__bpf_kfunc u64 bpf_cachebpf_owner(struct cachebpf_policy *policy, struct cachebpf_folio *f)
{
	struct mem_cgroup *manager = manager_of_folio(policy, pfn_folio(cachebpf_folio_pfn(f)));

	return cgroup_id(manager->css.cgroup);
}

/**
 * bpf_iter_cachebpf_advice_new - go through folios that advice is about
 * @it: the iterator
 * @advice: the advice
 *
 * Those that are cached, the policy's, and of the manager who speaks; of this
 * call, which may be one of many.
 *
 * Return: 0.
 */
__bpf_kfunc int bpf_iter_cachebpf_advice_new(struct bpf_iter_cachebpf_advice *it,
					     struct cachebpf_advice *advice)
{
	struct advice_iter *iter = (void *)it;

	iter->advice = advice;
	iter->nr_used = 0;
	return 0;
}

/**
 * bpf_iter_cachebpf_advice_next - the next folio that advice is about
 * @it: the iterator
 *
 * Return: the folio; NULL at the end.
 */
__bpf_kfunc struct cachebpf_held_folio *
bpf_iter_cachebpf_advice_next(struct bpf_iter_cachebpf_advice *it)
{
	struct advice_iter *iter = (void *)it;

	if (iter->nr_used >= iter->advice->nr_folios)
		return NULL;
	return cachebpf_held(iter->advice->folios[iter->nr_used++]);
}

/**
 * bpf_iter_cachebpf_advice_destroy - end it
 * @it: the iterator
 */
__bpf_kfunc void bpf_iter_cachebpf_advice_destroy(struct bpf_iter_cachebpf_advice *it)
{
}

__bpf_kfunc_end_defs();
