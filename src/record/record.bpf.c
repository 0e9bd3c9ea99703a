// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the threads of a control group and its descendants do to the page
 * cache, from the tracepoints that any kernel since 6.12 has.  An access is
 * what the kernel takes for one: a read system call uses each of its pages
 * once, and a read that begins in the page in which the one before it ended
 * (same open file) does not use that page again.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "folio.bpf.h"
#include "record-event.h"

#define PF_MEMALLOC	0x00000800

/* set before loading: the group, and how deep below the root it is */
const volatile __u64 cgroup_id;
const volatile __u32 cgroup_level;
/* of so many pages, less one, one is recorded with all that is done to it: 0, or all bits set below a power of two */
const volatile __u64 sample_mask;

/* events for which there was no room */
__u64 n_lost;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} events SEC(".maps");

/* Nobody is woken before so much waits: to read one event takes as long as to make ten. */
#define WAKE_UP_AT	(2 << 20)

/* pages that were read or written, be they recorded or not */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} accesses SEC(".maps");

/* What a thread did last: one read or fault may pass a tracepoint more than once. */
struct thread {
	__u64 read_mapping, read_index, read_last;
	__u64 reads;
	__u64 fault_mapping, fault_index;
	__u64 faults;
	__u64 fault_address;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static bool wanted(void)
{
	return bpf_get_current_ancestor_cgroup_id(cgroup_level) == cgroup_id;
}

static struct thread *get_thread(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static void count(__u64 n_pages)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&accesses, &zero);

	if (n)
		*n += n_pages;
}

/* The finalizer of MurmurHash3 (public domain): pages that are used together must not be in the sample together. */
static bool is_sampled(struct inode *inode, __u64 page)
{
	__u64 x = inode->i_ino << 32 ^ page;

	if (!sample_mask)
		return true;
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	x ^= x >> 33;
	return !(x & sample_mask);
}

static void send_all(enum record_kind kind, struct inode *inode, __u64 page, __u64 n_pages)
{
	struct record_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	__u64 waiting;

	if (!e) {
		__sync_fetch_and_add(&n_lost, 1);
		return;
	}
	e->time = bpf_ktime_get_ns();
	e->inode = inode->i_ino;
	e->page = page;
	e->n_pages = n_pages;
	e->manager = bpf_get_current_ancestor_cgroup_id(cgroup_level + 1);
	e->device = inode->i_sb->s_dev;
	e->generation = inode->i_generation;
	e->tid = (__u32)bpf_get_current_pid_tgid();
	e->kind = kind;
	bpf_get_current_comm(e->thread, sizeof(e->thread));
	waiting = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	bpf_ringbuf_submit(e, waiting < WAKE_UP_AT ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
}

struct pages {
	enum record_kind kind;
	struct inode *inode;
	__u64 page;
};

static long send_one(__u32 i, struct pages *pages)
{
	if (is_sampled(pages->inode, pages->page + i))
		send_all(pages->kind, pages->inode, pages->page + i, 1);
	return 0;
}

static void send(enum record_kind kind, struct inode *inode, __u64 page, __u64 n_pages)
{
	struct pages pages = { .kind = kind, .inode = inode, .page = page };

	if (kind == RECORD_READ || kind == RECORD_WRITE)
		count(n_pages);
	if (sample_mask)
		bpf_loop(n_pages, send_one, &pages, 0);
	else
		send_all(kind, inode, page, n_pages);
}

/* ---- reads */

/* The open file with that number if it is one of @mapping. */
static struct file *get_file(struct task_struct *task, __u32 fd, struct address_space *mapping)
{
	struct fdtable *fdt = task->files->fdt;
	struct file *file = NULL;

	if (fd >= fdt->max_fds)
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), fdt->fd + fd);
	if (!file || BPF_CORE_READ(file, f_mapping) != mapping)
		return NULL;
	return file;
}

/*
 * What the tracepoint does not say: where the read began, by the registers
 * with which the system call was made.  There is no event for the beginning
 * of a read if it had to wait for a page and got the ones in front meanwhile.
 * Returns the first page that the read uses, @index if it is not known.
 */
static __s64 first_page(struct task_struct *task, struct address_space *mapping, __s64 index)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct file *file = NULL;
	__s64 pos = -1, prev;

	switch (regs->orig_ax) {
	case 17:	/* pread64 */
	case 295:	/* preadv */
	case 327:	/* preadv2, for which -1 is the position of the file */
		pos = regs->r10;
		/* fallthrough */
	case 0:		/* read */
	case 19:	/* readv */
		file = get_file(task, regs->di, mapping);
	}
	if (!file)
		return index;
	if (pos < 0)
		pos = BPF_CORE_READ(file, f_pos);
	if (pos < 0 || pos >> PAGE_SHIFT > index)
		return index;

	prev = BPF_CORE_READ(file, f_ra.prev_pos);
	index = pos >> PAGE_SHIFT;
	return prev > 0 && (prev - 1) >> PAGE_SHIFT == index ? index + 1 : index;
