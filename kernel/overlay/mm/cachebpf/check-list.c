// SPDX-License-Identifier: GPL-2.0-only
/*
 * The self-check, one eviction list: do its links lead there and back, past
 * entries that know they are on it, and as many as it counts?
 */
#include <linux/mm.h>

#include "check.h"

/* entries of a list that are looked at without a break in between */
#define LIST_BATCH	256
/* how often to walk a list that changes, before the lock is held throughout */
#define LIST_TRIES	3

/* A walk over one list on one node. */
struct walk {
	struct cachebpf_policy	*policy;
	struct cachebpf_list	*list;
	int			nid;
	int			list_id;
	u32			next;
	u32			last;
	unsigned long		nr_folios;
	unsigned long		nr_pages;
	const char		*wrong;
};

/* Look at up to @nr entries; false when the walk is over.  Under the node's lock. */
static bool walk_on(struct walk *w, unsigned long nr)
{
	struct cachebpf_folio *f;

	for (; nr; nr--) {
		if (!w->next) {
			if (w->list->tail.pfn != w->last)
				w->wrong = "the tail is not where the walk ends";
			else if (w->list->nr_folios != w->nr_folios)
				w->wrong = "the number of folios is wrong";
			else if (w->list->nr_pages != w->nr_pages)
				w->wrong = "the number of pages is wrong";
			return false;
		}
		f = cachebpf_table_lookup(w->next);
		if (!f)
			w->wrong = "a link leads to nowhere";
		else if (f->owner != w->policy->id)
			w->wrong = "an entry has another owner";
		else if (f->list != w->list_id)
			w->wrong = "an entry says it is on another list";
		else if (f->prev != w->last)
			w->wrong = "the links do not lead back";
		else if (pfn_to_nid(w->next) != w->nid)
			w->wrong = "a folio lies on another node";
		else if (w->nr_folios == w->list->nr_folios)
			w->wrong = "there are more folios than are counted";
		if (w->wrong)
			return false;
		w->last = w->next;
		w->next = f->next;
		w->nr_folios++;
		w->nr_pages += 1UL << f->order;
	}
	return true;
}

/* Walk with a break now and then, unless it must be @exact. */
static void walk_list(struct walk *w, bool exact)
{
	struct cachebpf_node *node = w->policy->nodes[w->nid];
	bool more;

	w->last = 0;
	w->nr_folios = 0;
	w->nr_pages = 0;
	w->wrong = NULL;
	rcu_read_lock();
	spin_lock_irq(&node->lock);
	w->next = w->list->head.pfn;
	do {
		more = walk_on(w, exact ? ULONG_MAX : LIST_BATCH);
		if (more) {
			spin_unlock_irq(&node->lock);
			rcu_read_unlock();
			cond_resched();
			rcu_read_lock();
			spin_lock_irq(&node->lock);
		}
	} while (more);
	spin_unlock_irq(&node->lock);
	rcu_read_unlock();
}

void cachebpf_check_list(struct check *c, struct cachebpf_policy *policy, int nid, int list_id)
{
	struct walk w = {
		.policy = policy,
		.list = cachebpf_list_of(policy->nodes[nid], list_id),
		.nid = nid,
		.list_id = list_id,
	};
	int try = 0;

	do {
		walk_list(&w, try == LIST_TRIES);
	} while (w.wrong && try++ < LIST_TRIES);
	if (w.wrong)
		cachebpf_mismatch(c, "policy %s list %d node %d: %s, behind pfn %#x, %lu of %lu",
				  policy->name, list_id, nid, w.wrong, w.last, w.nr_folios,
				  w.list->nr_folios);
	c->tallies[policy->id].listed += w.nr_folios;
}
