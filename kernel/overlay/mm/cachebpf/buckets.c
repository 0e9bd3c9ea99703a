// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buckets: memory for what a policy remembers beyond the folios that are
 * cached, such as fingerprints of what was evicted, or a frequency sketch.
 *
 * An array of buckets of one cache line; a key picks one by its upper bits.
 * The array begins small and, from the first use of a bucket on, is doubled
 * while the cgroup's cache grows: bucket i becomes buckets 2i and 2i + 1, which
 * begin as copies, so that everything is found where its key leads to.  It is
 * halved when the limits of the cgroup have been lowered, by which half of the
 * content is lost.
 *
 * A worker does that, since it allocates on behalf of the cgroup.  Nobody waits
 * for it: writes to the old array while it is copied are lost, which has to be
 * bearable anyhow where all processors write without a lock.
 */
#include <linux/bpf.h>
#include <linux/btf_ids.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kfunc.h"

/* the array begins with more than half of this, or with all that the limit allows */
#define FIRST_BUCKETS		128
/* that their size fits an int */
#define MOST_BUCKETS		((INT_MAX - sizeof(struct cachebpf_bucket_array)) / \
				 CACHEBPF_BUCKET_SIZE)
/* the cgroup has no memory: when to try again */
#define RETRY_AFTER		HZ
/* buckets copied between two chances to schedule */
#define COPY_BATCH		4096

/* What may be cached in @memcg, in pages: the lowest limit on the way up, or all memory. */
unsigned long cachebpf_limit_of(struct mem_cgroup *memcg)
{
	unsigned long nr = totalram_pages();

	for (; memcg; memcg = parent_mem_cgroup(memcg))
		nr = min3(nr, READ_ONCE(memcg->memory.max), READ_ONCE(memcg->memory.high));
	return nr;
}

/* Buckets for @nr_pages, rounded down, and at least one. */
static u32 buckets_for(const struct cachebpf_policy *policy, u64 nr_pages)
{
	u64 bytes = nr_pages * policy->buckets.bytes_per_page;

	return clamp(bytes / CACHEBPF_BUCKET_SIZE, 1, MOST_BUCKETS);
}

/* How many @policy should have, of which it has @nr. */
static u32 buckets_wanted(const struct cachebpf_policy *policy, u32 nr)
{
	u32 most = buckets_for(policy, cachebpf_limit_of(policy->memcg));
	unsigned long cached = 0;
	int nid;

	for_each_node_state(nid, N_MEMORY)
		cached += cachebpf_pages_on(policy, nid);
	while (nr > most)
		nr /= 2;
	/* a policy may have nothing to remember for ever, as acfs where no program speaks */
	if (!READ_ONCE(policy->buckets.used))
		return nr;
	while (nr <= most / 2 && nr < buckets_for(policy, cached))
		nr *= 2;
	return nr;
}

static struct cachebpf_bucket_array *new_array(struct cachebpf_policy *policy, u32 nr)
{
	struct mem_cgroup *old = set_active_memcg(policy->memcg);
	struct cachebpf_bucket_array *array;

	/*
	 * Page by page: with its header an array is mostly a little more than a power of
	 * two, and in one piece the cgroup would pay for the next one.  Not worth an OOM kill.
	 */
	array = __vmalloc(struct_size(array, buckets, nr),
			  GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NORETRY | __GFP_NOWARN);
	set_active_memcg(old);
	if (array)
		array->nr = nr;
	return array;
}

static void resize_work(struct work_struct *work)
{
	struct cachebpf_policy *policy = container_of(work, struct cachebpf_policy, buckets.work);
	struct cachebpf_bucket_array *array, *old;
	u32 i, nr;

	/* nobody else changes it */
	old = rcu_dereference_protected(policy->buckets.array, true);
	nr = buckets_wanted(policy, old->nr);
	if (nr == old->nr)
		return;
	array = new_array(policy, nr);
	if (!array) {
		WRITE_ONCE(policy->buckets.retry_at, jiffies + RETRY_AFTER);
		return;
	}
	for (i = 0; i < nr; i++) {
		memcpy(array->buckets[i], old->buckets[(u64)i * old->nr / nr],
		       CACHEBPF_BUCKET_SIZE);
		if (i % COPY_BATCH == 0)
			cond_resched();
	}
	rcu_assign_pointer(policy->buckets.array, array);
	kvfree_rcu(old, rcu);
}