#else
	return index;
#endif
}

/* Most reads are short, and most of them not in the sample: this is what they cost. */
static bool reads_one_page(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return (regs->orig_ax == 0 || regs->orig_ax == 17) && regs->dx <= 1 << PAGE_SHIFT; /* read, pread64 */
#else
	return false;
#endif
}

/*
 * Pages @index to @last are wanted.  A long read comes here again and again
 * with the same end; reads are told apart by how many the thread completed.
 */
SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(get_pages, struct address_space *mapping, unsigned long index, unsigned long last)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = mapping->host;
	__s64 first, end;
	struct thread *t;
	__u64 reads = 0;
	bool again;

	if (!wanted())
		return 0;
	if (index == last && !is_sampled(inode, index) && reads_one_page(task)) {
		count(1);
		return 0;
	}
	t = get_thread(task);
	if (!t)
		return 0;

	if (bpf_core_field_exists(task->ioac.syscr))
		reads = task->ioac.syscr;
	again = t->read_mapping == (__u64)mapping && t->read_last == last && t->reads == reads &&
		t->read_index < index;
	t->read_mapping = (__u64)mapping;
	t->read_index = index;
	t->read_last = last;
	t->reads = reads;
	if (again)
		return 0;

	/* the read may ask for more than there is */
	first = first_page(task, mapping, index);
	end = (inode->i_size - 1) >> PAGE_SHIFT;
	if (end > (__s64)last)
		end = last;
	if (first <= end)
		send(RECORD_READ, inode, first, end - first + 1);
	return 0;
}

/* ---- faults of mapped pages */

/* A fault that has to wait for the page is tried again, but counted once. */
static void fault(struct task_struct *task, struct address_space *mapping, __u64 index)
{
	struct thread *t = get_thread(task);
	__u64 faults = task->min_flt + task->maj_flt;

	if (!t)
		return;
	if (t->fault_mapping == (__u64)mapping && t->fault_index == index && t->faults == faults)
		return;
	t->fault_mapping = (__u64)mapping;
	t->fault_index = index;
	t->faults = faults;
	send(RECORD_READ, mapping->host, index, 1);
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(filemap_fault, struct address_space *mapping, unsigned long index)
{
	if (wanted())
		fault(bpf_get_current_task_btf(), mapping, index);
	return 0;
}

struct fault_place {
	__u64 address;
	struct address_space *mapping;
	__u64 index;
	bool found;
};

static long find_place(struct task_struct *task, struct vm_area_struct *vma, struct fault_place *place)
{
	if (vma->vm_file->f_mapping != place->mapping)
		return 0;
	place->index = vma->vm_pgoff + ((place->address - vma->vm_start) >> PAGE_SHIFT);
	place->found = true;
	return 0;
}

/*
 * A fault of a page that is cached maps those around it too, as far as they
 * are cached, and comes to no other tracepoint.  Which page it was about
 * tells the address; the others count as not used until a fault of their own.
 */
SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(map_pages, struct address_space *mapping, unsigned long start, unsigned long end)
{
	struct fault_place place = { .mapping = mapping };
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t;

	if (!wanted() || mapping->host->i_sb->s_magic == TMPFS_MAGIC)
		return 0;
	t = get_thread(task);
	if (!t || !t->fault_address)
		return 0;
	place.address = t->fault_address;
	t->fault_address = 0;
	bpf_find_vma(task, place.address, find_place, &place, 0);
	if (place.found && place.index >= start && place.index <= end)
		fault(task, mapping, place.index);
	return 0;
}

/* of x86 */
SEC("?tp_btf/page_fault_user")
int BPF_PROG(page_fault, unsigned long address)
{
	struct thread *t;

	if (!wanted())
		return 0;
	t = get_thread(bpf_get_current_task_btf());
	if (t)
		t->fault_address = address;
	return 0;
}

/* ---- writes, what comes into the cache, and what is no more */

static void send_folio(enum record_kind kind, struct folio *folio, struct address_space *mapping)
{
	struct inode *inode = mapping->host;

	if (is_regular(inode))
		send(kind, inode, folio->index, folio_nr_pages(folio));
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(dirty_folio, struct folio *folio, struct address_space *mapping)
{
	if (wanted() && mapping)
		send_folio(RECORD_WRITE, folio, mapping);
	return 0;
}

SEC("?tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(add_to_page_cache, struct folio *folio)
{
	if (wanted())
		send_folio(RECORD_ADDED, folio, folio->mapping);
	return 0;
}

/* A page that is reclaimed, or dropped on request, is still one of the file. */
SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(delete_from_page_cache, struct folio *folio)
{
	struct inode *inode = folio->mapping->host;

	if (!wanted() || inode->i_sb->s_magic == TMPFS_MAGIC ||
	    bpf_get_current_task_btf()->flags & PF_MEMALLOC)
		return 0;
	if (!inode->i_nlink || (__s64)folio->index << PAGE_SHIFT >= inode->i_size)
		send_folio(RECORD_GONE, folio, folio->mapping);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
