// SPDX-License-Identifier: GPL-2.0-only
/*
 * FIFO that admits what it is told to, and writes down what it is asked and
 * told; and the same answers as a filter for stock reclaim.
 */
#include "cachebpf.bpf.h"
#include "states.h"

struct admission_state state SEC(".bss.state");

/* threads that are in no class are admitted */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} classes SEC(".maps");

static __u32 queue;

__s32 CACHEBPF_SLEEPABLE_OP(admission_init, struct cachebpf_policy *policy)
{
	int list = bpf_cachebpf_list_create(policy, 0);

	if (list < 0)
		return list;
	queue = list;
	return 0;
}

bool CACHEBPF_OP(admission_admit, struct cachebpf_policy *policy,
		 struct cachebpf_admission *admission)
{
	__u32 *class;

	__sync_fetch_and_add(&state.asked[admission->flags & (ADMISSION_NR_FLAGS - 1)],
			     admission->nr_pages);
	state.ino = admission->ino;
	state.pos = admission->pos;
	state.dev = admission->dev;
	state.nr_pages = admission->nr_pages;
	state.pid = bpf_get_current_pid_tgid();

	switch (state.mode) {
	case ADMIT_NONE:
		return false;
	case ADMIT_REUSED:
		return admission->flags & CACHEBPF_ADMISSION_REUSE;
	case ADMIT_FILE:
		return admission->ino == state.admitted_ino;
	case ADMIT_CLASS:
		class = bpf_task_storage_get(&classes, bpf_get_current_task_btf(), 0, 0);
		return !class || *class != state.rejected_class;
	default:
		return true;
	}
}

void CACHEBPF_OP(admission_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__u64 *data = (__u64 *)bpf_cachebpf_data(folio, 16);

	/* they must be empty when a folio comes, whatever it was before */
	if (data && (data[0] || data[1]))
		__sync_fetch_and_add(&state.damaged, 1);
	__sync_fetch_and_add(&state.added[why & 7], 1ULL << (folio->order & 15));
	state.accesses = folio->accesses;
	bpf_cachebpf_list_add(policy, folio, queue, TAIL);
}

void CACHEBPF_OP(admission_accessed, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__sync_fetch_and_add(&state.accessed, 1);
}

void CACHEBPF_OP(admission_removed, struct cachebpf_policy *policy, struct cachebpf_folio *folio,
		 __u32 why)
{
	__sync_fetch_and_add(&state.removed, 1ULL << (folio->order & 15));
}

void CACHEBPF_OP(admission_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, queue, 0, CACHEBPF_ITER_ROTATE)
		if (bpf_cachebpf_evict(evict, folio))
			break;
}

CACHEBPF_POLICY(admission, "FIFO that admits what it is told to", "kernel/selftests",
		.policy_init	= (void *)admission_init,
		.admit_folio	= (void *)admission_admit,
		.folio_added	= (void *)admission_added,
		.folio_accessed	= (void *)admission_accessed,
		.folio_removed	= (void *)admission_removed,
		.evict_folios	= (void *)admission_evict);

SEC(".struct_ops.link") struct cachebpf_ops filter = {
	.name		= "filter",
	.flags		= CACHEBPF_F_STOCK_RECLAIM,
	.admit_folio	= (void *)admission_admit,
};
