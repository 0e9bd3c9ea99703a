// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a policy does with its lists and folios.  The node's lock is held inside
 * each call and never while BPF code runs.
 */
#include <linux/bpf.h>
#include <linux/btf_ids.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/mm.h>

#include "delay.h"
#include "kfunc.h"
#include "list.h"

/* Is @f still @policy's to put somewhere?  Under the node's lock. */
static bool is_own(const struct cachebpf_policy *policy, const struct cachebpf_folio *f)
{
	return likely(cachebpf_owns(policy, f) && !cachebpf_is_rejected(f));
}

/* How a number becomes a folio: of what kfuncs return only what iterators do is trusted. */
struct bpf_iter_cachebpf_folio {
	__u64 __opaque[1];
} __aligned(8);

struct number_iter {
	struct cachebpf_folio	*f;
};

static_assert(sizeof(struct number_iter) == sizeof(struct bpf_iter_cachebpf_folio));

/* The finalizer of MurmurHash3: each bit of @x is worth half of those of the result. */
static u64 mix(u64 x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

/* The file system: the device's number may be another one after a boot. */
static u64 number_of(const struct super_block *sb)
{
	u64 half[2];

	static_assert(sizeof(half) == sizeof(sb->s_uuid));
	memcpy(half, &sb->s_uuid, sizeof(half));
	return (half[0] ^ half[1]) ?: (u64)sb->s_dev << 32;
}

/* What the page @nr of @folio holds, as a number; see bpf_cachebpf_key(). */
u64 cachebpf_key_of(struct folio *folio, unsigned long nr)
{
	struct address_space *mapping = READ_ONCE(folio->mapping);
	struct inode *inode;
	u64 file;

	/* neither cached nor a file's: such a folio is not managed, but this one is on its way */
	if (unlikely(!mapping || (unsigned long)mapping & PAGE_MAPPING_FLAGS))
		return 0;
	inode = mapping->host;
	if (unlikely(!inode))
		return 0;
	file = number_of(inode->i_sb) ^ inode->i_generation;
	file ^= inode->i_ino * GOLDEN_RATIO_64;
	return mix(mix(file) + folio->index + nr) ?: 1;
}

__bpf_kfunc_start_defs();

/**
 * bpf_cachebpf_list_create - create an eviction list
 * @policy: the calling policy; only in policy_init()
 * @flags: enum cachebpf_list_flags
 *
 * Return: the list's number, at least 1; -EINVAL unknown or contradictory
 * flags, -EEXIST there is a list for new folios, -ENOSPC, -ENOMEM.
 */
__bpf_kfunc int bpf_cachebpf_list_create(struct cachebpf_policy *policy, u32 flags)
{
	return cachebpf_lists_add(policy, flags);
}

/**
 * bpf_cachebpf_list_add - put a folio on a list
 * @policy: the calling policy
 * @folio: one of its folios, on no list yet
 * @list: number of the list
 * @tail: at the tail, else at the head
 *
 * Return: 0; -ENOENT no such list, -ESTALE not this policy's folio any more,
 * -EEXIST already on a list.
 */
__bpf_kfunc int bpf_cachebpf_list_add(struct cachebpf_policy *policy,
				      struct cachebpf_folio *folio, u32 list, bool tail)
{
	struct cachebpf_node *node = cachebpf_node_of(policy, folio);
	u32 pfn = cachebpf_folio_pfn(folio);
	unsigned long flags;
	int ret = -EEXIST;

	if (list >= policy->nr_lists)
		return -ENOENT;

	cachebpf_delay(CACHEBPF_AT_MOVE);
	spin_lock_irqsave(&node->lock, flags);
	if (!is_own(policy, folio)) {
		ret = -ESTALE;
		goto out;
	}
	if (folio->list == CACHEBPF_UNLISTED)
		cachebpf_unlink(node, folio, pfn);
	if (folio->list == CACHEBPF_NO_LIST) {
		cachebpf_link_new(policy, node, folio, pfn, list, tail);
		ret = 0;
	}
out:
	spin_unlock_irqrestore(&node->lock, flags);
	return ret;
}

/**
 * bpf_cachebpf_list_move - move a folio to an end of a list
 * @policy: the calling policy
 * @folio: one of its folios, on whatever list
 * @list: number of the list to move to
 * @tail: to the tail, else to the head
 *
 * Return: 0; -ENOENT no such list, -ESTALE not this policy's folio any more.
 */
__bpf_kfunc int bpf_cachebpf_list_move(struct cachebpf_policy *policy,
				       struct cachebpf_folio *folio, u32 list, bool tail)
{
	struct cachebpf_node *node = cachebpf_node_of(policy, folio);
	u32 pfn = cachebpf_folio_pfn(folio);
	unsigned long flags;
	int ret = 0;
	u16 from;

	if (list >= policy->nr_lists)
		return -ENOENT;

	cachebpf_delay(CACHEBPF_AT_MOVE);
	spin_lock_irqsave(&node->lock, flags);
	from = folio->list;
	if (!is_own(policy, folio)) {
		ret = -ESTALE;
	} else if (from == list) {
		cachebpf_move_to_end(node->lists[list], folio, pfn, tail);
	} else if (from == CACHEBPF_NO_LIST) {
		/* still in folio_added() */
		cachebpf_link_new(policy, node, folio, pfn, list, tail);
	} else {
		cachebpf_relink(node, folio, pfn, list, tail);
		if (from == CACHEBPF_UNLISTED)
			cachebpf_stamp_new(policy, node->lists[list], folio);
	}
	spin_unlock_irqrestore(&node->lock, flags);
	return ret;
}

/**
 * bpf_cachebpf_list_insert - put a folio where it belongs on a list that is in order
 * @policy: the calling policy
 * @folio: one of its folios, on whatever list
 * @list_id: number of the list; in the order of the first 8 bytes of the policy's data,
 *	signed numbers, the least at the head
 * @nr_max: folios to look at, at most %CACHEBPF_MAX_SORTED
 *
 * Behind all of those that have no more than it has itself.  If that place is not
 * found it is put where the search ended; see cachebpf_link_sorted().
 *
 * Return: 0; -ENOENT no such list, -ESTALE not this policy's folio any more.
 */
__bpf_kfunc int bpf_cachebpf_list_insert(struct cachebpf_policy *policy,
					 struct cachebpf_folio *folio, u32 list_id, u32 nr_max)
{
	struct cachebpf_node *node = cachebpf_node_of(policy, folio);
	unsigned long flags;
	int ret = 0;
	u16 from;

	if (list_id >= policy->nr_lists)
		return -ENOENT;

	spin_lock_irqsave(&node->lock, flags);
	if (is_own(policy, folio)) {
		from = folio->list;
		if (from != CACHEBPF_NO_LIST)
			cachebpf_take_off(node, folio, cachebpf_folio_pfn(folio));
		cachebpf_link_sorted(node, folio, list_id, 0, min(nr_max, CACHEBPF_MAX_SORTED));
		if (from == CACHEBPF_NO_LIST || from == CACHEBPF_UNLISTED)
			cachebpf_stamp_new(policy, node->lists[list_id], folio);
	} else {
		ret = -ESTALE;
	}
	spin_unlock_irqrestore(&node->lock, flags);
	return ret;
}

/**
 * bpf_cachebpf_list_del - take a folio off its list
 * @policy: the calling policy
 * @folio: one of its folios
 *
 * It stays managed and comes back when the policy adds it to a list again.
 *
 * Return: 0; -ESTALE not this policy's folio any more.
 */
__bpf_kfunc int bpf_cachebpf_list_del(struct cachebpf_policy *policy, struct cachebpf_folio *folio)
{
	return bpf_cachebpf_list_move(policy, folio, CACHEBPF_UNLISTED, true);
}

/**
 * bpf_cachebpf_list_len - pages on a list, all nodes together
 * @policy: the calling policy
 * @list: number of the list
 */
__bpf_kfunc u64 bpf_cachebpf_list_len(struct cachebpf_policy *policy, u32 list)
{
	u64 nr = 0;
	int nid;

	if (list < policy->nr_lists)
		for_each_node_state(nid, N_MEMORY)
			nr += READ_ONCE(policy->nodes[nid]->lists[list]->nr_pages);
	return nr;
}

/**
 * bpf_cachebpf_data - the 16 bytes of a folio that belong to the policy
 * @folio: a folio
 * @rdwr_buf_size: bytes wanted, at most 16; a constant
 *
 * They are zero when the folio is added and follow it through migration.
 */
__bpf_kfunc u8 *bpf_cachebpf_data(struct cachebpf_folio *folio, const size_t rdwr_buf_size)
{
	return rdwr_buf_size <= CACHEBPF_DATA_SIZE ? (u8 *)folio->data : NULL;
}

/**
 * bpf_cachebpf_key - what a folio holds, as a number
 * @f: the folio of folio_added(), folio_accessed() or folio_removed(); or one of advise()
 *
 * A hash of the file system's UUID (of the device, if it has none), inode number,
 * generation of the inode, and position in the file.  When the same page of the
 * same file comes back it has the same key, also after a boot if the file system
 * has a UUID, as long as it does not number its inodes anew.  So have a file and
 * its copy in a snapshot, of btrfs or of the device: UUID and numbers are the same.
 * Callers of these callbacks have the folio locked or referenced, and the inode
 * cannot go in an RCU read side.
 *
 * Return: the key; 0 if the folio was taken out of its file just now.
 */
__bpf_kfunc u64 bpf_cachebpf_key(struct cachebpf_held_folio *f)
{
	return cachebpf_key_of(pfn_folio(cachebpf_folio_pfn(&f->f)), 0);
}

/**
 * bpf_cachebpf_file - which page of which file a folio holds
 * @f: the folio of folio_added(), folio_accessed() or folio_removed(), or one of advise()
 * @file: where to put it
 *
 * Return: 0; -ESTALE: it was taken out of its file just now.
 */
__bpf_kfunc int bpf_cachebpf_file(struct cachebpf_held_folio *f, struct cachebpf_file *file)
{
	struct folio *folio = pfn_folio(cachebpf_folio_pfn(&f->f));
	struct address_space *mapping = READ_ONCE(folio->mapping);

	/* see bpf_cachebpf_key() */
	if (unlikely(!mapping || (unsigned long)mapping & PAGE_MAPPING_FLAGS || !mapping->host))
		return -ESTALE;
	cachebpf_file_of(file, mapping, folio->index);
	return 0;
}

/**
 * bpf_cachebpf_number - what a policy may note of a folio, to find it again
 * @f: a folio
 *
 * Return: a number that no other folio has at this time, never 0.
 */
__bpf_kfunc u32 bpf_cachebpf_number(struct cachebpf_folio *f)
{
	return cachebpf_folio_pfn(f);
}

/**
 * bpf_iter_cachebpf_folio_new - the folio that has a number, as a walk of one
 * @it: the iterator
 * @policy: the calling policy
 * @number: the number
 *
 * It may be another one than that of which the number was noted; none if the
 * policy has none of that number now.
 *
 * Return: 0.
 */
__bpf_kfunc int bpf_iter_cachebpf_folio_new(struct bpf_iter_cachebpf_folio *it,
					    struct cachebpf_policy *policy, u32 number)
{
	struct number_iter *iter = (void *)it;
	struct cachebpf_folio *f = cachebpf_table_lookup(number);

	iter->f = f && is_own(policy, f) && READ_ONCE(f->list) != CACHEBPF_NO_LIST ? f : NULL;
	return 0;
}

/**
 * bpf_iter_cachebpf_folio_next - the folio
 * @it: the iterator
 *
 * Return: the folio; NULL if there is none, and the second time.
 */
__bpf_kfunc struct cachebpf_folio *bpf_iter_cachebpf_folio_next(struct bpf_iter_cachebpf_folio *it)
{
	struct number_iter *iter = (void *)it;
	struct cachebpf_folio *f = iter->f;

	iter->f = NULL;
	return f;
}

/**
 * bpf_iter_cachebpf_folio_destroy - end it
 * @it: the iterator
 */
__bpf_kfunc void bpf_iter_cachebpf_folio_destroy(struct bpf_iter_cachebpf_folio *it)
{
}

__bpf_kfunc_end_defs();
