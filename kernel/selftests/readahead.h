/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of readahead have in common; in readahead.c. */
#ifndef READAHEAD_H
#define READAHEAD_H

#include "selftest.h"
#include "states.h"

/* pages that one plan reads at most */
#define MOST	512UL

/* the cgroup whose processes read, what the policy there is told, and its link */
extern const char *readers;
extern struct readahead_state *told;
extern struct bpf_link *planner;

/* What a process of the cgroup does with a file, once. */
struct use {
	const struct file	*file;
	size_t			first, nr;
	/* of preadv2(); -1: through a mapping, of which one page is touched */
	int			flags;
	/* of posix_fadvise() and madvise() */
	int			fadvise, madvise;
};

/* A new cgroup with the policy below @parent, or NULL. */
void set_up_planner(const char *parent);
/* At a miss and at a fault a window from @start pages behind the index on; marks are declined. */
void plan_with(int64_t start, uint32_t size, uint32_t async_size);
/* The range @nr from @index on, in all plans. */
void plan_range(size_t nr, uint64_t index, uint32_t pages);
/* How often the policy was asked. */
unsigned long long nr_asked(void);
/* To be run in a cgroup, with a struct use; 0 or an errno. */
int do_use(void *use);
/* One read(2) of @nr pages; a page fault. */
void read_once(const struct file *file, size_t first, size_t nr);
void touch(const struct file *file, size_t first);
/* Are @nr pages of it cached, and no more, when what is under way has been read? */
bool comes_to(const struct file *file, size_t nr);
/* Of @file these pages are cached, and no others; forgets them. */
void expect_cached_at(int line, const struct file *file, size_t first, size_t nr);
#define EXPECT_CACHED(file, first, nr)	expect_cached_at(__LINE__, file, first, nr)

#endif /* READAHEAD_H */
