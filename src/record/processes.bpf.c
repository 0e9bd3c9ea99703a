// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits and misses of each process in a control group and its descendants, from
 * the tracepoints that any kernel since 6.12 has.  What is an access is said in
 * record.bpf.c; here nothing is sent, the thread adds to its own counters.
 *
 * A miss is the first use of a page that the thread has brought in, be it read
 * ahead or not, as the kernel counts misses under a policy.  Of what it brought
 * in the last range is remembered: who reads on in many files at once has hits
 * where there was a read ahead.
 *
 * Each read passes get_pages(), so that every instruction there counts.  Under
 * a policy it is not needed, see process-policy.bpf.h.
 */
#include "folio.bpf.h"
#include "process-policy.bpf.h"
#include "process-threads.bpf.h"

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct *task)
{
	end_thread(task);
	return 0;
}

/* ---- reads */

static __u64 count_reads(struct task_struct *task)
{
	return bpf_core_field_exists(task->ioac.syscr) ? task->ioac.syscr : 0;
}

/*
 * Pages @index to @end are read, and something was brought in before.  There is
 * no event for the beginning of a read if it had to wait for a page and got the
 * ones in front meanwhile: they were brought in by this very read.
 */
static __noinline int use_new(struct thread_counts *t, __u64 index, __u64 end, bool again)
{
	__u64 from = t->new_from, to = t->new_to;

	if (t->new_mapping != t->mapping)
		return 0;
	if (from < index && t->new_reads == t->reads) {
		if (!again)
			t->accesses += index - from;
		index = from;
	}
	if (from < index)
		from = index;
	if (to > end + 1)
		to = end + 1;
	if (from >= to)
		return 0;
	t->misses += to - from;
	t->new_from = to;
	return 0;
}

/*
 * Pages @index to @last are wanted.  A long read comes here again and again
 * with the same end; reads are told apart by how many the thread completed.
 */
SEC("?tp_btf/mm_filemap_get_pages")
int BPF_PROG(get_pages, struct address_space *mapping, unsigned long index, unsigned long last)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_counts *t = get_thread(task);
	__u64 end, reads, n;
	bool again = false;

	if (!t || !is_regular(mapping->host))
		return 0;
	/* the read may ask for more than there is */
	end = (__u64)(mapping->host->i_size - 1) >> PAGE_SHIFT;
	if (end > last)
		end = last;
	if (end < index)
		return 0;
	reads = count_reads(task);
	n = end - index + 1;
	if (t->mapping == (__u64)mapping) {
		if (t->end == end && t->reads == reads && t->index < index) {
			again = true;
			n = 0;
		} else if (t->end == index) {
			/* the read before ended in this page */
			n--;
		}
	} else {
		t->mapping = (__u64)mapping;
	}
	t->index = index;
	t->end = end;
	t->reads = reads;
	t->accesses += n;
	if (t->new_from != t->new_to)
		use_new(t, index, end, again);
	return 0;
}

/* ---- faults of mapped pages */

/* A fault that has to wait for the page is tried again, but counted once. */
static bool is_new_fault(struct thread_counts *t, struct task_struct *task)
{
	__u64 faults = task->min_flt + task->maj_flt + 1;

	if (t->faults == faults)
		return false;
	t->faults = faults;
	t->fault_mapping = 0;
	t->accesses++;
	return true;
}

SEC("?tp_btf/mm_filemap_fault")
int BPF_PROG(filemap_fault, struct address_space *mapping, unsigned long index)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_counts *t = get_thread(task);

	if (!t || !is_new_fault(t, task))
		return 0;
	t->fault_mapping = (__u64)mapping;
	t->fault_index = index;
	return 0;
}

/* A fault of a page that is cached maps those around it too, and comes to no other tracepoint. */
SEC("?tp_btf/mm_filemap_map_pages")
int BPF_PROG(map_pages, struct address_space *mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_counts *t;

	if (mapping->host->i_sb->s_magic == TMPFS_MAGIC)
		return 0;
	t = get_thread(task);
	if (t)
		is_new_fault(t, task);
	return 0;
}

/* ---- what comes into the cache */

/* The fault that the thread is about brings in the folio. */
static void add_by_fault(struct thread_counts *t, struct address_space *mapping, __u64 index, __u64 n)
{
	if (t->fault_mapping != (__u64)mapping || t->fault_index - index >= n)
		return;
	t->misses++;
	t->fault_mapping = 0;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(add_to_page_cache, struct folio *folio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct address_space *mapping = folio->mapping;
	__u64 index = folio->index, n;
	struct thread_counts *t;

	/* nobody would give the place of a thread back that has ended */
	if (task->flags & PF_EXITING || !is_regular(mapping->host))
		return 0;
	t = get_thread(task);
	if (!t)
		return 0;
	n = folio_nr_pages(folio);
	t->brought += n;
	if (t->faults == task->min_flt + task->maj_flt + 1) {
		add_by_fault(t, mapping, index, n);
		return 0;
	}
	if (t->new_mapping != (__u64)mapping || t->new_to != index) {
		t->new_mapping = (__u64)mapping;
		t->new_from = index;
	}
	t->new_to = index + n;
	t->new_reads = count_reads(task);
	return 0;
}

/* What was brought in to be written, without a read that ended since, was not read. */
SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(dirty_folio, struct folio *folio, struct address_space *mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_counts *t = find_thread(task->pid);
	__u64 index = folio->index, n;

	if (!t || t->new_mapping != (__u64)mapping || index < t->new_from || index >= t->new_to ||
	    t->new_reads != count_reads(task))
		return 0;
	n = folio_nr_pages(folio);
	t->brought -= n;
	if (index == t->new_from)
		t->new_from = index + n;
	else
		t->new_to = index;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
