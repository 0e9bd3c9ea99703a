// SPDX-License-Identifier: GPL-2.0-only
/*
 * The struct_ops type cachebpf_ops: what the BPF subsystem has to know to
 * verify, load and attach a policy.
 */
#define pr_fmt(fmt) "cachebpf: " fmt

#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/filter.h>
#include <linux/init.h>
#include <linux/rwsem.h>

#include "internal.h"

/* held by those who attach, replace and detach, so that somebody else can keep them waiting */
DECLARE_RWSEM(cachebpf_changes);

static u32 ops_type_id;
static const struct btf_type *folio_type, *held_folio_type, *readahead_type;

BTF_KFUNCS_START(cachebpf_kfunc_ids)
BTF_ID_FLAGS(func, bpf_cachebpf_list_create, KF_TRUSTED_ARGS | KF_SLEEPABLE)
BTF_ID_FLAGS(func, bpf_cachebpf_list_add, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_list_move, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_list_insert, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_list_del, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_list_len, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_data, KF_TRUSTED_ARGS | KF_RET_NULL)
BTF_ID_FLAGS(func, bpf_cachebpf_key, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_file, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_owner, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_number, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_iter_cachebpf_folio_new, KF_ITER_NEW | KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_iter_cachebpf_folio_next, KF_ITER_NEXT | KF_RET_NULL)
BTF_ID_FLAGS(func, bpf_iter_cachebpf_folio_destroy, KF_ITER_DESTROY)
BTF_ID_FLAGS(func, bpf_cachebpf_buckets_create, KF_TRUSTED_ARGS | KF_SLEEPABLE)
BTF_ID_FLAGS(func, bpf_cachebpf_bucket, KF_TRUSTED_ARGS | KF_RET_NULL)
BTF_ID_FLAGS(func, bpf_cachebpf_evict, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_rank, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_rank_list, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_first, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_iter_cachebpf_advice_new, KF_ITER_NEW | KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_iter_cachebpf_advice_next, KF_ITER_NEXT | KF_RET_NULL)
BTF_ID_FLAGS(func, bpf_iter_cachebpf_advice_destroy, KF_ITER_DESTROY)
BTF_ID_FLAGS(func, bpf_cachebpf_advice_move, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_advice_insert, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_cachebpf_prefetch, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_iter_cachebpf_list_new, KF_ITER_NEW | KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, bpf_iter_cachebpf_list_next, KF_ITER_NEXT | KF_RET_NULL)
BTF_ID_FLAGS(func, bpf_iter_cachebpf_list_destroy, KF_ITER_DESTROY)
BTF_KFUNCS_END(cachebpf_kfunc_ids)

/* those that are not for all callbacks */
enum { LIST_CREATE, BUCKETS_CREATE, BUCKET, FOLIO, KEY, FILE };

BTF_ID_LIST(special_ids)
BTF_ID(func, bpf_cachebpf_list_create)
BTF_ID(func, bpf_cachebpf_buckets_create)
BTF_ID(func, bpf_cachebpf_bucket)
BTF_ID(func, bpf_iter_cachebpf_folio_new)
BTF_ID(func, bpf_cachebpf_key)
BTF_ID(func, bpf_cachebpf_file)

/* Where the callback that @prog implements is in struct cachebpf_ops. */
static u32 callback_of(const struct bpf_prog *prog)
{
	const struct btf_type *t = btf_type_by_id(prog->aux->attach_btf, prog->aux->attach_btf_id);

	return __btf_member_bit_offset(t, btf_type_member(t) + prog->expected_attach_type) / 8;
}

/* May the kfunc with @id be called in the @callback? */
static bool belongs_in(u32 id, u32 callback)
{
	bool at_start = callback == offsetof(struct cachebpf_ops, policy_init);
	bool at_end = callback == offsetof(struct cachebpf_ops, policy_exit);

	if (id == special_ids[LIST_CREATE] || id == special_ids[BUCKETS_CREATE])
		return at_start;
	/* valid in an RCU read side, which these two are not */
	if (id == special_ids[BUCKET] || id == special_ids[FOLIO])
		return !at_start && !at_end;
	/* where the folio is known to belong to a file still */
	if (id == special_ids[KEY] || id == special_ids[FILE])
		return callback == offsetof(struct cachebpf_ops, folio_added) ||
		       callback == offsetof(struct cachebpf_ops, folio_accessed) ||
		       callback == offsetof(struct cachebpf_ops, folio_removed) ||
		       callback == offsetof(struct cachebpf_ops, advise);
	return true;
}

