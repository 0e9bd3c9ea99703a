/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two parts of the self-check share. */
#ifndef _MM_CACHEBPF_CHECK_H
#define _MM_CACHEBPF_CHECK_H

#include <linux/seq_file.h>

#include "internal.h"

/* What is found of one policy. */
struct tally {
	u64 listed;
	u64 owned;
	u64 unmanaged;
	/* the counters of what came and went, when the check began */
	u64 motion;
};

struct check {
	struct seq_file	*m;
	struct tally	*tallies;
	unsigned long	nr_mismatches;
	unsigned long	nr_policies;
	unsigned long	nr_lists;
	unsigned long	nr_entries;
	unsigned long	nr_folios;
	unsigned long	nr_unmanaged;
	unsigned long	nr_busy;
};

__printf(2, 3) void cachebpf_mismatch(struct check *c, const char *format, ...);

/* check-list.c */
void cachebpf_check_list(struct check *c, struct cachebpf_policy *policy, int nid, int list_id);

/* delay.c; @parent: of its directory in debugfs */
void cachebpf_delay_init(struct dentry *parent);

#endif /* _MM_CACHEBPF_CHECK_H */
