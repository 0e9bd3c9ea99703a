// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies and the cgroups they serve: attach, inherit, replace, detach.
 *
 * memcg->cachebpf is the effective policy of a cgroup, its own or that of its
 * nearest ancestor with one; cachebpf_mutex protects it, readers use RCU.
 */
#define pr_fmt(fmt) "cachebpf: " fmt

#include <linux/bpf.h>
#include <linux/cgroup.h>
#include <linux/idr.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <trace/events/cachebpf.h>

#include "delay.h"
#include "internal.h"
#include "list.h"

/* folios handed back or over between two chances to schedule */
#define HAND_OVER_BATCH	64

static DEFINE_MUTEX(cachebpf_mutex);
static DEFINE_IDA(policy_ids);
struct cachebpf_policy __rcu *cachebpf_policies[CACHEBPF_MAX_POLICIES];
static int nr_policies;
static u64 last_serial;

static struct cachebpf_policy *effective_policy(struct mem_cgroup *memcg)
{
	return memcg ? rcu_dereference_protected(memcg->cachebpf,
						 lockdep_is_held(&cachebpf_mutex)) : NULL;
}

static struct cachebpf_policy *own_policy(struct mem_cgroup *memcg)
{
	struct cachebpf_policy *policy = effective_policy(memcg);

	return policy && policy->memcg == memcg ? policy : NULL;
}

/* Is the cgroup of @policy, if there is one, served by others as well? */
static void update_shares(struct cachebpf_policy *policy)
{
	struct mem_cgroup *memcg, *root = policy ? policy->memcg : NULL;
	struct cachebpf_policy *other;
	bool shares = false;

	if (!policy)
		return;
	for (memcg = mem_cgroup_iter(root, NULL, NULL); memcg;
	     memcg = mem_cgroup_iter(root, memcg, NULL)) {
		other = effective_policy(memcg);
		/* who is just being made has none yet */
		shares |= other && other != policy;
	}
	WRITE_ONCE(policy->shares, shares);
}

/* Make @policy the effective one of @root and of those who inherit from it. */
static void publish_policy(struct mem_cgroup *root, struct cachebpf_policy *policy)
{
	struct mem_cgroup *memcg;

	lockdep_assert_held(&cachebpf_mutex);

	/* parents come before their children */
	for (memcg = mem_cgroup_iter(root, NULL, NULL); memcg;
	     memcg = mem_cgroup_iter(root, memcg, NULL)) {
		if (memcg == root)
			rcu_assign_pointer(memcg->cachebpf, policy);
		else if (!own_policy(memcg))
			rcu_assign_pointer(memcg->cachebpf,
					   effective_policy(parent_mem_cgroup(memcg)));
	}
	update_shares(policy);
	update_shares(effective_policy(parent_mem_cgroup(root)));
}

/* The memory cgroup with the id @cgroup_id, with a css reference. */
static struct mem_cgroup *memcg_get_from_id(u64 cgroup_id)
{
	struct cgroup_subsys_state *css;
	struct cgroup *cgrp;

	if (mem_cgroup_disabled())
		return ERR_PTR(-EOPNOTSUPP);
	cgrp = cgroup_get_from_id(cgroup_id);
	if (IS_ERR(cgrp)) {
		pr_info("there is no cgroup with id %llu\n", cgroup_id);
		return ERR_PTR(-ENOENT);
	}
	css = cgroup_get_e_css(cgrp, &memory_cgrp_subsys);
	if (css->cgroup != cgrp) {
		/* a cgroup that is being removed loses its controllers first */
		bool removed = !(READ_ONCE(cgrp->self.flags) & CSS_ONLINE);

		pr_info("cgroup %llu %s\n", cgroup_id,
			removed ? "is being removed" : "has no memory controller");
		css_put(css);
		css = ERR_PTR(removed ? -ENOENT : -EOPNOTSUPP);
	}
	cgroup_put(cgrp);
	return IS_ERR(css) ? ERR_CAST(css) : mem_cgroup_from_css(css);
}

/*
 * A detachment that the kernel asks for.  It has a life of its own, since it
 * may still be waiting for its turn when user space detaches the policy.
 */
struct cachebpf_hangup {
	struct work_struct	work;
	struct bpf_link		*link;
};

static void hangup_work(struct work_struct *work)
{
	struct cachebpf_hangup *hangup = container_of(work, struct cachebpf_hangup, work);

	hangup->link->ops->detach(hangup->link);
	bpf_link_put(hangup->link);
	kfree(hangup);
}

