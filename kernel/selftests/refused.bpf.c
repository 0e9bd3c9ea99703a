// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that must not be loaded, and a policy that must not be attached.
 * Each map is one of them; a test loads one map with its programs.
 */
#include "cachebpf.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define __struct_ops	SEC(".struct_ops.link")

void CACHEBPF_OP(evict_nothing, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
}

/* --- a policy that refuses to start */

__s32 CACHEBPF_SLEEPABLE_OP(refuse_init, struct cachebpf_policy *policy)
{
	return -25; /* ENOTTY */
}

__struct_ops struct cachebpf_ops refuse = {
	.name		= "refuse",
	.policy_init	= (void *)refuse_init,
	.evict_folios	= (void *)evict_nothing,
};

/* --- kfuncs where they do not belong */

void CACHEBPF_OP(create_late_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	bpf_cachebpf_list_create(policy, 0);
}

__struct_ops struct cachebpf_ops create_late = {
	.name		= "create_late",
	.folio_added	= (void *)create_late_added,
	.evict_folios	= (void *)evict_nothing,
};

void CACHEBPF_SLEEPABLE_OP(create_exit_exit, struct cachebpf_policy *policy)
{
	bpf_cachebpf_list_create(policy, 0);
}

/* may sleep, and yet is not policy_init() */
__struct_ops struct cachebpf_ops create_exit = {
	.name		= "create_exit",
	.policy_exit	= (void *)create_exit_exit,
	.evict_folios	= (void *)evict_nothing,
};

/* another type of struct_ops, the kernel's own one for tests */
struct bpf_dummy_ops_state;

struct bpf_dummy_ops {
	int (*test_1)(struct bpf_dummy_ops_state *cb);
} __attribute__((preserve_access_index));

SEC("struct_ops/dummy_test")
int BPF_PROG(dummy_test, struct bpf_dummy_ops_state *cb)
{
	return bpf_cachebpf_list_len((void *)cb, 1);
}

SEC(".struct_ops") struct bpf_dummy_ops dummy = {
	.test_1 = (void *)dummy_test,
};

/* --- memory that is not the policy's */

void CACHEBPF_OP(write_order_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	folio->order = 3;
}

__struct_ops struct cachebpf_ops write_order = {
	.name		= "write_order",
	.folio_added	= (void *)write_order_added,
	.evict_folios	= (void *)evict_nothing,
};

void CACHEBPF_OP(write_cgroup_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	policy->cgroup_id = 1;
}

__struct_ops struct cachebpf_ops write_cgroup = {
	.name		= "write_cgroup",
	.folio_added	= (void *)write_cgroup_added,
	.evict_folios	= (void *)evict_nothing,
};

void CACHEBPF_OP(write_wanted_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	evict->nr_wanted = 1000;
}

__struct_ops struct cachebpf_ops write_wanted = {
	.name		= "write_wanted",
	.evict_folios	= (void *)write_wanted_evict,
};

void CACHEBPF_OP(long_data_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__u8 *data = bpf_cachebpf_data(folio, 16);

	if (data)
		data[16] = 1;
}

__struct_ops struct cachebpf_ops long_data = {
	.name		= "long_data",
	.folio_added	= (void *)long_data_added,
	.evict_folios	= (void *)evict_nothing,
};

bool CACHEBPF_OP(write_admission_admit, struct cachebpf_policy *policy,
		 struct cachebpf_admission *admission)
{
	admission->flags = 0;
	return true;
}

__struct_ops struct cachebpf_ops write_admission = {
	.name		= "write_admission",
	.admit_folio	= (void *)write_admission_admit,
	.evict_folios	= (void *)evict_nothing,
};

bool CACHEBPF_OP(write_readahead_plan, struct cachebpf_policy *policy,
		 struct cachebpf_readahead *ra)
{
	ra->wanted = 1000;
	return true;
}

__struct_ops struct cachebpf_ops write_readahead = {
	.name		= "write_readahead",
	.plan_readahead	= (void *)write_readahead_plan,
	.evict_folios	= (void *)evict_nothing,
};

/* --- what is acquired and not given back */

extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;

void CACHEBPF_OP(leak_task_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	bpf_task_from_pid(1);
}

__struct_ops struct cachebpf_ops leak_task = {
	.name		= "leak_task",
	.evict_folios	= (void *)leak_task_evict,
};

void CACHEBPF_OP(leak_walk_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct bpf_iter_cachebpf_list it;

	bpf_iter_cachebpf_list_new(&it, evict, 1, 0, 0);
}

__struct_ops struct cachebpf_ops leak_walk = {
	.name		= "leak_walk",
	.evict_folios	= (void *)leak_walk_evict,
};

/* --- memory of a process, which can be anywhere, or nowhere */

extern int bpf_copy_from_user_str(void *dst, __u32 dst__sz, const void *unsafe_ptr__ign,
				  __u64 flags) __ksym;

void CACHEBPF_OP(may_fault_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	char text[8];

	bpf_copy_from_user_str(text, sizeof(text), (const void *)4096, 0);
}

__struct_ops struct cachebpf_ops may_fault = {
	.name		= "may_fault",
	.evict_folios	= (void *)may_fault_evict,
};

/* --- folios remembered from an earlier call */

static __u64 remembered;

void CACHEBPF_OP(as_number_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	remembered = (__u64)folio;
}

void CACHEBPF_OP(as_number_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	bpf_cachebpf_evict(evict, (struct cachebpf_folio *)remembered);
}

__struct_ops struct cachebpf_ops as_number = {
	.name		= "as_number",
	.folio_added	= (void *)as_number_added,
	.evict_folios	= (void *)as_number_evict,
};

