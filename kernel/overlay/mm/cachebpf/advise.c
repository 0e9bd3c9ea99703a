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
#include <linux/xarray.h>

#include "internal.h"
#include "kfunc.h"

/* entries of a file, folios or what is left of them, that are looked at in one RCU read side */
#define CACHEBPF_ADVICE_VISITS	1024

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

/* Is @f what @policy may be told of, by @manager?  @known is the cgroup of such a folio. */
static bool is_managed(const struct cachebpf_folio *f, struct cachebpf_policy *policy,
		       struct mem_cgroup *manager, struct folio *folio, struct mem_cgroup **known)
{
	struct mem_cgroup *memcg;

	if (!f || READ_ONCE(f->owner) != policy->id || cachebpf_is_rejected(f) ||
	    READ_ONCE(f->list) == CACHEBPF_NO_LIST)
		return false;
	memcg = folio_memcg_check(folio);
	if (memcg && memcg == *known)
		return true;
	if (manager_of(policy, memcg) != manager)
		return false;
	*known = memcg;
	return true;
}

/*
 * Have in @advice the entries of the next folios of @mapping, from @advice->next on,
 * that are @policy's and of @manager; @held are these folios.  As filemap_get_folios(),
 * but what is not wanted is not held.
 */
static void take_batch(struct cachebpf_advice *advice, struct cachebpf_policy *policy,
		       struct mem_cgroup *manager, struct address_space *mapping,
		       struct folio_batch *held)
{
	XA_STATE(xas, &mapping->i_pages, advice->next);
	u32 nr_left = CACHEBPF_ADVICE_VISITS;
	struct mem_cgroup *known = NULL;
	struct cachebpf_folio *f;
	struct folio *folio;

	advice->nr_folios = 0;
	xas_for_each(&xas, folio, advice->last) {
		if (xas_retry(&xas, folio))
			continue;
		if (advice->nr_folios == CACHEBPF_ADVICE_BATCH || !nr_left--) {
			advice->next = xas.xa_index;
			return;
		}
		if (xa_is_value(folio))
			continue;
		f = cachebpf_table_lookup(folio_pfn(folio));
		if (!is_managed(f, policy, manager, folio, &known) || !folio_try_get(folio))
			continue;
		/* it may be another file's by now */
		if (unlikely(folio != xas_reload(&xas))) {
			folio_put(folio);
			continue;
		}
		advice->folios[advice->nr_folios++] = f;
		folio_batch_add(held, folio);
	}
	advice->next = advice->last + 1;
}

/*
 * One call of the policy that @memcg has, with what is next of @mapping.  -EAGAIN if
 * it is another one than that which the last call went to.
 */
static int tell_policy(struct cachebpf_advice *advice, struct mem_cgroup *memcg,
		       struct address_space *mapping)
{
	struct cachebpf_policy *policy;
	struct mem_cgroup *manager;
	struct cachebpf_ops *ops;
	struct folio_batch held;
	int ret = -EOPNOTSUPP;
	unsigned int i;

	folio_batch_init(&held);
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
	if (!advice->begins)
		take_batch(advice, policy, manager, mapping, &held);
	ret = advice->begins || advice->nr_folios ? ops->advise(policy, advice) :
						   CACHEBPF_ADVICE_WALK;
out:
	rcu_read_unlock();
	for (i = 0; i < folio_batch_count(&held); i++)
		folio_put(held.folios[i]);
	return ret;
}

/* Show the policy what of the range is cached, a batch at a time. */
static int walk_range(struct cachebpf_advice *advice, struct mem_cgroup *memcg,
		      struct address_space *mapping)
{
	int ret = CACHEBPF_ADVICE_WALK;

	advice->begins = false;
	while (ret == CACHEBPF_ADVICE_WALK && advice->next <= advice->last) {
		ret = tell_policy(advice, memcg, mapping);
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
		.next = start >> PAGE_SHIFT,
		.begins = true,
	};
	struct mem_cgroup *memcg;
	int ret;

	if (start < 0)
		return -EINVAL;
	memcg = get_mem_cgroup_from_current();
	if (!memcg)
		return -EOPNOTSUPP;
	cachebpf_file_of(&a.file, mapping, a.first);
	ret = tell_policy(&a, memcg, mapping);
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
