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

#include "delay.h"
#include "kfunc.h"
#include "list.h"

/* entries of a file, folios or what is left of them, that are looked at for a batch or a move */
#define CACHEBPF_ADVICE_VISITS	1024

struct bpf_iter_cachebpf_advice {
	__u64 __opaque[2];
} __aligned(8);

struct advice_iter {
	struct cachebpf_advice	*advice;
	u32			nr_used;
};

/* An advice, and what of its range a call shows to the policy. */
struct advice_call {
	struct cachebpf_advice	advice;
	/* not initialised: BPF must not see those that there are not */
	u32			nr_folios;
	struct cachebpf_folio	*folios[CACHEBPF_ADVICE_BATCH];
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

/*
 * Is @f of the policy with @id, to which @advice goes, and its folio of who speaks?  @known
 * is the cgroup of such a folio, mostly of all.  It is for good under the node's lock alone.
 */
static __always_inline bool is_speakers(const struct cachebpf_advice *advice, u16 id,
					const struct cachebpf_folio *f, struct folio *folio,
					struct mem_cgroup **known)
{
	struct mem_cgroup *memcg;

	/* as in is_own() */
	if (smp_load_acquire(&f->owner) != id)
		return false;
	if (likely(READ_ONCE(folio->memcg_data) == (unsigned long)*known))
		return true;
	memcg = folio_memcg_check(folio);
	if (manager_of(advice->policy, memcg) != advice->speaks)
		return false;
	if (memcg)
		*known = memcg;
	return true;
}

/* Is @f on a list that the policy knows of? */
static bool is_listed(const struct cachebpf_folio *f)
{
	return READ_ONCE(f->list) != CACHEBPF_NO_LIST && !cachebpf_is_rejected(f);
}

/* Are of the pages of @f, which begin at @index, some of the range? */
static bool is_of_range(const struct cachebpf_advice *advice, const struct cachebpf_folio *f,
			pgoff_t index)
{
	return index <= advice->last &&
	       (likely(index >= advice->first) || index + (1UL << f->order) > advice->first);
}

/*
 * Have in @call the entries of the next folios that the advice is about, from its
 * @next on; @held are these folios.  As filemap_get_folios(), but what is not wanted
 * is not held.
 */
static void take_batch(struct advice_call *call, struct folio_batch *held)
{
	struct cachebpf_advice *advice = &call->advice;
	XA_STATE(xas, &advice->mapping->i_pages, advice->next);
	u32 nr_left = CACHEBPF_ADVICE_VISITS;
	struct mem_cgroup *known = advice->speaks;
	const u16 id = advice->policy->id;
	struct cachebpf_folio *f;
	struct folio *folio;

	xas_for_each(&xas, folio, advice->last) {
		if (xas_retry(&xas, folio))
			continue;
		if (call->nr_folios == CACHEBPF_ADVICE_BATCH || !nr_left--) {
			advice->next = xas.xa_index;
			return;
		}
		if (xa_is_value(folio))
			continue;
		f = cachebpf_table_lookup(folio_pfn(folio));
		if (!f || !is_speakers(advice, id, f, folio, &known) || !is_listed(f) ||
		    !folio_try_get(folio))
			continue;
		/* it may be another file's by now */
		if (unlikely(folio != xas_reload(&xas))) {
			folio_put(folio);
			continue;
		}
		call->folios[call->nr_folios++] = f;
		folio_batch_add(held, folio);
	}
	advice->next = advice->last + 1;
}

/* A part of the range that is moved. */
struct move {
	struct cachebpf_advice	*advice;
	u32			from;
	u32			to;
	/* the first half of their data from now on; or they are sorted in, by their stamps */
	u64			data;
	bool			sorts;
	/* entries of the file to look at yet; at how many of them a lock is given away */
	s32			nr_left;
	s32			nr_locked;
	/* it is, and the last one was no folio to move */
	bool			paused;
	/* that were moved */
	u32			nr_pages;
	/* the cgroup of one that is moved */
	struct mem_cgroup	*known;
	struct xa_state		xas;
	struct folio		*folio;
	/* moved together; the last one is at the tail of @to even if there are none */
	struct cachebpf_run	run;
	/* their pages beyond the first of each folio */
	unsigned long		nr_tails;
};

/*
 * The next folio that has an entry, in @m->folio, and that; NULL at the end, or if
 * many were passed over that have none, such as shadows.
 */
static __always_inline struct cachebpf_folio *next_entry(struct move *m)
{
	struct cachebpf_folio *f;
	struct folio *folio;

	while ((folio = xas_next_entry(&m->xas, m->advice->last))) {
		if (xas_retry(&m->xas, folio))
			continue;
		m->nr_left--;
		f = xa_is_value(folio) ? NULL : cachebpf_table_lookup(folio_pfn(folio));
		if (f) {
			m->folio = folio;
			return f;
		}
		if (m->nr_left <= m->nr_locked) {
			m->paused = true;
			return NULL;
		}
	}
	m->advice->next = m->advice->last + 1;
	return NULL;
}

static void end_run(struct move *m, struct cachebpf_node *node)
{
	if (!m->run.nr_folios)
		return;
	m->run.nr_pages = m->run.nr_folios + m->nr_tails;
	cachebpf_move_between(node, m->from, m->to, &m->run);
	if (m->sorts)
		node->lists[m->to]->sorted = m->run.last.pfn;
	m->nr_pages += m->run.nr_pages;
	m->run.nr_folios = 0;
	m->nr_tails = 0;
}

/* Move @f, on @m->from, to the tail of @m->to, together with those that it is behind. */
static __always_inline void join_run(struct move *m, struct cachebpf_node *node,
				     struct cachebpf_folio *f, u32 pfn)
{
	if (!m->run.nr_folios || m->run.last.f->next != pfn) {
		end_run(m, node);
		m->run.first = (struct cachebpf_end) { .f = f, .pfn = pfn };
	}
	m->run.last = (struct cachebpf_end) { .f = f, .pfn = pfn };
	m->run.nr_folios++;
	if (unlikely(f->order))
		m->nr_tails += (1UL << f->order) - 1;
	WRITE_ONCE(f->list, m->to);
}

/* Sort @f in, at the tail of @m->to or where it belongs. */
static void sort_in(struct move *m, struct cachebpf_node *node, struct cachebpf_folio *f, u32 pfn)
{
	WRITE_ONCE(f->data[0], *cachebpf_stamp(f));
	if (!cachebpf_is_after(m->run.last.f, f, 0)) {
		join_run(m, node, f, pfn);
		return;
	}
	end_run(m, node);
	m->nr_pages += 1UL << f->order;
	cachebpf_take_off(node, f, pfn);
	cachebpf_link_sorted(node, f, m->to, 0, CACHEBPF_MAX_SORTED);
	m->run.last = node->lists[m->to]->tail;
	/* that takes as long as many others */
	m->nr_left -= CACHEBPF_LOCK_BATCH;
}

/*
 * Move what is on @m->from of @f and the next ones, on @node, which is locked.  Nobody
 * holds them: what is of that file meanwhile, and managed, cannot go.  Returns the first
 * one that was not looked at.
 */
static struct cachebpf_folio *move_some(struct move *m, struct cachebpf_node *node,
					struct cachebpf_folio *f)
{
	struct cachebpf_advice *advice = m->advice;
	struct cachebpf_policy *policy = advice->policy;
	struct cachebpf_list *from = node->lists[m->from];
	bool walked = !hlist_empty(&from->walks);
	const u16 id = policy->id;

