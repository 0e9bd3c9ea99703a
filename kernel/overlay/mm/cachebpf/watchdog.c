// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watchdog: a policy that is of no use, that proposes nonsense, or that
 * takes too long is ejected.
 *
 * From that moment on it is not asked any more and reclaim is the stock one.
 * Everything else happens in a work item, since reclaim can hold any lock: the
 * reason is left in the cgroup and the policy's link hangs up, which detaches
 * it as if user space had asked for that.
 *
 * Judging costs nothing per folio: a request reads the clock twice, and a
 * round of requests ends with a few additions under a lock of the policy.
 */
#define pr_fmt(fmt) "cachebpf: " fmt

#include <linux/kobject.h>
#include <linux/rculist.h>
#include <linux/sched/cputime.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/cachebpf.h>

/*
 * What is judged: so many proposals, so many pages that the policy was asked
 * for.  128 requests: a policy that has to learn, or whose folios happen to be
 * busy, gets over it; one that is of no use has cost 16 MiB of stock reclaim.
 */
#define WINDOW			4096
/*
 * The least part of the proposals that could be taken, of the pages that it
 * chose: 1/16 and 1/8.  What honest policies reach lies far above, see
 * evict_fallback and reject_* in memory.cachebpf.stat; below, nearly all work is
 * stock reclaim's, and asking the policy only adds to it.
 */
#define MIN_TAKEN		16
#define MIN_CHOSEN		8
/* pages that rounds fell short of before it is worth to add up the counters of all CPUs */
#define LOOK_AFTER		(WINDOW / 4)

/* An order of magnitude more on kernels that check every access. */
#define DEFAULT_BUDGET_US	\
	(IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_PROVE_LOCKING) ? 200000 : 20000)
#define DEFAULT_OVERRUNS	3

u32 cachebpf_budget_us __read_mostly = DEFAULT_BUDGET_US;
static u32 max_overruns __read_mostly = DEFAULT_OVERRUNS;

atomic64_t cachebpf_nr_ejected;

/* Of cgroups whose policy was ejected; changed under cachebpf_mutex. */
static LIST_HEAD(ejections);

/* In an RCU read side, or under cachebpf_mutex. */
struct cachebpf_ejection *cachebpf_ejection_of(struct mem_cgroup *memcg)
{
	struct cachebpf_ejection *e;

	list_for_each_entry_rcu(e, &ejections, link, true) {
		if (e->memcg == memcg)
			return e;
	}
	return NULL;
}

void cachebpf_ejection_publish(struct cachebpf_policy *policy)
{
	struct cachebpf_ejection *e = policy->watchdog.ejection;

	policy->watchdog.ejection = NULL;
	e->memcg = policy->memcg;
	list_add_rcu(&e->link, &ejections);
}

/* @memcg has another policy now, or ends. */
void cachebpf_ejection_forget(struct mem_cgroup *memcg)
{
	struct cachebpf_ejection *e = cachebpf_ejection_of(memcg);

	if (e) {
		list_del_rcu(&e->link);
		kfree_rcu(e, rcu);
	}
}

static void watchdog_work(struct work_struct *work)
{
	struct cachebpf_policy *policy = container_of(work, struct cachebpf_policy, watchdog.work);

	cachebpf_policy_expel(policy);
	cachebpf_policy_put(policy);
}

int cachebpf_watchdog_init(struct cachebpf_policy *policy)
{
	struct cachebpf_watchdog *w = &policy->watchdog;

	spin_lock_init(&w->lock);
	INIT_WORK(&w->work, watchdog_work);
	/* there may be no memory when it is needed */
	w->ejection = kzalloc(sizeof(*w->ejection), GFP_KERNEL);
	return w->ejection ? 0 : -ENOMEM;
}

void cachebpf_watchdog_free(struct cachebpf_policy *policy)
{
	kfree(policy->watchdog.ejection);
}

