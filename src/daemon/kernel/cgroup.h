/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "shared/file-util.h"

/* memory.cachebpf.policy of a control group: what the kernel says runs there. */
typedef struct KernelPolicy {
        char *name;         /* NULL: the stock policy */
        uint64_t id;        /* of this attachment */
        uint64_t cgroup_id; /* where it is attached */
        bool inherited;     /* there, meaning at an ancestor */
        uint64_t updates;   /* replacements in place */
        uint64_t ejected_id; /* 0, or the attachment that the kernel ended of its own accord last, */
        char *ejected;      /* and why */
} KernelPolicy;

void kernel_policy_done(KernelPolicy *p);
#define _cleanup_kernel_policy_ _cleanup_(kernel_policy_done)

/* The policy that is attached to the control group itself, or NULL. */
static inline const char *kernel_policy_own(const KernelPolicy *p) {
        return p->inherited ? NULL : p->name;
}

/* The root is where cgroup2 is mounted, the path what systemd calls ControlGroup. Both return -ENOENT when
 * the control group is gone or about to go, or another one with the same path (id 0: any) took its place,
 * and -EOPNOTSUPP when it has no memory controller. The kernel is one with cachebpf. */
int cgroup_read_policy(const char *root, const char *path, uint64_t id, KernelPolicy *ret);
int cgroup_stat_foreach(const char *root, const char *path, uint64_t id, flat_keyed_func_t func,
                        void *userdata);

/* Of how many pages one is in the sample of the control group; 0: there is none. Errors as above, and those
 * of the kernel. */
int cgroup_read_sample(const char *root, const char *path, uint64_t id, uint64_t *ret);
int cgroup_write_sample(const char *root, const char *path, uint64_t id, uint64_t one_in);

/* Has the calling process go on in the control group: what it reads from then on is charged there. -EACCES:
 * the control group is delegated to a user; -EBUSY: it has others below, and no processes of its own. */
int cgroup_join(const char *root, const char *path, uint64_t id);

/* Whether systemd leaves it to the unit to make control groups below (Delegate=). */
bool cgroup_is_delegated(const char *root, const char *path, uint64_t id);
/* Whether there are more processes than one in the control group itself, or that cannot be read. */
bool cgroup_has_others(const char *root, const char *path, uint64_t id);
/* Whether io.max limits what it, or one above it, reads. */
bool cgroup_limits_reads(const char *root, const char *path);
/* How many tasks may still come, by its pids.max or those above it; UINT64_MAX if it has no limit, or that
 * cannot be read. */
uint64_t cgroup_read_tasks_room(const char *root, const char *path);

/* How many bytes the control group can grow by, until it or one above it is at its memory.high or
 * memory.max; UINT64_MAX if it has no limit, or that cannot be read. */
uint64_t cgroup_read_room(const char *root, const char *path);
/* The same with what is cached and not in use, which makes room for what is read. */
uint64_t cgroup_read_cache_room(const char *root, const char *path);