	m->nr_locked = max(m->nr_left - CACHEBPF_LOCK_BATCH, -1);
	m->run.last = node->lists[m->to]->tail;
	do {
		u32 pfn = folio_pfn(m->folio);

		/* by now it may be another file's, or of another part of this one */
		if (unlikely(READ_ONCE(m->folio->mapping) != advice->mapping) ||
		    unlikely(!is_of_range(advice, f, READ_ONCE(m->folio->index))) ||
		    !is_speakers(advice, id, f, m->folio, &m->known))
			continue;
		if (unlikely(f->list != m->from)) {
			if (!is_listed(f))
				continue;
			advice->next = m->xas.xa_index;
			f = NULL;
			break;
		}
		/* a walk knows no runs */
		if (unlikely(walked)) {
			end_run(m, node);
			cachebpf_advance_walks(from, f, pfn);
		}
		if (m->sorts) {
			sort_in(m, node, f, pfn);
		} else {
			WRITE_ONCE(f->data[0], m->data);
			join_run(m, node, f, pfn);
		}
	} while ((f = next_entry(m)) && m->nr_left > m->nr_locked &&
		 node == policy->nodes[folio_nid(m->folio)]);
	end_run(m, node);
	return f;
}

/* Move the next folios, as long as they are on @m->from.  Returns their pages. */
static int move_next(struct move *m)
{
	struct cachebpf_policy *policy = m->advice->policy;
	struct cachebpf_node *node;
	struct cachebpf_folio *f;
	unsigned long flags;

	if (!m->from || m->from >= policy->nr_lists || m->to >= policy->nr_lists)
		return -ENOENT;

	do {
		m->paused = false;
		m->nr_locked = 0;
		f = next_entry(m);
		while (f) {
			if (m->nr_left < 0) {
				m->advice->next = m->xas.xa_index;
				return m->nr_pages;
			}
			node = policy->nodes[folio_nid(m->folio)];
			cachebpf_delay(CACHEBPF_AT_MOVE);
			spin_lock_irqsave(&node->lock, flags);
			f = move_some(m, node, f);
			spin_unlock_irqrestore(&node->lock, flags);
		}
	} while (m->paused && m->nr_left > 0);
	if (m->paused)
		m->advice->next = m->xas.xa_index + 1;
	return m->nr_pages;
}

/*
 * One call of the policy that @memcg has, with what is next.  -EAGAIN if it is another
 * one than that which the last call went to.
 */
static int tell_policy(struct advice_call *call, struct mem_cgroup *memcg)
{
	struct cachebpf_advice *advice = &call->advice;
	struct cachebpf_policy *policy;
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
	advice->policy = policy;
	advice->speaks = manager_of(policy, memcg);
	advice->policy_serial = policy->serial;
	advice->manager = cgroup_id(advice->speaks->css.cgroup);
	call->nr_folios = 0;
	if (!advice->begins)
		take_batch(call, &held);
	ret = advice->begins || call->nr_folios ? ops->advise(policy, advice) :
						   CACHEBPF_ADVICE_WALK;
out:
	rcu_read_unlock();
	for (i = 0; i < folio_batch_count(&held); i++)
		folio_put(held.folios[i]);
	return ret;
}

/* Show the policy what of the range is cached, a batch at a time. */
static int walk_range(struct advice_call *call, struct mem_cgroup *memcg)
{
	int ret = CACHEBPF_ADVICE_WALK;

	call->advice.begins = false;
	while (ret == CACHEBPF_ADVICE_WALK && call->advice.next <= call->advice.last) {
		ret = tell_policy(call, memcg);
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
	struct advice_call call;
	struct mem_cgroup *memcg;
	int ret;

	if (start < 0)
		return -EINVAL;
	memcg = get_mem_cgroup_from_current();
	if (!memcg)
		return -EOPNOTSUPP;
	call.advice = (struct cachebpf_advice) {
		.advice = advice,
		.first = start >> PAGE_SHIFT,
		.last = end >> PAGE_SHIFT,
		.next = start >> PAGE_SHIFT,
		.begins = true,
		.mapping = mapping,
	};
	cachebpf_file_of(&call.advice.file, mapping, call.advice.first);
	ret = tell_policy(&call, memcg);
	if (ret == CACHEBPF_ADVICE_WALK)
		ret = walk_range(&call, memcg);
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
	struct advice_call *call = container_of(iter->advice, struct advice_call, advice);

	if (iter->nr_used >= call->nr_folios)
		return NULL;
	return cachebpf_held(call->folios[iter->nr_used++]);
}

/**
 * bpf_iter_cachebpf_advice_destroy - end it
 * @it: the iterator
 */
__bpf_kfunc void bpf_iter_cachebpf_advice_destroy(struct bpf_iter_cachebpf_advice *it)
{
}

/**
 * bpf_cachebpf_advice_move - move the next folios that advice is about
 * @advice: the advice
 * @from: number of the list that they are on, at least 1
 * @to: number of the list to the tail of which they move
 * @data: what is to be the first 8 bytes of the policy's data of each
 *
 * Those of the range behind what this call, and those before, were shown or have
 * moved: until one is on another list, or many were looked at.  The next call goes
 * on there.
 *
 * Return: the pages that were moved; -ENOENT no such list.
 */
__bpf_kfunc int bpf_cachebpf_advice_move(struct cachebpf_advice *advice, u32 from, u32 to,
					 u64 data)
{
	struct move m = {
		.advice = advice, .from = from, .to = to, .data = data,
		.known = advice->speaks, .nr_left = CACHEBPF_ADVICE_VISITS,
		.xas = __XA_STATE(&advice->mapping->i_pages, advice->next, 0, 0),
	};

	return move_next(&m);
}

/**
 * bpf_cachebpf_advice_insert - the same, to where they belong on a list that is in order
 * @advice: the advice
 * @from: number of the list that they are on, at least 1; it is stamped
 * @to: number of the list, as bpf_cachebpf_list_insert() has it
 *
 * The first 8 bytes of the policy's data of each, by which it is sorted in, become
 * its stamp.
 *
 * Return: the pages that were moved; -ENOENT no such list.
 */
__bpf_kfunc int bpf_cachebpf_advice_insert(struct cachebpf_advice *advice, u32 from, u32 to)
{
	struct move m = {
		.advice = advice, .from = from, .to = to, .sorts = true,
		.known = advice->speaks, .nr_left = CACHEBPF_ADVICE_VISITS,
		.xas = __XA_STATE(&advice->mapping->i_pages, advice->next, 0, 0),
	};

	return move_next(&m);
}

__bpf_kfunc_end_defs();
