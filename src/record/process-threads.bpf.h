/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads of a control group and its descendants, each with its own counters. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel-types.h"
#include "process-table.h"

#define PF_EXITING	0x00000004

/* places where a thread may be found, from its own one on */
#define PLACES	8

/* set before loading: the group, and how deep below the root it is */
const volatile __u64 cgroup_id;
const volatile __u32 cgroup_level;

struct thread_counts threads[THREADS_MAX];

/* accesses and additions of threads for which there was no room */
__u64 n_lost;

static struct thread_counts *place(__u32 pid, __u32 i)
{
	return &threads[(pid + i) & (THREADS_MAX - 1)];
}

static void set_name(struct thread_counts *t, struct task_struct *task)
{
	bpf_probe_read_kernel_str(t->name, sizeof(t->name), task->group_leader->comm);
}

static __noinline struct thread_counts *find_thread(__u32 pid)
{
	for (__u32 i = 0; i < PLACES; i++) {
		struct thread_counts *t = place(pid, i);

		if (t->pid == pid)
			return t;
	}
	return NULL;
}

/* A place that no thread has, nor one that has ended and was not counted yet. */
static struct thread_counts *take_place(struct task_struct *task, __u32 pid)
{
	for (__u32 i = 0; i < PLACES; i++) {
		struct thread_counts *t = place(pid, i);

		if (t->process || __sync_val_compare_and_swap(&t->pid, 0, pid))
			continue;
		set_name(t, task);
		t->process = task->tgid;
		return t;
	}
	__sync_fetch_and_add(&n_lost, 1);
	return NULL;
}

/* The same as below for a thread that is new, has moved, or is not one of the group. */
static __noinline struct thread_counts *look_up(struct task_struct *task)
{
	__u32 pid = task->pid;
	struct thread_counts *t;

	if (bpf_get_current_ancestor_cgroup_id(cgroup_level) != cgroup_id)
		return NULL;
	t = find_thread(pid);
	if (!t)
		t = take_place(task, pid);
	if (t)
		t->cgroups = (__u64)task->cgroups;
	return t;
}

/* The counters of the current thread; NULL if it is not one of the group. */
static __always_inline struct thread_counts *get_thread(struct task_struct *task)
{
	__u32 pid = task->pid;
	struct thread_counts *t = place(pid, 0);

	if (t->pid == pid && t->cgroups == (__u64)task->cgroups)
		return t;
	return look_up(task);
}

/* The current thread ends: its place stays until cachectl has its counts. */
static void end_thread(struct task_struct *task)
{
	struct thread_counts *t = find_thread(task->pid);

	if (t) {
		set_name(t, task);
		t->pid = 0;
	}
}