/*
 * Detach @policy from its link as if user space had asked for it; whoever polls
 * the link sees it hang up.
 */
static void schedule_hangup(struct cachebpf_policy *policy)
{
	struct cachebpf_hangup *hangup = policy->hangup;

	lockdep_assert_held(&cachebpf_mutex);

	/* published, so its link exists, if perhaps on its way out */
	if (!hangup || IS_ERR(bpf_link_inc_not_zero(policy->link)))
		return;
	policy->hangup = NULL;
	hangup->link = policy->link;
	schedule_work(&hangup->work);
}

/* @policy was ejected: leave word of it and hang up.  The caller has a reference. */
void cachebpf_policy_expel(struct cachebpf_policy *policy)
{
	struct mem_cgroup *memcg = policy->memcg;

	mutex_lock(&cachebpf_mutex);
	if (own_policy(memcg) == policy && !css_is_dying(&memcg->css)) {
		cachebpf_ejection_publish(policy);
		schedule_hangup(policy);
	}
	mutex_unlock(&cachebpf_mutex);
}

static void free_policy(struct cachebpf_policy *policy)
{
	int nid;

	cachebpf_looking_stop();
	cachebpf_admission_stop(policy);
	cachebpf_readahead_stop(policy);
	cachebpf_buckets_free(policy);
	cachebpf_lists_free(policy);
	for_each_node(nid)
		kfree(policy->nodes[nid]);
	if (policy->id)
		ida_free(&policy_ids, policy->id);
	free_percpu(policy->pcpu);
	cachebpf_account_put(policy->account);
	kfree(policy->hangup);
	cachebpf_watchdog_free(policy);
	css_put(&policy->memcg->css);
	kfree_rcu(policy, rcu);
}

/* Hooks are live, and the table may have entries, while there is any policy. */
static void get_table(void)
{
	static_branch_inc(&cachebpf_key);
	mutex_lock(&cachebpf_mutex);
	nr_policies++;
	mutex_unlock(&cachebpf_mutex);
}

static void put_table(void)
{
	mutex_lock(&cachebpf_mutex);
	if (!--nr_policies)
		cachebpf_table_empty();
	mutex_unlock(&cachebpf_mutex);
	static_branch_dec(&cachebpf_key);
}

/* Nobody has a reference to @policy any more. */
static void end_policy(struct cachebpf_policy *policy)
{
	struct cachebpf_ops *ops = policy->ending_ops;

	cachebpf_account_trim(policy->account);
	if (ops->policy_exit)
		ops->policy_exit(policy);
	/* from here on the same map can be attached again */
	WRITE_ONCE(ops->policy, NULL);
	RCU_INIT_POINTER(cachebpf_policies[policy->id], NULL);
	synchronize_rcu_expedited();
	free_policy(policy);
	put_table();
	bpf_struct_ops_put(ops);
}

static void ending_work(struct work_struct *work)
{
	down_read(&cachebpf_changes);
	end_policy(container_of(work, struct cachebpf_policy, ending));
	up_read(&cachebpf_changes);
}

void cachebpf_policy_put(struct cachebpf_policy *policy)
{
	if (refcount_dec_and_test(&policy->ref))
		queue_work(system_unbound_wq, &policy->ending);
}

/*
 * Takes over the caller's reference to @memcg, also when it fails.  @old: the
 * policy that it is to replace, or NULL.
 */
static struct cachebpf_policy *new_policy(struct cachebpf_ops *ops, struct mem_cgroup *memcg,
					  struct bpf_link *link, struct cachebpf_policy *old)
{
	struct cachebpf_policy *policy;
	int nid, err = -ENOMEM;

	policy = kzalloc(struct_size(policy, nodes, nr_node_ids), GFP_KERNEL);
	if (!policy) {
		css_put(&memcg->css);
		return ERR_PTR(-ENOMEM);
	}
	RCU_INIT_POINTER(policy->ops, ops);
	policy->memcg = memcg;
	policy->link = link;
	policy->flags = ops->flags;
	policy->hears_added = ops->folio_added;
	policy->hears_removed = ops->folio_removed;
	policy->hears_uses = ops->folio_accessed;
	policy->wants_uses = policy->hears_uses;
	policy->new_at_tail = true;
	policy->cgroup_id = ops->cgroup_id;
	strscpy(policy->name, ops->name);
	refcount_set(&policy->ref, 1);
	cachebpf_looking_start();