/* The kfuncs are for cachebpf_ops alone. */
static int kfunc_filter(const struct bpf_prog *prog, u32 kfunc_id)
{
	if (!btf_id_set8_contains(&cachebpf_kfunc_ids, kfunc_id))
		return 0;
	if (prog->type != BPF_PROG_TYPE_STRUCT_OPS || prog->aux->attach_btf_id != ops_type_id)
		return -EACCES;
	return belongs_in(kfunc_id, callback_of(prog)) ? 0 : -EACCES;
}

static const struct btf_kfunc_id_set cachebpf_kfunc_set = {
	.owner	= THIS_MODULE,
	.set	= &cachebpf_kfunc_ids,
	.filter	= kfunc_filter,
};

static bool ops_is_valid_access(int off, int size, enum bpf_access_type type,
				const struct bpf_prog *prog, struct bpf_insn_access_aux *info)
{
	return bpf_tracing_btf_ctx_access(off, size, type, prog, info);
}

/* Of the kernel's fields a policy may write a folio's access counter, and a plan to read. */
static int ops_btf_struct_access(struct bpf_verifier_log *log, const struct bpf_reg_state *reg,
				 int off, int size)
{
	const struct btf_type *t = btf_type_by_id(reg->btf, reg->btf_id);

	if ((t == folio_type || t == held_folio_type) &&
	    off == offsetof(struct cachebpf_folio, accesses) &&
	    size == sizeof_field(struct cachebpf_folio, accesses))
		return SCALAR_VALUE;
	/* start, size and async_size */
	if (t == readahead_type && off >= offsetof(struct cachebpf_readahead, start) &&
	    off + size <= offsetofend(struct cachebpf_readahead, async_size))
		return SCALAR_VALUE;

	bpf_log(log, "only cachebpf_folio.accesses may be written, and a window to read\n");
	return -EACCES;
}

/* The same as the stock one, which comes with CONFIG_BPF_EVENTS and not without. */
BPF_CALL_0(cachebpf_get_current_task)
{
	return (unsigned long)current;
}

static const struct bpf_func_proto get_current_task_btf_proto = {
	.func		= cachebpf_get_current_task,
	.gpl_only	= true,
	.ret_type	= RET_PTR_TO_BTF_ID_TRUSTED,
	.ret_btf_id	= &btf_tracing_ids[BTF_TRACING_TYPE_TASK],
};

/* Beyond what all programs may call: what is known about a task, such as its class. */
static const struct bpf_func_proto *ops_get_func_proto(enum bpf_func_id func_id,
						       const struct bpf_prog *prog)
{
	switch (func_id) {
	case BPF_FUNC_get_current_task_btf:
		return &get_current_task_btf_proto;
	case BPF_FUNC_task_storage_get:
		return &bpf_task_storage_get_proto;
	case BPF_FUNC_task_storage_delete:
		return &bpf_task_storage_delete_proto;
	default:
		return bpf_base_func_proto(func_id, prog);
	}
}

static const struct bpf_verifier_ops ops_verifier_ops = {
	.get_func_proto		= ops_get_func_proto,
	.is_valid_access	= ops_is_valid_access,
	.btf_struct_access	= ops_btf_struct_access,
};

static int ops_init(struct btf *btf)
{
	s32 id;

	id = btf_find_by_name_kind(btf, "cachebpf_ops", BTF_KIND_STRUCT);
	if (id < 0)
		return id;
	ops_type_id = id;

	id = btf_find_by_name_kind(btf, "cachebpf_folio", BTF_KIND_STRUCT);
	if (id < 0)
		return id;
	folio_type = btf_type_by_id(btf, id);

	id = btf_find_by_name_kind(btf, "cachebpf_held_folio", BTF_KIND_STRUCT);
	if (id < 0)
		return id;
	held_folio_type = btf_type_by_id(btf, id);

	id = btf_find_by_name_kind(btf, "cachebpf_readahead", BTF_KIND_STRUCT);
	if (id < 0)
		return id;
	readahead_type = btf_type_by_id(btf, id);
	return 0;
}

static int ops_check_member(const struct btf_type *t, const struct btf_member *member,
			    const struct bpf_prog *prog)
{
	switch (__btf_member_bit_offset(t, member) / 8) {
	case offsetof(struct cachebpf_ops, policy_init):
	case offsetof(struct cachebpf_ops, policy_exit):
		return 0;
	default:
		return prog->sleepable ? -EINVAL : 0;
	}
}

