// SPDX-License-Identifier: GPL-2.0-only
/*
 * The self-check: /sys/kernel/debug/cachebpf/check compares eviction lists,
 * folio table and page cache with each other, and says where they disagree.
 *
 * It runs on a live system.  Nobody attaches or detaches meanwhile; everything
 * else goes on.  What can be in motion is looked at twice, the second time
 * under the lock that forbids it to move: the node's lock for lists, the folio
 * lock for ownership.  Sums have to agree in one of a few passes, unless so
 * much comes and goes that none of them is right.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pagemap.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "../internal.h"
#include "check.h"

#define MAX_LINES	50
#define OUTPUT_SIZE	(MAX_LINES * 160)
/* how often to ask for the lock of a folio, or for its references to come back */
#define FOLIO_TRIES	100
/* passes over everything, if sums do not agree */
#define PASSES		3

__printf(2, 3) void cachebpf_mismatch(struct check *c, const char *format, ...)
{
	va_list args;

	if (++c->nr_mismatches > MAX_LINES)
		return;
	va_start(args, format);
	seq_vprintf(c->m, format, args);
	va_end(args);
	seq_putc(c->m, '\n');
}

/* Changes whenever a folio comes to @policy or leaves it. */
static u64 motion(struct cachebpf_policy *policy)
{
	u64 sum = cachebpf_stat_sum(policy, CACHEBPF_STAT_ADDED) +
		  cachebpf_stat_sum(policy, CACHEBPF_STAT_ADOPTED);
	int why;

	for (why = 0; why < CACHEBPF_NR_REMOVED; why++)
		sum += cachebpf_stat_sum(policy, CACHEBPF_STAT_REMOVED + why);
	return sum;
}

/* The policy that should have @folio, of which there is a reference; NULL if none should. */
static struct cachebpf_policy *expected(struct folio *folio)
{
	struct address_space *mapping = READ_ONCE(folio->mapping);
	struct mem_cgroup *memcg;

	if (folio_test_slab(folio) || folio_test_hugetlb(folio) || !mapping ||
	    (unsigned long)mapping & PAGE_MAPPING_FLAGS || !folio_is_file_lru(folio))
		return NULL;
	memcg = folio_memcg_check(folio);
	return memcg ? rcu_dereference(memcg->cachebpf) : NULL;
}

/* Is the entry of @other, before or behind @f, of the same list, and linked to @f's @pfn? */
static bool is_neighbour(struct cachebpf_folio *f, u32 other, bool before, u32 pfn)
{
	struct cachebpf_folio *n = cachebpf_table_lookup(other);

	return n && n->owner == f->owner && n->list == f->list &&
	       (before ? n->next : n->prev) == pfn;
}

static bool is_end(const struct cachebpf_end *end, const struct cachebpf_folio *f, u32 pfn)
{
	return end->pfn == pfn && end->f == f;
}

/* Is @f, which belongs to @policy, where its links and its list say? */
static const char *wrong_links(struct cachebpf_policy *policy, struct cachebpf_folio *f,
			       unsigned long pfn)
{
	struct cachebpf_node *node = policy->nodes[pfn_to_nid(pfn)];
	struct cachebpf_list *list;
	const char *wrong = NULL;
	unsigned long flags;

	spin_lock_irqsave(&node->lock, flags);
	if (f->owner != policy->id) {
		wrong = "the owner changes";
		goto out;
	}
	if (f->list >= policy->nr_lists && f->list != CACHEBPF_REJECTED) {
		wrong = "its entry is on no list";
		goto out;
	}
	list = cachebpf_list_of(node, f->list);
	if (f->prev ? !is_neighbour(f, f->prev, true, pfn) : !is_end(&list->head, f, pfn))
		wrong = "its entry and the one before do not agree";
	else if (f->next ? !is_neighbour(f, f->next, false, pfn) : !is_end(&list->tail, f, pfn))
		wrong = "its entry and the one behind do not agree";
out:
	spin_unlock_irqrestore(&node->lock, flags);
	return wrong;
}

/*
 * What is wrong about the frame @pfn and its entry, if something is.  @folio
 * is the one that begins there, with a reference; NULL if there is none.
 * *@policy is the one to whom it matters.
 */
