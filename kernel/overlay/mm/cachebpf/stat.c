// SPDX-License-Identifier: GPL-2.0-only
/*
 * What user space can read: the files memory.cachebpf.* of every cgroup, and
 * /sys/kernel/cachebpf.
 */
#include <linux/cgroup.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>

#include "internal.h"

#define CACHEBPF_ABI	1

atomic64_t cachebpf_nr_attached, cachebpf_nr_detached, cachebpf_nr_updated;

static const char * const stat_names[] = {
	[CACHEBPF_STAT_HITS]		= "hits",
	[CACHEBPF_STAT_MISSES]		= "misses",
	[CACHEBPF_STAT_ADDED]		= "added",
	[CACHEBPF_STAT_ADOPTED]		= "adopted",
	[CACHEBPF_STAT_UNMANAGED]	= "unmanaged",
	[CACHEBPF_STAT_REFAULTS]	= "refaults",
	[CACHEBPF_STAT_ADMIT_ASKED]	= "admit_asked",
	[CACHEBPF_STAT_ADMIT_REJECTED]	= "admit_rejected",
	[CACHEBPF_STAT_ADMIT_ASKED_AGAIN]	= "admit_asked_again",
	[CACHEBPF_STAT_ADMIT_REVERSED]	= "admit_reversed",
	[CACHEBPF_STAT_READAHEAD_ASKED]	= "readahead_asked",
	[CACHEBPF_STAT_READAHEAD_DECLINED]	= "readahead_declined",
	[CACHEBPF_STAT_READAHEAD_CLAMPED]	= "readahead_clamped",
	[CACHEBPF_STAT_READAHEAD_PAGES]	= "readahead_pages",
	[CACHEBPF_STAT_READAHEAD_PREFETCHED]	= "readahead_prefetched",
	[CACHEBPF_STAT_READAHEAD_MARKS_SET]	= "readahead_marks_set",
	[CACHEBPF_STAT_READAHEAD_MARKS_HIT]	= "readahead_marks_hit",
	[CACHEBPF_STAT_READAHEAD_UNUSED]	= "readahead_unused",
	[CACHEBPF_STAT_READAHEAD_AGAIN]	= "readahead_again",
	[CACHEBPF_STAT_REMOVED + CACHEBPF_REMOVED_RECLAIM]	= "removed_reclaim",
	[CACHEBPF_STAT_REMOVED + CACHEBPF_REMOVED_TRUNCATE]	= "removed_truncate",
	[CACHEBPF_STAT_REMOVED + CACHEBPF_REMOVED_INVALIDATE]	= "removed_invalidate",
	[CACHEBPF_STAT_REMOVED + CACHEBPF_REMOVED_MIGRATE]	= "removed_migrate",
	[CACHEBPF_STAT_REMOVED + CACHEBPF_REMOVED_HANDOVER]	= "removed_handover",
	[CACHEBPF_STAT_REMOVED + CACHEBPF_REMOVED_DROPPED]	= "removed_dropped",
	[CACHEBPF_STAT_EVICT_CALLS]	= "evict_calls",
	[CACHEBPF_STAT_EVICT_ASKED]	= "evict_asked",
	[CACHEBPF_STAT_EVICT_PROPOSED]	= "evict_proposed",
	[CACHEBPF_STAT_EVICT_ISOLATED]	= "evict_isolated",
	[CACHEBPF_STAT_EVICT_RECLAIMED]	= "evict_reclaimed",
	[CACHEBPF_STAT_EVICT_FALLBACK]	= "evict_fallback",
	[CACHEBPF_STAT_EVICT_NS]	= "evict_ns",
	[CACHEBPF_STAT_REJECT_STALE]	= "reject_stale",
	[CACHEBPF_STAT_REJECT_BUSY]	= "reject_busy",
	[CACHEBPF_STAT_REJECT_NODE]	= "reject_node",
	[CACHEBPF_STAT_REJECT_PROTECTED] = "reject_protected",
	[CACHEBPF_STAT_REJECT_KEPT]	= "reject_kept",
};

static_assert(ARRAY_SIZE(stat_names) == CACHEBPF_NR_STATS);

/* All CPUs together; callers may do with a sum that is a moment old. */
u64 cachebpf_stat_sum(struct cachebpf_policy *policy, enum cachebpf_stat item)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(policy->pcpu, cpu)->count[item]);
	return sum;
}