	policy->pcpu = alloc_percpu(struct cachebpf_pcpu);
	policy->account = old ? cachebpf_account_get(old->account) : cachebpf_account_new();
	policy->hangup = kzalloc(sizeof(*policy->hangup), GFP_KERNEL);
	if (cachebpf_watchdog_init(policy) || !policy->pcpu || !policy->account || !policy->hangup)
		goto fail;
	INIT_WORK(&policy->hangup->work, hangup_work);
	INIT_WORK(&policy->ending, ending_work);
	cachebpf_init_rest(policy);
	cachebpf_init_sample(policy);
	policy->counted_at = jiffies;
	for_each_node(nid) {
		policy->nodes[nid] = kzalloc_node(sizeof(*policy->nodes[nid]), GFP_KERNEL,
						  node_state(nid, N_MEMORY) ? nid : NUMA_NO_NODE);
		if (!policy->nodes[nid])
			goto fail;
		spin_lock_init(&policy->nodes[nid]->lock);
	}
	/* CACHEBPF_UNLISTED */
	err = cachebpf_lists_add(policy, 0);
	if (err < 0)
		goto fail;
	if (ops->admit_folio)
		cachebpf_admission_start(policy);
	if (ops->plan_readahead)
		cachebpf_readahead_start(policy);

	err = ida_alloc_range(&policy_ids, 1, CACHEBPF_MAX_POLICIES - 1, GFP_KERNEL);
	if (err < 0)
		goto fail;
	policy->id = err;

	if (ops->policy_init) {
		err = ops->policy_init(policy);
		if (err) {
			pr_info("policy %s refused to start: %d\n", ops->name, err);
			err = err < 0 && err >= -MAX_ERRNO ? err : -EINVAL;
			goto fail;
		}
	}
	return policy;

fail:
	free_policy(policy);
	return ERR_PTR(err);
}

static void start_policy(struct cachebpf_policy *policy, struct cachebpf_ops *ops)
{
	lockdep_assert_held(&cachebpf_mutex);

	cachebpf_ejection_forget(policy->memcg);
	policy->serial = ++last_serial;
	ops->policy = policy;
	rcu_assign_pointer(cachebpf_policies[policy->id], policy);
	cachebpf_delay(CACHEBPF_AT_ATTACH);
	publish_policy(policy->memcg, policy);
	cachebpf_delay(CACHEBPF_AT_ATTACH);
}

/*
 * Pass the first folio of a list to the policy that its cgroup has now, and
 * return that, with a reference to the folio; or let go of it.  It is never
 * without an owner in between, and never with an owner and without a list:
 * whoever has it locked may remove, move or split it at any moment.
 */
static struct cachebpf_policy *pass_first(struct cachebpf_node *node, struct cachebpf_list *list,
					  int nid)
{
	struct cachebpf_folio *f = list->head.f;
	u32 pfn = list->head.pfn;
	struct cachebpf_policy *successor = cachebpf_policy_of(pfn_folio(pfn));
	struct cachebpf_node *next;

	if (!successor) {
		cachebpf_unlink(node, f, pfn);
		WRITE_ONCE(f->owner, 0);
		cachebpf_table_put(f, pfn);
		return NULL;
	}
	/* for folio_added(); whoever has it frozen is done with it in a moment */
	if (!folio_try_get(pfn_folio(pfn)))
		return ERR_PTR(-EAGAIN);

	cachebpf_unlink(node, f, pfn);
	/* always from a retired policy to one that is not, or not yet */
	next = successor->nodes[nid];
	spin_lock_nested(&next->lock, SINGLE_DEPTH_NESTING);
	memset(f->data, 0, sizeof(f->data));
	f->unread = 0;
	f->sampled = cachebpf_to_sample(successor, f);
	/* whoever finds an owner finds the rest of the entry valid; see cachebpf_owner_of() */
	smp_store_release(&f->owner, successor->id);
	cachebpf_link_new(successor, next, f, pfn, successor->new_list, successor->new_at_tail);
	/* here, with its size: what is split off later is not counted again */
	cachebpf_count(successor, CACHEBPF_STAT_ADOPTED, 1UL << f->order);
	spin_unlock(&next->lock);
	return successor;
}

/*
 * @f was passed to @policy: tell it, if it still has it.  What is locked
 * stays; who has locked it, such as a read from the disk, is not waited for, and
 * may take it out of the cache while the policy is told.
 */
static void tell_successor(struct cachebpf_policy *policy, struct cachebpf_folio *f,
			   struct folio *folio)
{
	bool locked = folio_trylock(folio);