/* The caller has a reference to @policy; under its watchdog's lock. */
static __printf(2, 3) void eject_policy(struct cachebpf_policy *policy, const char *format, ...)
{
	struct cachebpf_ejection *e = policy->watchdog.ejection;
	va_list args;

	lockdep_assert_held(&policy->watchdog.lock);

	/* ejected already, or on its way out for another reason */
	if (policy->flags & CACHEBPF_F_EJECTED || !rcu_access_pointer(policy->ops))
		return;
	WRITE_ONCE(policy->flags, policy->flags | CACHEBPF_F_EJECTED);

	va_start(args, format);
	vsnprintf(e->reason, sizeof(e->reason), format, args);
	va_end(args);
	strscpy(e->name, policy->name);
	e->serial = policy->serial;

	atomic64_inc(&cachebpf_nr_ejected);
	trace_cachebpf_eject(policy->name, policy->serial, policy->cgroup_id, e->reason);
	pr_warn("policy %s (id %llu) of cgroup %llu is ejected: %s\n", policy->name,
		policy->serial, policy->cgroup_id, e->reason);

	refcount_inc(&policy->ref);
	schedule_work(&policy->watchdog.work);
}

/*
 * One call of evict_folios() took @ns, which is over the budget, or the call
 * before was.  Time in which the task did not run, since it was preempted or the
 * host had taken the processor away, is not the policy's: sum_exec_runtime, as
 * it was @ran_before, is behind by what ran since the last tick, and no more.
 */
void cachebpf_watchdog_overrun(struct cachebpf_policy *policy, u64 ns, u64 ran_before)
{
	u64 budget = READ_ONCE(cachebpf_budget_us) * (u64)NSEC_PER_USEC;
	struct cachebpf_watchdog *w = &policy->watchdog;
	u32 max = READ_ONCE(max_overruns);

	ns = min(ns, task_sched_runtime(current) - ran_before);

	spin_lock(&w->lock);
	if (ns <= budget || !budget)
		w->nr_overruns = 0;
	else if (++w->nr_overruns >= max)
		eject_policy(policy,
			     "over budget: %u calls of evict_folios() in a row took more than %llu us, the last one %llu us",
			     w->nr_overruns, budget / NSEC_PER_USEC, ns / NSEC_PER_USEC);
	spin_unlock(&w->lock);
}

/**
 * cachebpf_reclaim_is_slow - has the policy taken longer than it may?
 * @r: the round
 * @nr_reclaimed: pages that it brought so far
 *
 * It may take its budget, and once more for each full request's worth of pages.
 * A request for thousands of pages can be made of as many calls, each of which
 * takes nearly all of its own.
 */
bool cachebpf_reclaim_is_slow(const struct cachebpf_reclaim *r, unsigned long nr_reclaimed)
{
	u64 budget = READ_ONCE(cachebpf_budget_us) * (u64)NSEC_PER_USEC;
	u64 most = budget + div_u64(budget * nr_reclaimed, CACHEBPF_BATCH);

	/* the second time is exact, if of all that the task did; see cachebpf_watchdog_overrun() */
	return unlikely(budget && r->sum.ns > most) &&
	       task_sched_runtime(current) - r->ran_before > most;
}

/* A round brought @nr_reclaimed pages; what was refused took as long.  Under the lock. */
static void judge_time(struct cachebpf_policy *policy, struct cachebpf_reclaim *r,
		       unsigned long nr_reclaimed)
{
	struct cachebpf_watchdog *w = &policy->watchdog;

	if (!r->sum.ns)
		return;
	if (likely(!cachebpf_reclaim_is_slow(r, nr_reclaimed + r->nr_refused))) {
		w->nr_slow = 0;
		return;
	}
	if (++w->nr_slow >= READ_ONCE(max_overruns))
		eject_policy(policy,
			     "over budget: %u rounds in a row took too long for what they brought, the last one %llu us",
			     w->nr_slow, r->sum.ns / NSEC_PER_USEC);
}