static int ops_init_member(const struct btf_type *t, const struct btf_member *member,
			   void *kdata, const void *udata)
{
	const struct cachebpf_ops *uops = udata;
	struct cachebpf_ops *ops = kdata;

	switch (__btf_member_bit_offset(t, member) / 8) {
	case offsetof(struct cachebpf_ops, cgroup_id):
		ops->cgroup_id = uops->cgroup_id;
		return 1;
	case offsetof(struct cachebpf_ops, flags):
		if (uops->flags & ~(u64)CACHEBPF_F_STOCK_RECLAIM) {
			pr_info("unknown flags %#llx\n", uops->flags);
			return -EINVAL;
		}
		ops->flags = uops->flags;
		return 1;
	case offsetof(struct cachebpf_ops, name):
		if (bpf_obj_name_cpy(ops->name, uops->name, sizeof(ops->name)) <= 0) {
			pr_info("a policy must have a name of letters, digits, '_' and '.'\n");
			return -EINVAL;
		}
		return 1;
	}
	return 0;
}

static int ops_validate(void *kdata)
{
	struct cachebpf_ops *ops = kdata;

	if (!ops->evict_folios && !(ops->flags & CACHEBPF_F_STOCK_RECLAIM)) {
		pr_info("policy %s: evict_folios() is missing\n", ops->name);
		return -EINVAL;
	}
	return 0;
}

static int ops_reg(void *kdata, struct bpf_link *link)
{
	struct cachebpf_ops *ops = kdata;
	int err;

	if (!link) {
		pr_info("policy %s must be attached with a link\n", ops->name);
		return -EOPNOTSUPP;
	}
	/* one map, one instance */
	if (READ_ONCE(ops->policy))
		return -EBUSY;
	down_read(&cachebpf_changes);
	err = cachebpf_policy_attach(ops, link);
	up_read(&cachebpf_changes);
	return err;
}

static void ops_unreg(void *kdata, struct bpf_link *link)
{
	down_read(&cachebpf_changes);
	cachebpf_policy_detach(kdata);
	up_read(&cachebpf_changes);
}

static int ops_update(void *kdata, void *old_kdata, struct bpf_link *link)
{
	struct cachebpf_ops *ops = kdata;
	int err;

	if (READ_ONCE(ops->policy))
		return -EBUSY;
	down_read(&cachebpf_changes);
	err = cachebpf_policy_replace(ops, old_kdata, link);
	up_read(&cachebpf_changes);
	return err;
}

static s32 policy_init_stub(struct cachebpf_policy *policy)
{
	return 0;
}

static void policy_exit_stub(struct cachebpf_policy *policy)
{
}

static void evict_folios_stub(struct cachebpf_policy *policy, struct cachebpf_evict *evict)
{
}

static void folio_added_stub(struct cachebpf_policy *policy, struct cachebpf_held_folio *folio,
			     u32 why)
{
}

static void folio_accessed_stub(struct cachebpf_policy *policy,
				struct cachebpf_held_folio *folio)
{
}

static void folio_removed_stub(struct cachebpf_policy *policy, struct cachebpf_held_folio *folio,
			       u32 why)
{
}

static s32 advise_stub(struct cachebpf_policy *policy, struct cachebpf_advice *advice)
{
	return 0;
}

static bool admit_folio_stub(struct cachebpf_policy *policy, struct cachebpf_admission *admission)
{
	return true;
}

static bool plan_readahead_stub(struct cachebpf_policy *policy, struct cachebpf_readahead *ra)
{
	return false;
}

static struct cachebpf_ops cfi_stubs = {
	.policy_init	= policy_init_stub,
	.policy_exit	= policy_exit_stub,
	.evict_folios	= evict_folios_stub,
	.folio_added	= folio_added_stub,
	.folio_accessed	= folio_accessed_stub,
	.folio_removed	= folio_removed_stub,
	.admit_folio	= admit_folio_stub,
	.advise		= advise_stub,
	.plan_readahead	= plan_readahead_stub,
};

static struct bpf_struct_ops bpf_cachebpf_ops = {
	.verifier_ops	= &ops_verifier_ops,
	.init		= ops_init,
	.check_member	= ops_check_member,
	.init_member	= ops_init_member,
	.validate	= ops_validate,
	.reg		= ops_reg,
	.unreg		= ops_unreg,
	.update		= ops_update,
	.cfi_stubs	= &cfi_stubs,
	.name		= "cachebpf_ops",
	.owner		= THIS_MODULE,
};

static int __init cachebpf_init(void)
{
	int err;

	err = cachebpf_table_init();
	if (!err)
		err = register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &cachebpf_kfunc_set);
	if (!err)
		err = register_bpf_struct_ops(&bpf_cachebpf_ops, cachebpf_ops);
	if (err)
		pr_err("cannot register the policy type: %d\n", err);
	return err;
}
late_initcall(cachebpf_init);
