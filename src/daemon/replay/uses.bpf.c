// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes which pages of which files the tasks of some control groups use, be
 * they cached already or not.  What a unit uses again costs a look-up.  Paths
 * are those within the file systems, from their dentries: the tracepoints know
 * of no mounts, and what is mounted where differs between services.
 */
#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "uses-kernel.bpf.h"
#include "uses-map.h"

#define PAGE_SHIFT	12
#define S_IFMT		0170000
#define S_IFREG		0100000
#define TMPFS_MAGIC	0x01021994

/* A read comes here with 31 folios at most, of 512 pages at most, and again for what is behind these. */
#define CHUNKS_AT_ONCE	256

/* Whose children read ahead for a unit, which is no use. */
const volatile int daemon_tgid;

/* The levels of control groups that have units, a bit each. */
__u32 levels;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, USES_UNITS_MAX);
	__type(key, __u64);
	__type(value, struct uses_unit);
} units SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, USES_FILES_MAX);
	__type(key, struct uses_file_key);
	__type(value, struct uses_file);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, USES_CHUNKS_MAX);
	__type(key, struct uses_chunk_key);
	__type(value, struct uses_chunk);
} chunks SEC(".maps");

static const struct uses_file no_names;

/* ---- files */

static void note_names(struct inode *inode, struct uses_file *f)
{
	struct hlist_node *first = BPF_CORE_READ(inode, i_dentry.first);
	struct dentry *dentry, *parent;
	__u32 size = 0;

	if (!first)
		return;
	dentry = (void *)first - bpf_core_field_offset(struct dentry, d_u);
	for (__u32 i = 0; i < USES_DEPTH_MAX; i++) {
		long n;

		parent = BPF_CORE_READ(dentry, d_parent);
		if (parent == dentry) {
			f->whole = true;
			break;
		}
		if (size > USES_PATH_MAX - USES_NAME_MAX)
			break;
		n = bpf_probe_read_kernel_str(f->names + size, USES_NAME_MAX, BPF_CORE_READ(dentry, d_name.name));
		if (n <= 0 || n > USES_NAME_MAX)
			break;
		size += n;
		dentry = parent;
	}
	f->size = size;
}

static bool note_file(struct uses_unit *unit, __u64 id, struct inode *inode)
{
	struct uses_file_key key = { .unit = id, .ino = inode->i_ino, .dev = inode->i_sb->s_dev,
				     .generation = inode->i_generation };
	struct uses_file *f;

	if (bpf_map_lookup_elem(&files, &key))
		return true;
	if (unit->n_files >= USES_UNIT_FILES_MAX)
		return false;
	if (bpf_map_update_elem(&files, &key, &no_names, BPF_NOEXIST))
		return false;
	__sync_fetch_and_add(&unit->n_files, 1);
	f = bpf_map_lookup_elem(&files, &key);
	if (f)
		note_names(inode, f);
	return true;
}

/* ---- pages */

struct pages {
	struct uses_unit *unit;
	__u64 id;
	struct inode *inode;
	__u64 first, last;
};

static struct uses_chunk *add_chunk(struct pages *p, const struct uses_chunk_key *key)
{
	struct uses_chunk new = { .nsec = bpf_ktime_get_ns() };
	struct uses_unit *unit = p->unit;

	if (unit->n_chunks >= USES_UNIT_CHUNKS_MAX || !note_file(unit, p->id, p->inode))
		return NULL;
	if (!bpf_map_update_elem(&chunks, key, &new, BPF_NOEXIST))
		__sync_fetch_and_add(&unit->n_chunks, 1);
	return bpf_map_lookup_elem(&chunks, key);
}

static __u32 count_bits(__u64 x)
{
	x -= x >> 1 & 0x5555555555555555ULL;
	x = (x & 0x3333333333333333ULL) + (x >> 2 & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return x * 0x0101010101010101ULL >> 56;
}

static long note_chunk(__u32 i, struct pages *p)
{
	__u64 chunk = p->first / USES_CHUNK_PAGES + i, begin = chunk * USES_CHUNK_PAGES, bits = ~0ULL;
	struct uses_chunk_key key = { .unit = p->id, .chunk = chunk };
	struct uses_unit *unit = p->unit;
	struct uses_chunk *c;

	if (begin > p->last)
		return 1;
	if (chunk != key.chunk) {
		__sync_fetch_and_add(&unit->n_lost, 1);
		return 1;
	}
	if (begin < p->first)
		bits <<= p->first - begin & 63;
	if (p->last - begin < USES_CHUNK_PAGES - 1)
		bits &= ~0ULL >> (USES_CHUNK_PAGES - 1 - (p->last - begin) & 63);

	key.ino = p->inode->i_ino;
	key.dev = p->inode->i_sb->s_dev;
	key.generation = p->inode->i_generation;
	c = bpf_map_lookup_elem(&chunks, &key);
	if (c && !(bits & ~c->pages))
		return 0;
	if (unit->n_pages >= unit->pages_max || (!c && !(c = add_chunk(p, &key)))) {
		__sync_fetch_and_add(&unit->n_lost, 1);
		return 0;
	}
	bits &= ~c->pages;
	__sync_fetch_and_or(&c->pages, bits);
	__sync_fetch_and_add(&unit->n_pages, count_bits(bits));
	return 0;
}

static struct uses_unit *find_unit(__u64 *id)
{
	for (__u32 level = 1; level < USES_LEVELS_MAX; level++) {
		struct uses_unit *unit;

		if (!(levels & 1U << level))
			continue;
		*id = bpf_get_current_ancestor_cgroup_id(level);
		unit = bpf_map_lookup_elem(&units, id);
		if (unit)
			return unit;
	}
	return NULL;
}

static void use(struct address_space *mapping, __u64 first, __u64 last)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = mapping->host;
	struct pages p = { .inode = inode, .first = first, .last = last };
	__s64 end = (inode->i_size - 1) >> PAGE_SHIFT;

	if ((inode->i_mode & S_IFMT) != S_IFREG || inode->i_sb->s_magic == TMPFS_MAGIC)
		return;
	if (end < (__s64)last)
		p.last = end;
	if (end < (__s64)first)
		return;
	p.unit = find_unit(&p.id);
	if (!p.unit || BPF_CORE_READ(task, real_parent, tgid) == daemon_tgid)
		return;
	bpf_loop(CHUNKS_AT_ONCE, note_chunk, &p, 0);
}

SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(get_pages, struct address_space *mapping, unsigned long index, unsigned long last)
{
	use(mapping, index, last);
	return 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(filemap_fault, struct address_space *mapping, unsigned long index)
{
	use(mapping, index, index);
	return 0;
}

/* What is around a page that is cached is mapped with it, and comes to no other tracepoint. */
SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(map_pages, struct address_space *mapping, unsigned long start, unsigned long end)
{
	use(mapping, start, end);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