	if (READ_ONCE(f->owner) == policy->id)
		cachebpf_introduce(policy, f, folio, CACHEBPF_ADDED_ADOPTED);
	if (locked)
		folio_unlock(folio);
}

/* Pass the folios of one list on, or let go of them. */
static void hand_over_list(struct cachebpf_policy *policy, int nid, u16 list_id)
{
	struct cachebpf_policy *successor;
	struct cachebpf_node *node = policy->nodes[nid];
	struct cachebpf_list *list = cachebpf_list_of(node, list_id);
	struct cachebpf_folio *f;
	int batch;
	u32 pfn;

	do {
		rcu_read_lock();
		for (batch = HAND_OVER_BATCH; batch; batch--) {
			spin_lock_irq(&node->lock);
			f = list->head.f;
			pfn = list->head.pfn;
			successor = f ? pass_first(node, list, nid) : NULL;
			spin_unlock_irq(&node->lock);
			if (!f)
				break;
			if (IS_ERR_OR_NULL(successor))
				continue;
			cachebpf_delay(CACHEBPF_AT_HAND_OVER);
			tell_successor(successor, f, pfn_folio(pfn));
			folio_put(pfn_folio(pfn));
		}
		rcu_read_unlock();
		cond_resched();
	} while (!batch);
}

/* What @policy would adopt later is its successor's, if there is one. */
static void pass_rest(struct cachebpf_policy *policy)
{
	bool some = work_busy(&policy->rest.work);
	struct cachebpf_policy *successor;

	disable_delayed_work_sync(&policy->rest);
	rcu_read_lock();
	successor = rcu_dereference(policy->memcg->cachebpf);
	if (some && successor)
		cachebpf_adopt_later(successor);
	rcu_read_unlock();
}

/*
 * Take @policy, which is no longer published, out of use: when this returns
 * every folio is with the policy that its cgroup has now, or with stock reclaim,
 * and only policy_exit() is still to come.  That may have to wait for a reclaimer
 * without processor time, which is not to be done with BPF's one mutex held.
 *
 * Grace periods are expedited, here and elsewhere in this directory: an
 * administrator waits for them, for each of a thousand units.
 */
static void retire_policy(struct cachebpf_policy *policy, struct cachebpf_ops *ops)
{
	int nid, i;

	cachebpf_delay(CACHEBPF_AT_RETIRE);
	RCU_INIT_POINTER(policy->ops, NULL);
	cachebpf_delay(CACHEBPF_AT_RETIRE);
	synchronize_rcu_expedited();
	cachebpf_delay(CACHEBPF_AT_RETIRE);
	pass_rest(policy);
	/* what it would mark is marked for the successor, by pass_first() */
	disable_work_sync(&policy->marking);

	for_each_node(nid) {
		for (i = 0; i < policy->nr_lists; i++)
			hand_over_list(policy, nid, i);
		/* the answer was for this policy: to the next one they are like all others */
		hand_over_list(policy, nid, CACHEBPF_REJECTED);
	}

	WARN_ON_ONCE(!bpf_struct_ops_get(ops));
	policy->ending_ops = ops;
	if (refcount_dec_and_test(&policy->ref))
		end_policy(policy);
}

/* End of @policy, which never started. */
static void abandon_policy(struct cachebpf_policy *policy, struct cachebpf_ops *ops)
{
	if (ops->policy_exit)
		ops->policy_exit(policy);
	free_policy(policy);
	put_table();
}

int cachebpf_policy_attach(struct cachebpf_ops *ops, struct bpf_link *link)
{
	struct cachebpf_policy *policy;
	struct mem_cgroup *memcg;
	bool below = false;
	int err = 0;

	memcg = memcg_get_from_id(ops->cgroup_id);
	if (IS_ERR(memcg))
		return PTR_ERR(memcg);

	get_table();
	policy = new_policy(ops, memcg, link, NULL);
	if (IS_ERR(policy)) {
		put_table();
		return PTR_ERR(policy);
	}

	mutex_lock(&cachebpf_mutex);
	if (css_is_dying(&memcg->css))
		err = -ENOENT;
	else if (own_policy(memcg))
		err = -EBUSY;
	if (!err) {
		below = effective_policy(memcg);
		start_policy(policy, ops);
	}
	mutex_unlock(&cachebpf_mutex);

	if (err) {
		pr_info("cgroup %llu %s; policy %s is not attached\n", ops->cgroup_id,
			err == -EBUSY ? "already has a policy" : "is being removed", ops->name);
		abandon_policy(policy, ops);
		return err;
	}
	atomic64_inc(&cachebpf_nr_attached);
	trace_cachebpf_attach(policy->name, policy->serial, policy->cgroup_id);
	/* see cachebpf_policy_of() */
	if (below)
		synchronize_rcu_expedited();
	cachebpf_adopt_cached(policy, false);
	if (below)
		cachebpf_adopt_managed(policy);
	return 0;
}