/* Were its proposals of any sense?  Those that others got in the way of do not count. */
static void judge_proposals(struct cachebpf_policy *policy, struct cachebpf_reclaim *r)
{
	struct cachebpf_watchdog *w = &policy->watchdog;

	u32 nr;

	w->nr_taken += r->sum.isolated;
	w->nr_garbage += r->sum.garbage;
	nr = w->nr_taken + w->nr_garbage;
	if (nr < WINDOW)
		return;
	if (w->nr_taken < nr / MIN_TAKEN)
		eject_policy(policy, "garbage: of %u proposals %u could be taken", nr, w->nr_taken);
	w->nr_taken = 0;
	w->nr_garbage = 0;
}

/*
 * Of the pages that the policy was asked for and that were reclaimed, how many
 * did it choose?  The others are those that stock reclaim found where the policy
 * had just fallen short, see cachebpf_reclaimed(): where that had no success
 * either, nothing is held against the policy, nor is what it was not asked for.
 */
static void judge_choices(struct cachebpf_policy *policy)
{
	struct cachebpf_watchdog *w = &policy->watchdog;
	u64 chosen = cachebpf_stat_sum(policy, CACHEBPF_STAT_EVICT_RECLAIMED) - w->chosen_before;
	u64 reclaimed = chosen + atomic_long_read(&w->nr_stock);

	if (reclaimed < WINDOW)
		return;
	if (chosen < reclaimed / MIN_CHOSEN)
		eject_policy(policy, "useless: it chose %llu of the last %llu pages reclaimed",
			     chosen, reclaimed);
	w->chosen_before += chosen;
	atomic_long_set(&w->nr_stock, 0);
}

/* The end of a round that brought @nr_reclaimed pages, which are counted already. */
void cachebpf_watchdog_round(struct cachebpf_reclaim *r, unsigned long nr_reclaimed)
{
	struct cachebpf_policy *policy = r->policy;
	struct cachebpf_watchdog *w = &policy->watchdog;

	spin_lock(&w->lock);
	judge_proposals(policy, r);
	judge_time(policy, r, nr_reclaimed);
	/* a policy that is not asked has nothing to answer for */
	if (nr_reclaimed < r->want && !(policy->flags & CACHEBPF_NOT_ASKED)) {
		w->nr_missing += r->want - nr_reclaimed;
		if (w->nr_missing >= LOOK_AFTER) {
			w->nr_missing = 0;
			judge_choices(policy);
		}
	}
	spin_unlock(&w->lock);

	trace_cachebpf_evict(policy->serial, policy->cgroup_id, r->nid, r->want, r->sum.proposed,
			     r->sum.isolated, nr_reclaimed, r->sum.ns);
}

static ssize_t watchdog_budget_us_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(cachebpf_budget_us));
}

static ssize_t watchdog_budget_us_store(struct kobject *kobj, struct kobj_attribute *attr,
					const char *buf, size_t count)
{
	u32 us;
	int err = kstrtou32(buf, 0, &us);

	if (err)
		return err;
	WRITE_ONCE(cachebpf_budget_us, us);
	return count;
}

static ssize_t watchdog_overruns_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(max_overruns));
}

static ssize_t watchdog_overruns_store(struct kobject *kobj, struct kobj_attribute *attr,
				       const char *buf, size_t count)
{
	u32 nr;
	int err = kstrtou32(buf, 0, &nr);

	if (err || !nr)
		return err ?: -EINVAL;
	WRITE_ONCE(max_overruns, nr);
	return count;
}

static struct kobj_attribute budget_attr = __ATTR_RW(watchdog_budget_us);
static struct kobj_attribute overruns_attr = __ATTR_RW(watchdog_overruns);

static struct attribute *watchdog_attrs[] = {
	&budget_attr.attr,
	&overruns_attr.attr,
	NULL,
};

const struct attribute_group cachebpf_watchdog_group = {
	.attrs = watchdog_attrs,
};