/**
 * cachebpf_buckets_resize - have the number of buckets changed, if it should be
 * @policy: a policy that has some; in an RCU read side or with a reference
 *
 * Does not wait for it.
 */
void cachebpf_buckets_resize(struct cachebpf_policy *policy)
{
	u32 nr;

	if (time_before(jiffies, READ_ONCE(policy->buckets.retry_at)))
		return;
	rcu_read_lock();
	nr = rcu_dereference(policy->buckets.array)->nr;
	rcu_read_unlock();
	if (buckets_wanted(policy, nr) != nr)
		queue_work(system_unbound_wq, &policy->buckets.work);
}

/* @policy has no folios any more, and nobody uses it. */
void cachebpf_buckets_free(struct cachebpf_policy *policy)
{
	if (!rcu_access_pointer(policy->buckets.array))
		return;
	cancel_work_sync(&policy->buckets.work);
	vfree(rcu_dereference_protected(policy->buckets.array, true));
}

/* Bytes that the buckets of @policy take; in an RCU read side. */
unsigned long cachebpf_buckets_size(struct cachebpf_policy *policy)
{
	struct cachebpf_bucket_array *array = rcu_dereference(policy->buckets.array);

	return array ? array->nr * (unsigned long)CACHEBPF_BUCKET_SIZE : 0;
}

__bpf_kfunc_start_defs();

/**
 * bpf_cachebpf_buckets_create - get memory for what the policy remembers
 * @policy: the calling policy; only in policy_init()
 * @bytes_per_page: bytes for each page that the cgroup can hold, 1 to 64
 *
 * The memory is charged to the policy's cgroup.  It consists of buckets of 64
 * bytes, all zero; their number begins small, is doubled while the policy uses them
 * and has more pages than there are bytes for, and ends at more than half of what
 * @bytes_per_page is worth for the lowest memory.max or memory.high of the
 * cgroup and those above it (or for all memory, without limits), and never
 * beyond that; at all of it, up to 2 %, if the limit was the same at the start.
 * Without memory to grow it remains as it is.
 *
 * Return: 0; -EINVAL no such number of bytes, -EEXIST called before, -ENOMEM.
 */
__bpf_kfunc int bpf_cachebpf_buckets_create(struct cachebpf_policy *policy, u32 bytes_per_page)
{
	struct cachebpf_buckets *b = &policy->buckets;
	struct cachebpf_bucket_array *array;
	u32 nr;

	if (!bytes_per_page || bytes_per_page > CACHEBPF_BUCKET_SIZE)
		return -EINVAL;
	if (rcu_access_pointer(b->array))
		return -EEXIST;

	b->bytes_per_page = bytes_per_page;
	b->retry_at = jiffies;
	INIT_WORK(&b->work, resize_work);
	/* a number whose doubles lead to what the limit allows */
	nr = buckets_for(policy, cachebpf_limit_of(policy->memcg));
	while (nr > FIRST_BUCKETS)
		nr /= 2;
	array = new_array(policy, nr);
	if (!array)
		return -ENOMEM;
	rcu_assign_pointer(b->array, array);
	return 0;
}

/**
 * bpf_cachebpf_bucket - the bucket of a key
 * @policy: the calling policy
 * @key: any number whose upper 32 bits are well distributed, such as bpf_cachebpf_key()
 * @rdwr_buf_size: bytes wanted, at most 64; a constant
 *
 * Keys with the same upper 32 bits share a bucket, whatever the number of
 * buckets.  The lower ones are free to tell keys in a bucket apart.  There is
 * no lock: who reads, changes and writes back may undo what another processor
 * has written, and what is written while the number of buckets changes may be
 * lost.  The pointer is good until the callback returns.
 *
 * Return: the bucket; NULL if the policy has none, or @rdwr_buf_size is too large.
 */
__bpf_kfunc u8 *bpf_cachebpf_bucket(struct cachebpf_policy *policy, u64 key,
				    const size_t rdwr_buf_size)
{
	struct cachebpf_bucket_array *array = rcu_dereference(policy->buckets.array);

	if (unlikely(!array || rdwr_buf_size > CACHEBPF_BUCKET_SIZE))
		return NULL;
	if (unlikely(!READ_ONCE(policy->buckets.used)))
		WRITE_ONCE(policy->buckets.used, true);
	return array->buckets[(key >> 32) * array->nr >> 32];
}

__bpf_kfunc_end_defs();
