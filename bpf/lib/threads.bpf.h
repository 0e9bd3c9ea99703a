/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Classes of threads: what the current task is there for.
 *
 * thread_class() is for admit_folio(), folio_added() and folio_accessed(),
 * where the current task is the one that reads or writes; of folio_accessed(), see
 * is_user_known().  It finds a class
 *
 * - that user space has given to the thread, in the map cachebpf_threads: the
 *   key is a file descriptor of pidfd_open(tid, PIDFD_THREAD), the value a
 *   __u32 out of enum cachebpf_thread_class.  It goes with the thread, or with
 *   the element.  Whoever loads policies makes one such map, pins it, and has
 *   every object use it (bpf_map__reuse_fd()), so that a thread is the same
 *   for all policies and stays what it is when they are replaced;
 *
 * - else by the thread's name: "scan" if one of the globs in
 *   cachebpf_scan_threads matches it.  Whoever loads a policy fills them in
 *   before, from the first on.  What was found is kept until the thread is
 *   called something else.
 *
 * Without globs the second half costs nothing: the verifier drops it.
 */
#pragma once

enum cachebpf_thread_class {
	/* nothing special */
	CACHEBPF_THREAD_NORMAL,
	/* reads much, once: reports, backups, searches */
	CACHEBPF_THREAD_SCAN,
	/* work that nobody waits for: compaction, indexing */
	CACHEBPF_THREAD_BACKGROUND,
};

/* task_struct.flags: PF_MEMALLOC, PF_KTHREAD */
#define TASK_RECLAIMS		0x00000800
#define TASK_OF_KERNEL		0x00200000

#define CACHEBPF_MAX_GLOBS	8
/* of a task's name and of a glob, the final 0 included */
#define CACHEBPF_COMM_LEN	16

/* storage of tasks, since a policy has none: looked up by pointer, and gone with its task */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} cachebpf_threads SEC(".maps");

/* '*' is any number of characters, '?' any one; an empty glob, and what follows it, is none */
const volatile char cachebpf_scan_threads[CACHEBPF_MAX_GLOBS][CACHEBPF_COMM_LEN] SEC(".rodata");

struct cachebpf_named {
	__u64 comm[CACHEBPF_COMM_LEN / sizeof(__u64)];
	__u32 class;
};

/* of each object its own, since others have other globs */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct cachebpf_named);
} cachebpf_names SEC(".maps");

/* After the next character @c (0: the end) of a name: which beginnings of @glob match, a bit each. */
static __always_inline __u32 glob_step(const volatile char *glob, __u32 reached, char c)
{
	__u32 i, next = 0;

	bpf_for(i, 0, CACHEBPF_COMM_LEN) {
		__u32 here = reached & 1U << i;

		if (!here)
			continue;
		if (glob[i] == '*') {
			reached |= here << 1;
			next |= here;
		} else if (c && (glob[i] == '?' || glob[i] == c)) {
			next |= here << 1;
		} else if (!c && !glob[i]) {
			return here;
		}
	}
	return c ? next : 0;
}

static __noinline bool glob_matches(__u32 nr, const struct cachebpf_named *named)
{
	const char *comm = (const char *)named->comm;
	__u32 i, reached = 1;

	bpf_for(i, 0, CACHEBPF_COMM_LEN) {
		reached = glob_step(cachebpf_scan_threads[nr % CACHEBPF_MAX_GLOBS], reached, comm[i]);
		if (!comm[i])
			break;
	}
	return reached;
}

static __noinline __u32 class_by_name(struct task_struct *task)
{
	const __u64 *comm = (const __u64 *)task->comm;
	struct cachebpf_named *named;
	__u32 nr;

	named = bpf_task_storage_get(&cachebpf_names, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!named)
		return CACHEBPF_THREAD_NORMAL;
	if (named->comm[0] == comm[0] && named->comm[1] == comm[1])
		return named->class;

	named->comm[0] = comm[0];
	named->comm[1] = comm[1];
	named->class = CACHEBPF_THREAD_NORMAL;
	bpf_for(nr, 0, CACHEBPF_MAX_GLOBS)
		if (cachebpf_scan_threads[nr % CACHEBPF_MAX_GLOBS][0] && glob_matches(nr, named))
			named->class = CACHEBPF_THREAD_SCAN;
	return named->class;
}

/*
 * Is the current task who uses the folio of folio_accessed()?  Of uses through mappings the
 * kernel hears when it looks: then it is who reclaims, or a thread of the kernel.
 */
static __always_inline bool is_user_known(void)
{
	return !(bpf_get_current_task_btf()->flags & (TASK_RECLAIMS | TASK_OF_KERNEL));
}

/* What the current task is there for. */
static __always_inline enum cachebpf_thread_class thread_class(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 *class = bpf_task_storage_get(&cachebpf_threads, task, NULL, 0);

	if (class)
		return *class;
	if (cachebpf_scan_threads[0][0])
		return class_by_name(task);
	return CACHEBPF_THREAD_NORMAL;
}
