/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few fields of the kernel's structures that uses.bpf.c reads; where they
 * are is found out when it is loaded (CO-RE).
 */
#pragma once

#define __kernel_type	__attribute__((preserve_access_index))

struct hlist_node {
	struct hlist_node *next;
} __kernel_type;

struct hlist_head {
	struct hlist_node *first;
} __kernel_type;

struct qstr {
	const unsigned char *name;
} __kernel_type;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	union {
		struct hlist_node d_alias;
	} d_u;
} __kernel_type;

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
} __kernel_type;

struct inode {
	__u16 i_mode;
	unsigned long i_ino;
	__s64 i_size;
	struct super_block *i_sb;
	struct hlist_head i_dentry;
	__u32 i_generation;
} __kernel_type;

struct address_space {
	struct inode *host;
} __kernel_type;

struct task_struct {
	int tgid;
	struct task_struct *real_parent;
} __kernel_type;
