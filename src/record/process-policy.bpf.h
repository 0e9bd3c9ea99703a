/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What threads do under a policy, without a cost at each hit: each processor
 * has the policy's counters, and by how much they grow while a thread runs
 * there is what the thread did.  They are looked at when another thread is
 * about to run, when one ends, and when cachectl wants to know.
 */
#pragma once

#include "process-threads.bpf.h"

struct cachebpf_pcpu {
	__u64 count[2];
} __kernel_type;

struct cachebpf_policy {
	__u64 serial;
	struct cachebpf_pcpu *pcpu;
} __kernel_type;

struct mem_cgroup {
	struct cachebpf_policy *cachebpf;
} __kernel_type;

enum cachebpf_stat {
	CACHEBPF_STAT_HITS,
	CACHEBPF_STAT_MISSES,
};

enum cgroup_subsys_id {
	memory_cgrp_id = 4,
};

/* where this processor's part of such counters begins */
extern const unsigned long this_cpu_off __ksym __weak;

/* The policy under which this processor's thread runs, and its counters when they were looked at last. */
struct running {
	__u64 serial; /* 0: none */
	__u64 hits, misses;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct running);
} running SEC(".maps");

/* Reads what is there now for the control group of the thread. */
static void read_counters(struct task_struct *task, struct running *now)
{
	struct cachebpf_policy *policy;
	struct mem_cgroup *memcg = NULL;
	__u64 pcpu;

	bpf_probe_read_kernel(&memcg, sizeof(memcg), (void *)task->cgroups +
			      bpf_core_field_offset(struct css_set, subsys) + sizeof(void *) *
			      bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	*now = (struct running) {};
	policy = BPF_CORE_READ(memcg, cachebpf);
	if (!policy)
		return;
	pcpu = (__u64)BPF_CORE_READ(policy, pcpu) + *(unsigned long *)bpf_this_cpu_ptr(&this_cpu_off) +
	       bpf_core_field_offset(struct cachebpf_pcpu, count);
	bpf_probe_read_kernel(&now->hits, sizeof(now->hits), (void *)(pcpu + sizeof(__u64) *
			      bpf_core_enum_value(enum cachebpf_stat, CACHEBPF_STAT_HITS)));
	bpf_probe_read_kernel(&now->misses, sizeof(now->misses), (void *)(pcpu + sizeof(__u64) *
			      bpf_core_enum_value(enum cachebpf_stat, CACHEBPF_STAT_MISSES)));
	now->serial = BPF_CORE_READ(policy, serial);
}

/* What was counted since the last look was the current thread's, if its policy is the same still. */
static void settle(struct task_struct *task, struct running *last)
{
	struct thread_counts *t;
	struct running now;

	if (!last->serial)
		return;
	read_counters(task, &now);
	if (now.serial != last->serial || (now.hits == last->hits && now.misses == last->misses))
		return;
	t = get_thread(task);
	if (t) {
		t->accesses += now.hits - last->hits + now.misses - last->misses;
		t->misses += now.misses - last->misses;
	}
}

/* The thread runs on this processor from now on. */
static void begin(struct task_struct *task, struct running *last)
{
	last->serial = 0;
	if (!(task->flags & PF_EXITING))
		read_counters(task, last);
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 key = 0;
	struct running *last = bpf_map_lookup_elem(&running, &key);

	if (last) {
		settle(prev, last);
		begin(next, last);
	}
	return 0;
}

/* Run by cachectl on each processor: counts what its current thread did up to now. */
SEC("?raw_tp")
int look(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 key = 0;
	struct running *last = bpf_map_lookup_elem(&running, &key);

	if (last) {
		settle(task, last);
		begin(task, last);
	}
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(exit_under_policy, struct task_struct *task)
{
	__u32 key = 0;
	struct running *last = bpf_map_lookup_elem(&running, &key);

	if (last) {
		settle(task, last);
		last->serial = 0;
	}
	end_thread(task);
	return 0;
}
