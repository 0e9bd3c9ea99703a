/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few fields of the kernel's structures that the programs here read; where
 * they are is found out when a program is loaded (CO-RE).
 */
#pragma once

#define __kernel_type	__attribute__((preserve_access_index))

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
} __kernel_type;

struct inode {
	__u16 i_mode;
	__u32 i_nlink;
	unsigned long i_ino;
	__u32 i_generation;
	__s64 i_size;
	struct super_block *i_sb;
} __kernel_type;

struct address_space {
	struct inode *host;
} __kernel_type;

struct folio {
	unsigned long flags;
	struct address_space *mapping;
	unsigned long index;
	unsigned int _folio_nr_pages;
} __kernel_type;

/* since 6.14 */
struct folio___nr_pages {
	unsigned int _nr_pages;
} __kernel_type;

/* since 6.18 */
struct folio___memdesc {
	struct {
		unsigned long f;
	} flags;
} __kernel_type;

enum pageflags {
	PG_head = 1,
};

struct file_ra_state {
	__s64 prev_pos;
} __kernel_type;

struct file {
	struct address_space *f_mapping;
	__s64 f_pos;
	struct file_ra_state f_ra;
} __kernel_type;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} __kernel_type;

struct files_struct {
	struct fdtable *fdt;
} __kernel_type;

struct task_io_accounting {
	__u64 syscr;
} __kernel_type;

struct css_set {
	void *subsys[1]; /* as many as there are; the memory controller's is the first thing in a mem_cgroup */
} __kernel_type;

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct css_set *cgroups;
	char comm[16];
	unsigned long min_flt;
	unsigned long maj_flt;
	struct files_struct *files;
	struct task_io_accounting ioac;
} __kernel_type;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_pgoff;
	struct file *vm_file;
} __kernel_type;

/* of x86-64: arguments of a system call */
struct pt_regs {
	unsigned long di, dx, r10;
	unsigned long orig_ax;
} __kernel_type;
