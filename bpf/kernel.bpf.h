/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What cachebpf.bpf.h includes when a policy is compiled for the kernel: BPF's
 * headers, the kernel's types with the fields that a policy may use, which are
 * relocated when the policy is loaded, and how a policy makes itself known.
 */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define __kernel_type	__attribute__((preserve_access_index))
/* a function that older kernels lack: programs that call it cannot be loaded there, others can */
#define __newer		__weak
/*
 * in front of a function that the verifier looks at once, and not wherever it is called; weak, or clang would
 * leave out what it knows by looking into it, and the verifier does not
 */
#define __verified_once	__weak __noinline
/* in front of a loop that is run through a known number of times */
#define __unrolled	_Pragma("unroll")

/* The running instance of the policy, handed to every callback. */
struct cachebpf_policy {
	/* of the control group that it is attached to */
	__u64 cgroup_id;
} __kernel_type;

/* What the kernel knows of one folio; see folio_pages(), folio_data() and uses_since(). */
struct cachebpf_folio {
	/*
	 * Number of the list that it is on, 0: of none; in folio_removed(), that it was on;
	 * 65535: it is just added, and the policy has no list for new folios.
	 */
	__u16 list;
	/* it has 1 << order pages */
	__u8 order;
	/*
	 * Uses since it was added, the one that brought it in included; 0: it was read ahead
	 * and not used yet; 1 to 3 to begin with if it was cached before the policy came.
	 * Ends at 32768.  The one field of a folio that may be written.
	 */
	__u16 accesses;
} __kernel_type;

/* A request for folios to evict. */
struct cachebpf_evict {
	/* pages that are wanted, at most 32 */
	__u32 nr_wanted;
	/* pages of what was proposed so far */
	__u32 nr_proposed;
	/* NUMA node that is being reclaimed; walks know it */
	int nid;
} __kernel_type;

/* A page of a file. */
struct cachebpf_file {
	/* as in stat(2) */
	__u64 ino;
	/* which page of it */
	__u64 index;
	/* of the file system, as in stat(2) */
	__u32 dev;
	/* tells a file from one that had its inode number before */
	__u32 generation;
} __kernel_type;

/* What a program says of a part of a file: the current task, by posix_fadvise(). */
struct cachebpf_advice {
	/* the manager, as bpf_cachebpf_owner() has it */
	__u64 manager;
	/* the file; its index is that of the first page */
	struct cachebpf_file file;
	/* the first page of the range */
	__u64 first;
	/* the last one */
	__u64 last;
	/* POSIX_FADV_*, or one of CACHEBPF_ADVICE_OWN */
	__s32 advice;
	/* the first call for this advice; it has no folios */
	bool begins;
} __kernel_type;

/* bpf_get_current_task_btf(): who uses a folio or brings it in, where that is known. */
struct task_struct {
	/* PF_*, as in linux/sched.h */
	__u32 flags;
	/* of the thread */
	__s32 pid;
	/* of its process */
	__s32 tgid;
	/* name of the thread, ends with a 0 */
	char comm[16];
} __kernel_type;

/* Defines a callback, which may not sleep: void CACHEBPF_OP(keeper_evict, …) { … } */
#define CACHEBPF_OP(name, args...)		SEC("struct_ops/" #name) BPF_PROG(name, ##args)
/* The same for policy_init and policy_exit, which may. */
#define CACHEBPF_SLEEPABLE_OP(name, args...)	SEC("struct_ops.s/" #name) BPF_PROG(name, ##args)

#define __cachebpf_tag(text)	__attribute__((btf_decl_tag("cachebpf:" text)))

/*
 * A number an administrator may set (CachePolicyOptions=).  @range is written
 * "MIN..MAX", both included; the default is the initial value that follows:
 *
 *	CACHEBPF_TUNABLE(__u32, nr_scan, "1..4096", "folios", "looked at per request") = 512;
 */
#define CACHEBPF_TUNABLE(type, name, range, unit, doc)				\
	const volatile type name __cachebpf_tag("range=" range)			\
		__cachebpf_tag("unit=" unit) __cachebpf_tag("doc=" doc)

/*
 * A number that the policy counts up from 0 with counter_add(), and the daemon shows.  @name
 * and @unit, a plural or "", become a part of a metric's name: small letters, digits and "_".
 *
 *	CACHEBPF_COUNTER(spared, "folios", "that were used since they came");
 */
#define CACHEBPF_COUNTER(name, unit, doc)					\
	__u64 name SEC(".data.counters") __cachebpf_tag("unit=" unit)		\
		__cachebpf_tag("doc=" doc)

/*
 * Ends a policy: its name, one line of description, its source, its callbacks.
 * The admission filter and readahead come with it, see lib/admission.bpf.h and
 * lib/readahead.bpf.h.
 */
#define CACHEBPF_POLICY(id, description, source, callbacks...)			\
	char LICENSE[] SEC("license") = "GPL";					\
	SEC(".struct_ops.link") struct cachebpf_ops id				\
		__cachebpf_tag("description=" description)			\
		__cachebpf_tag("source=" source) = {				\
		.name = #id,							\
		__cachebpf_admission						\
		__cachebpf_readahead						\
		callbacks							\
	}