void CACHEBPF_OP(made_up_folio_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u64 own[4] = { 1, 2, 3 };

	bpf_cachebpf_evict(evict, (struct cachebpf_folio *)own);
}

__struct_ops struct cachebpf_ops made_up_folio = {
	.name		= "made_up_folio",
	.evict_folios	= (void *)made_up_folio_evict,
};

void CACHEBPF_OP(made_up_evict_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u64 own[16] = { 32 };

	bpf_cachebpf_rank_list((struct cachebpf_evict *)own, 1, 32, CACHEBPF_BY_ACCESSES);
}

__struct_ops struct cachebpf_ops made_up_evict = {
	.name		= "made_up_evict",
	.evict_folios	= (void *)made_up_evict_evict,
};

void CACHEBPF_OP(made_up_plan_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u64 own[32] = { 0 };

	bpf_cachebpf_prefetch((struct cachebpf_readahead *)own, 1, 32);
}

__struct_ops struct cachebpf_ops made_up_plan = {
	.name		= "made_up_plan",
	.evict_folios	= (void *)made_up_plan_evict,
};

struct memory {
	struct cachebpf_folio __kptr_untrusted *folio;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct memory);
	__uint(max_entries, 1);
} memories SEC(".maps");

void CACHEBPF_OP(as_pointer_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__u32 zero = 0;
	struct memory *memory = bpf_map_lookup_elem(&memories, &zero);

	if (memory)
		memory->folio = folio;
}

void CACHEBPF_OP(as_pointer_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	__u32 zero = 0;
	struct memory *memory = bpf_map_lookup_elem(&memories, &zero);

	if (memory && memory->folio)
		bpf_cachebpf_evict(evict, memory->folio);
}

__struct_ops struct cachebpf_ops as_pointer = {
	.name		= "as_pointer",
	.folio_added	= (void *)as_pointer_added,
	.evict_folios	= (void *)as_pointer_evict,
};

/* --- keys and buckets where they do not belong */

void CACHEBPF_OP(key_evict_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, 0, 1, 0)
		bpf_cachebpf_rank(evict, folio, bpf_cachebpf_key(folio));
}

__struct_ops struct cachebpf_ops key_evict = {
	.name		= "key_evict",
	.evict_folios	= (void *)key_evict_evict,
};

/* found by its number it may be a folio that somebody frees just now */
void CACHEBPF_OP(key_by_number_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	struct cachebpf_folio *found;

	for_folio(found, policy, bpf_cachebpf_number(folio))
		folio->accesses = bpf_cachebpf_key(found);
}

__struct_ops struct cachebpf_ops key_by_number = {
	.name		= "key_by_number",
	.folio_added	= (void *)key_by_number_added,
	.evict_folios	= (void *)evict_nothing,
};

void CACHEBPF_OP(file_evict_evict, struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
	struct cachebpf_file file = {};
	struct cachebpf_folio *folio;

	for_each_folio(folio, evict, 0, 1, 0)
		bpf_cachebpf_file(folio, &file);
}

__struct_ops struct cachebpf_ops file_evict = {
	.name		= "file_evict",
	.evict_folios	= (void *)file_evict_evict,
};

/* it may sleep, and the folio may go meanwhile */
__s32 CACHEBPF_SLEEPABLE_OP(number_init_init, struct cachebpf_policy *policy)
{
	struct cachebpf_folio *folio;

	for_folio(folio, policy, 1)
		return 0;
	return 0;
}

__struct_ops struct cachebpf_ops number_init = {
	.name		= "number_init",
	.policy_init	= (void *)number_init_init,
	.evict_folios	= (void *)evict_nothing,
};

/* behind what a policy may see are the folios of this call, and others from the last one */
__s32 CACHEBPF_OP(advised_before_advise, struct cachebpf_policy *policy,
		  struct cachebpf_advice *advice)
{
	return ((const volatile __u64 *)advice)[30];
}

__struct_ops struct cachebpf_ops advised_before = {
	.name		= "advised_before",
	.advise		= (void *)advised_before_advise,
	.evict_folios	= (void *)evict_nothing,
};

/* behind what a policy may see are the candidates of this request, and of others */
void CACHEBPF_OP(proposed_before_evict, struct cachebpf_policy *policy,
		 struct cachebpf_evict *evict)
{
	(void)((const volatile __u64 *)evict)[4];
}

__struct_ops struct cachebpf_ops proposed_before = {
	.name		= "proposed_before",
	.evict_folios	= (void *)proposed_before_evict,
};

void CACHEBPF_OP(buckets_late_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	bpf_cachebpf_buckets_create(policy, 8);
}

__struct_ops struct cachebpf_ops buckets_late = {
	.name		= "buckets_late",
	.folio_added	= (void *)buckets_late_added,
	.evict_folios	= (void *)evict_nothing,
};

/* it may sleep, and a bucket may be freed meanwhile */
__s32 CACHEBPF_SLEEPABLE_OP(bucket_init_init, struct cachebpf_policy *policy)
{
	int err = bpf_cachebpf_buckets_create(policy, 8);
	__u8 *bucket = err ? NULL : bpf_cachebpf_bucket(policy, 1, 8);

	return bucket ? *bucket : err;
}

__struct_ops struct cachebpf_ops bucket_init = {
	.name		= "bucket_init",
	.policy_init	= (void *)bucket_init_init,
	.evict_folios	= (void *)evict_nothing,
};

void CACHEBPF_OP(long_bucket_added, struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	__u8 *bucket = bpf_cachebpf_bucket(policy, bpf_cachebpf_key(folio), 64);

	if (bucket)
		bucket[64] = 1;
}

__struct_ops struct cachebpf_ops long_bucket = {
	.name		= "long_bucket",
	.folio_added	= (void *)long_bucket_added,
	.evict_folios	= (void *)evict_nothing,
};