int cachebpf_policy_replace(struct cachebpf_ops *ops, struct cachebpf_ops *old_ops,
			    struct bpf_link *link)
{
	struct cachebpf_policy *policy, *old = old_ops->policy;
	u64 old_serial = old->serial;

	if (ops->cgroup_id != old_ops->cgroup_id) {
		pr_info("policy %s is for cgroup %llu, the one it is to replace for %llu\n",
			ops->name, ops->cgroup_id, old_ops->cgroup_id);
		return -EINVAL;
	}
	get_table();
	css_get(&old->memcg->css);
	policy = new_policy(ops, old->memcg, link, old);
	if (IS_ERR(policy)) {
		put_table();
		return PTR_ERR(policy);
	}
	policy->nr_updates = old->nr_updates + 1;

	mutex_lock(&cachebpf_mutex);
	/* the link hangs up: what is attached to it now would be detached unheard */
	if (READ_ONCE(old->flags) & CACHEBPF_F_EJECTED) {
		mutex_unlock(&cachebpf_mutex);
		pr_info("policy %s is ejected; %s does not replace it\n", old->name, ops->name);
		abandon_policy(policy, ops);
		return -ENOLINK;
	}
	policy->sample_one_in = old->sample_one_in;
	policy->sample_bound = old->sample_bound;
	start_policy(policy, ops);
	/* the cgroup was removed meanwhile: nobody else will notice the new one */
	if (css_is_dying(&policy->memcg->css))
		schedule_hangup(policy);
	mutex_unlock(&cachebpf_mutex);

	atomic64_inc(&cachebpf_nr_updated);
	trace_cachebpf_update(policy->name, policy->serial, policy->cgroup_id, old_serial);
	retire_policy(old, old_ops);
	cachebpf_check_buckets(policy);
	return 0;
}

/* Let one in @one_in pages be the sample of the policy of @memcg, and of those that replace it. */
int cachebpf_policy_sample(struct mem_cgroup *memcg, u32 one_in)
{
	struct cachebpf_policy *policy;

	mutex_lock(&cachebpf_mutex);
	policy = own_policy(memcg);
	/* to mark what is cached takes a walk through all that any policy has */
	if (policy && policy->sample_one_in != one_in) {
		WRITE_ONCE(policy->sample_one_in, one_in);
		WRITE_ONCE(policy->sample_bound, one_in ? div_u64(U64_MAX, one_in) : 0);
		queue_work(system_unbound_wq, &policy->marking);
	}
	mutex_unlock(&cachebpf_mutex);
	return policy ? 0 : -ENODEV;
}

void cachebpf_policy_detach(struct cachebpf_ops *ops)
{
	struct cachebpf_policy *policy = ops->policy, *above;

	mutex_lock(&cachebpf_mutex);
	above = effective_policy(parent_mem_cgroup(policy->memcg));
	publish_policy(policy->memcg, above);
	WRITE_ONCE(policy->account->ended, true);
	mutex_unlock(&cachebpf_mutex);

	trace_cachebpf_detach(policy->name, policy->serial, policy->cgroup_id);
	retire_policy(policy, ops);
	atomic64_inc(&cachebpf_nr_detached);
}

void cachebpf_memcg_online(struct mem_cgroup *memcg)
{
	cachebpf_delay(CACHEBPF_AT_OFFLINE);
	mutex_lock(&cachebpf_mutex);
	rcu_assign_pointer(memcg->cachebpf, effective_policy(parent_mem_cgroup(memcg)));
	mutex_unlock(&cachebpf_mutex);
}

void cachebpf_memcg_offline(struct mem_cgroup *memcg)
{
	cachebpf_delay(CACHEBPF_AT_OFFLINE);
	mutex_lock(&cachebpf_mutex);
	if (own_policy(memcg))
		schedule_hangup(own_policy(memcg));
	cachebpf_ejection_forget(memcg);
	mutex_unlock(&cachebpf_mutex);
}
