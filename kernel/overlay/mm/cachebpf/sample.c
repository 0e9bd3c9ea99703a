// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sample of what the pages of a policy are used for: memory.cachebpf.sample
 * of its cgroup says how many pages there are to one of the sample.
 *
 * What a page holds decides whether it belongs to the sample.  So all its uses
 * are in it or none, and a small cache that is fed with it behaves like the
 * whole one.  An entry remembers in a bit if there are such pages in its folio: a
 * hit on any other one tests that and pays nothing else.  The tracepoint
 * cachebpf_sample tells of uses, page by page, as folios of a file are not of the
 * same size each time.  A BPF program there can pass them on.
 *
 * Source: Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC construction
 * with SHARDS", FAST 2015, section 3.
 */
#include <linux/mm.h>

#include <trace/events/cachebpf.h>

#include "internal.h"

/* The key of what has left its file is 0, which is in no sample. */
static bool is_in_sample(const struct cachebpf_policy *policy, u64 key)
{
	return key - 1 < READ_ONCE(policy->sample_bound);
}

static struct folio *folio_of(const struct cachebpf_folio *f)
{
	return pfn_folio(cachebpf_folio_pfn(f));
}

/*
 * Is a page of the folio of @f in the sample of @policy?  The caller has it locked or
 * referenced, or has locked the node on whose lists it is.
 */
bool cachebpf_in_sample(const struct cachebpf_policy *policy, const struct cachebpf_folio *f)
{
	unsigned long i;

	for (i = 0; i < 1UL << f->order; i++)
		if (is_in_sample(policy, cachebpf_key_of(folio_of(f), i)))
			return true;
	return false;
}

static void tell_pages(struct cachebpf_policy *policy, struct folio *folio, unsigned long first,
		       unsigned long nr, bool gone)
{
	unsigned long i;
	u64 key;

	if (!trace_cachebpf_sample_enabled())
		return;
	for (i = first; i < first + nr; i++) {
		key = cachebpf_key_of(folio, i);
		/* the mark says that there is one, or was once */
		if (is_in_sample(policy, key))
			trace_cachebpf_sample(policy->serial, policy->cgroup_id, key, gone);
	}
}

/* The folio of @f, which has the mark, was used. */
void cachebpf_tell_used(struct cachebpf_policy *policy, const struct cachebpf_folio *f)
{
	tell_pages(policy, folio_of(f), 0, 1UL << READ_ONCE(f->order), false);
}

/* Of the folio of @f, which has the mark, the content of @nr pages is no more. */
void cachebpf_tell_gone(struct cachebpf_policy *policy, const struct cachebpf_folio *f,
			unsigned long first, unsigned long nr)
{
	tell_pages(policy, folio_of(f), first, nr, true);
}

/* Mark the entry of the frame @pfn, or not, if it is @policy's. */
static void mark_frame(struct cachebpf_policy *policy, unsigned long pfn)
{
	struct cachebpf_node *node;
	struct cachebpf_folio *f;

	rcu_read_lock();
	f = cachebpf_table_lookup(pfn);
	if (f && READ_ONCE(f->owner) == policy->id) {
		node = cachebpf_node_of(policy, f);
		spin_lock_irq(&node->lock);
		if (cachebpf_owns(policy, f))
			f->sampled = cachebpf_to_sample(policy, f);
		spin_unlock_irq(&node->lock);
	}
	rcu_read_unlock();
}

/* The sample of a policy is another one: mark what is cached.  There may be no misses for long. */
static void mark_cached(struct work_struct *work)
{
	struct cachebpf_policy *policy = container_of(work, struct cachebpf_policy, marking);
	unsigned long pfn;

	/* whoever still marks for the one before: his entries have an owner then */
	synchronize_rcu_expedited();
	for (pfn = 0; rcu_access_pointer(policy->ops) && cachebpf_table_next(&pfn); pfn++)
		mark_frame(policy, pfn);
}

void cachebpf_init_sample(struct cachebpf_policy *policy)
{
	INIT_WORK(&policy->marking, mark_cached);
}

u64 cachebpf_sample_read(struct cgroup_subsys_state *css, struct cftype *cft)
{
	struct mem_cgroup *memcg = mem_cgroup_from_css(css);
	struct cachebpf_policy *policy;
	u32 one_in = 0;

	rcu_read_lock();
	policy = rcu_dereference(memcg->cachebpf);
	if (policy && policy->memcg == memcg)
		one_in = READ_ONCE(policy->sample_one_in);
	rcu_read_unlock();
	return one_in;
}

int cachebpf_sample_write(struct cgroup_subsys_state *css, struct cftype *cft, u64 one_in)
{
	if (one_in > U32_MAX)
		return -ERANGE;
	return cachebpf_policy_sample(mem_cgroup_from_css(css), one_in);
}