static const char *judge(struct folio *folio, unsigned long pfn, struct cachebpf_policy **policy,
			 bool *unmanaged)
{
	struct cachebpf_policy *should = folio ? expected(folio) : NULL, *does;
	struct cachebpf_folio *f = cachebpf_table_lookup(pfn);
	u16 owner = f ? READ_ONCE(f->owner) : 0;

	*unmanaged = false;
	does = owner ? cachebpf_policy_by_id(owner) : NULL;
	*policy = does ?: should;
	if (!owner) {
		/* off the LRU it is on its way: in, out, or elsewhere */
		*unmanaged = should && folio_test_lru(folio);
		return NULL;
	}
	if (!does)
		return "its entry belongs to a policy that does not exist";
	if (!folio)
		return "there is an entry, and no folio";
	if (!should)
		return "there is an entry, and no page cache folio of a cgroup with a policy";
	/* what was locked when @should was attached is adopted later */
	if (should != does && !work_busy(&should->rest.work))
		return "its entry belongs to another policy than the one of its cgroup";
	if (f->order != folio_order(folio))
		return "its entry has another order";
	return wrong_links(does, f, pfn);
}

/* Something seemed to be wrong: look again, with the folio locked.  False: it was in use. */
static bool look_again(struct page *page, unsigned long pfn, const char **wrong,
		       struct cachebpf_policy **policy, bool *unmanaged)
{
	struct folio *folio;
	int tries;

	for (tries = FOLIO_TRIES; tries; tries--) {
		folio = cachebpf_get_folio(page);
		if (folio && folio_trylock(folio)) {
			rcu_read_lock();
			*wrong = judge(folio, pfn, policy, unmanaged);
			rcu_read_unlock();
			folio_unlock(folio);
			folio_put(folio);
			return true;
		}
		if (folio)
			folio_put(folio);
		msleep(20);
		/* nobody has it, not even the page cache, and still there is an entry? */
		rcu_read_lock();
		*wrong = folio ? NULL : judge(NULL, pfn, policy, unmanaged);
		rcu_read_unlock();
		if (!folio && !*wrong)
			return true;
	}
	return *wrong;
}

/* Is there anything to look at? */
static bool concerns_us(struct page *page, unsigned long pfn)
{
	struct cachebpf_folio *f = cachebpf_table_lookup(pfn);

	return (f && READ_ONCE(f->owner)) || (!PageTail(page) && PageLRU(page));
}

static void check_frame(struct check *c, struct page *page, unsigned long pfn)
{
	struct cachebpf_policy *policy = NULL;
	const char *wrong = NULL;
	struct folio *folio;
	bool unmanaged;

	rcu_read_lock();
	if (!concerns_us(page, pfn)) {
		rcu_read_unlock();
		return;
	}
	folio = cachebpf_get_folio(page);
	wrong = judge(folio, pfn, &policy, &unmanaged);
	rcu_read_unlock();
	if (folio)
		folio_put(folio);

	if ((wrong || unmanaged) && !look_again(page, pfn, &wrong, &policy, &unmanaged)) {
		c->nr_busy++;
		return;
	}
	if (wrong)
		cachebpf_mismatch(c, "pfn %#lx: %s%s%s", pfn, wrong, policy ? ", policy " : "",
				  policy ? policy->name : "");
	if (!policy)
		return;
	c->nr_folios++;
	c->nr_unmanaged += unmanaged;
	c->tallies[policy->id].unmanaged += unmanaged;
	c->tallies[policy->id].owned += !unmanaged;
}

/* Where the free memory ends that begins at @pfn; a guess, since nothing keeps it free. */
static unsigned long end_of_free(unsigned long pfn)
{
	struct page *page = pfn_to_online_page(pfn);

	if (!page)
		return pfn + CACHEBPF_BLOCK_ENTRIES;
	return PageBuddy(page) ? pfn + (1UL << min(buddy_order_unsafe(page), MAX_PAGE_ORDER)) : pfn;
}

static bool has_entries(unsigned long pfn)
{
	bool has;

	rcu_read_lock();
	has = cachebpf_table_lookup(pfn);
	rcu_read_unlock();
	return has;
}

static void check_frames(struct check *c)
{
	unsigned long pfn, end, free_end = 0;
	struct page *page;
	int nid, nr = 0;

	for_each_node_state(nid, N_MEMORY) {
		end = node_end_pfn(nid);
		for (pfn = node_start_pfn(nid); pfn < end; pfn++) {
			if (++nr % 1024 == 0)
				cond_resched();
			if (IS_ALIGNED(pfn, CACHEBPF_BLOCK_ENTRIES)) {
				free_end = max(free_end, end_of_free(pfn));
				if (pfn + CACHEBPF_BLOCK_ENTRIES <= free_end && !has_entries(pfn)) {
					pfn += CACHEBPF_BLOCK_ENTRIES - 1;
					continue;
				}
			}
			page = pfn_to_online_page(pfn);
			if (page && page_to_nid(page) == nid)
				check_frame(c, page, pfn);
		}
	}
}