static int policy_show(struct seq_file *m, void *v)
{
	struct mem_cgroup *memcg = mem_cgroup_from_seq(m);
	struct cachebpf_ejection *ejected;
	struct cachebpf_policy *policy;

	rcu_read_lock();
	policy = rcu_dereference(memcg->cachebpf);
	if (policy) {
		seq_printf(m, "policy %s\n", policy->name);
		seq_printf(m, "id %llu\n", policy->serial);
		seq_printf(m, "cgroup %llu\n", policy->cgroup_id);
		seq_printf(m, "inherited %d\n", policy->memcg != memcg);
		seq_printf(m, "updates %lu\n", policy->nr_updates);
	} else {
		seq_puts(m, "policy none\n");
	}
	ejected = cachebpf_ejection_of(memcg);
	if (ejected)
		seq_printf(m, "ejected %s id %llu: %s\n", ejected->name, ejected->serial,
			   ejected->reason);
	rcu_read_unlock();
	return 0;
}

static void show_state(struct seq_file *m, struct cachebpf_policy *policy)
{
	unsigned long folios = 0, pages = 0, rejected = 0;
	struct cachebpf_list **lists;
	int nid, i;

	for_each_node_state(nid, N_MEMORY) {
		lists = policy->nodes[nid]->lists;
		for (i = 0; i < policy->nr_lists; i++)
			folios += READ_ONCE(lists[i]->nr_folios);
		folios += cachebpf_nr_rejected(policy, nid);
		pages += cachebpf_pages_on(policy, nid);
		rejected += READ_ONCE(policy->nodes[nid]->rejected.nr_pages);
	}
	seq_printf(m, "managed_folios %lu\n", folios);
	seq_printf(m, "managed_pages %lu\n", pages);
	seq_printf(m, "rejected_pages %lu\n", rejected);
	/* without the one for unlisted folios */
	seq_printf(m, "lists %d\n", policy->nr_lists - 1);
	seq_printf(m, "table_bytes %lu\n", cachebpf_account_bytes(policy->account));
	seq_printf(m, "bucket_bytes %lu\n", cachebpf_buckets_size(policy));
	seq_printf(m, "evict_ns_max %llu\n", READ_ONCE(policy->watchdog.ns_max));
}

static int stat_show(struct seq_file *m, void *v)
{
	struct mem_cgroup *memcg = mem_cgroup_from_seq(m);
	struct cachebpf_policy *policy;
	int i;

	rcu_read_lock();
	policy = rcu_dereference(memcg->cachebpf);
	/* in a cgroup that inherits it they would tell what its siblings do */
	if (policy && policy->memcg == memcg) {
		show_state(m, policy);
		for (i = 0; i < CACHEBPF_NR_STATS; i++)
			seq_printf(m, "%s %llu\n", stat_names[i], cachebpf_stat_sum(policy, i));
	}
	rcu_read_unlock();
	return 0;
}

static struct cftype cachebpf_files[] = {
	{
		.name = "cachebpf.policy",
		.seq_show = policy_show,
	},
	{
		.name = "cachebpf.stat",
		.seq_show = stat_show,
	},
	{
		.name = "cachebpf.sample",
		.read_u64 = cachebpf_sample_read,
		.write_u64 = cachebpf_sample_write,
	},
	{ }
};

static ssize_t abi_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", CACHEBPF_ABI);
}

static ssize_t features_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf,
			  "access-counter\nadmission\nadoption\natomic-update\nbuckets\n"
			  "inheritance\niterators\nkey\nlist-order\nmglru\nnuma\npolicy-data\n"
			  "rank\nrank-list\nreadahead\nremoval-reason\nsample\ntracepoints\nwatchdog\n");
}

static ssize_t stat_attr_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	s64 attached = atomic64_read(&cachebpf_nr_attached);
	s64 detached = atomic64_read(&cachebpf_nr_detached);

	return sysfs_emit(buf,
			  "policies %lld\nattached %lld\ndetached %lld\nupdated %lld\nejected %lld\n",
			  attached - detached, attached, detached,
			  (s64)atomic64_read(&cachebpf_nr_updated),
			  (s64)atomic64_read(&cachebpf_nr_ejected));
}

static struct kobj_attribute abi_attr = __ATTR_RO(abi);
static struct kobj_attribute features_attr = __ATTR_RO(features);
static struct kobj_attribute stat_attr = __ATTR(stat, 0444, stat_attr_show, NULL);

static struct attribute *cachebpf_attrs[] = {
	&abi_attr.attr,
	&features_attr.attr,
	&stat_attr.attr,
	NULL,
};

static const struct attribute_group cachebpf_group = {
	.attrs = cachebpf_attrs,
};

static int __init cachebpf_stat_init(void)
{
	struct kobject *kobj = kobject_create_and_add("cachebpf", kernel_kobj);
	int err;

	if (!kobj)
		return -ENOMEM;
	err = sysfs_create_group(kobj, &cachebpf_group);
	if (!err)
		err = sysfs_create_group(kobj, &cachebpf_watchdog_group);
	if (!err)
		err = cgroup_add_dfl_cftypes(&memory_cgrp_subsys, cachebpf_files);
	return err;
}
late_initcall(cachebpf_stat_init);