/* Did folios come or go since the lists were walked? */
static bool in_motion(struct check *c, struct cachebpf_policy *policy)
{
	struct tally *t = &c->tallies[policy->id];
	u64 listed = 0;
	int nid, i;

	for_each_node_state(nid, N_MEMORY) {
		for (i = 0; i < policy->nr_lists; i++)
			listed += READ_ONCE(policy->nodes[nid]->lists[i]->nr_folios);
		listed += cachebpf_nr_rejected(policy, nid);
	}
	return listed != t->listed || t->motion != motion(policy);
}

static const char *wrong_sums(struct check *c, struct cachebpf_policy *policy)
{
	struct tally *t = &c->tallies[policy->id];

	if (c->nr_busy || in_motion(c, policy))
		return NULL;
	if (t->owned != t->listed)
		return "there are more entries, or less, than are on lists";
	/*
	 * What is on its way when a policy comes, or was not managed by the one
	 * before, is not counted.
	 */
	if (t->unmanaged > cachebpf_stat_sum(policy, CACHEBPF_STAT_UNMANAGED) &&
	    !cachebpf_stat_sum(policy, CACHEBPF_STAT_ADOPTED) && !policy->nr_updates)
		return "more folios have no entry than are counted as unmanaged";
	return NULL;
}

static void check_policy(struct check *c, struct cachebpf_policy *policy)
{
	int nid, i;

	c->nr_policies++;
	c->nr_lists += policy->nr_lists + policy->admits;
	c->tallies[policy->id].motion = motion(policy);
	for_each_node_state(nid, N_MEMORY) {
		for (i = 0; i < policy->nr_lists; i++)
			cachebpf_check_list(c, policy, nid, i);
		cachebpf_check_list(c, policy, nid, CACHEBPF_REJECTED);
	}
}

/* While cachebpf_changes is held, policies stay. */
static struct cachebpf_policy *policy_number(int id)
{
	struct cachebpf_policy *policy;

	rcu_read_lock();
	policy = cachebpf_policy_by_id(id);
	rcu_read_unlock();
	return policy;
}

/* One pass over everything; returns whether another one can bring better sums. */
static bool check_all(struct check *c, bool last)
{
	const char *wrong;
	bool again = false;
	int id;

	for (id = 1; id < CACHEBPF_MAX_POLICIES; id++)
		if (policy_number(id))
			check_policy(c, policy_number(id));
	if (c->nr_policies)
		check_frames(c);
	for (id = 1; id < CACHEBPF_MAX_POLICIES; id++) {
		struct cachebpf_policy *policy = policy_number(id);

		if (!policy)
			continue;
		c->nr_entries += c->tallies[id].owned;
		wrong = c->nr_mismatches ? NULL : wrong_sums(c, policy);
		if (wrong && last)
			cachebpf_mismatch(c, "policy %s: %s: %llu listed, %llu owned, %llu without",
					  policy->name, wrong, c->tallies[id].listed,
					  c->tallies[id].owned, c->tallies[id].unmanaged);
		again |= !!wrong;
	}
	return again && !last;
}

static int check_show(struct seq_file *m, void *v)
{
	struct tally *tallies;
	struct check c;
	int pass = 0;

	tallies = kvmalloc_array(CACHEBPF_MAX_POLICIES, sizeof(*tallies), GFP_KERNEL);
	if (!tallies)
		return -ENOMEM;

	/* what waits in a per-CPU batch is not on the LRU yet */
	lru_add_drain_all();
	down_write(&cachebpf_changes);
	do {
		c = (struct check){ .m = m, .tallies = tallies };
		memset(tallies, 0, CACHEBPF_MAX_POLICIES * sizeof(*tallies));
	} while (check_all(&c, ++pass == PASSES));
	up_write(&cachebpf_changes);
	kvfree(tallies);

	if (c.nr_mismatches)
		seq_printf(m, "mismatches %lu\n", c.nr_mismatches);
	else
		seq_puts(m, "ok\n");
	seq_printf(m, "policies %lu\nlists %lu\nentries %lu\nfolios %lu\nunmanaged %lu\nbusy %lu\n",
		   c.nr_policies, c.nr_lists, c.nr_entries, c.nr_folios, c.nr_unmanaged, c.nr_busy);
	return 0;
}

static int check_open(struct inode *inode, struct file *file)
{
	/* one call of check_show() has to do */
	return single_open_size(file, check_show, NULL, OUTPUT_SIZE);
}

static const struct file_operations check_fops = {
	.owner		= THIS_MODULE,
	.open		= check_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int __init cachebpf_check_init(void)
{
	struct dentry *dir = debugfs_create_dir("cachebpf", NULL);

	debugfs_create_file("check", 0400, dir, NULL, &check_fops);
	cachebpf_delay_init(dir);
	return 0;
}
late_initcall(cachebpf_check_init);
