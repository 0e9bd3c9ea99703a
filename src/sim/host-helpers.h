/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* BPF's helpers, loops and attributes, as far as policies use them; see bpf-helpers(7). There is no clock on
 * purpose: policies count accesses. */

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* What policies call: visible to those that are loaded into the program, see sim_policy_load(). */
#define SIM_API __attribute__((__visibility__("default")))

#undef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#undef __noinline
#define __noinline __attribute__((__noinline__))
#undef __weak
#define __weak __attribute__((__weak__))
#define __hidden
/* functions that the verifier looks at by themselves */
#define __arg_trusted
#define __arg_nonnull

#define barrier() __asm__ volatile("" ::: "memory")
#define barrier_var(var) __asm__ volatile("" : "+r"(var))

/* Where BPF's start and end have to be free of side effects they may change in the loop here as little. */
#define bpf_for(i, start, end)                                                          \
        for (int ___i = (start), ___end = (end); ___i < ___end && ((i) = ___i, true); ___i++)

#define bpf_repeat(n) for (int ___i = 0, ___n = (n); ___i < ___n; ___i++)

#define bpf_for_each(type, cur, args...)                                                \
        for (struct bpf_iter_##type ___it __attribute__((__cleanup__(bpf_iter_##type##_destroy))), \
                     *___p __attribute__((__unused__)) =                                \
                             (bpf_iter_##type##_new(&___it, ##args), NULL);             \
             ((cur) = bpf_iter_##type##_next(&___it));)

/* Returns how often the callback was called; it ends the loop by returning something else than 0. */
#define bpf_loop(nr, callback, ctx, flags)                                              \
        ({                                                                              \
                __u32 ___nr = (nr), ___i = 0;                                           \
                                                                                        \
                while (___i < ___nr)                                                    \
                        if ((callback)(___i++, (ctx)))                                  \
                                break;                                                  \
                (long) ___i;                                                            \
        })

#define can_loop true

/* The same sequence in each run. */
SIM_API __u32 bpf_get_prandom_u32(void);

static inline __u32 bpf_get_smp_processor_id(void)
{
        return 0;
}

/* The task on whose behalf the current request is made: one for each class of tasks that a trace knows. */
SIM_API struct task_struct *bpf_get_current_task_btf(void);
SIM_API __u64 bpf_get_current_pid_tgid(void);
SIM_API long bpf_get_current_comm(void *buf, __u32 size);

/* See bpf_cgroup_from_id() of the kernel. */
struct cgroup;
SIM_API struct cgroup *bpf_cgroup_from_id(__u64 id);
SIM_API void bpf_cgroup_release(struct cgroup *cgroup);

/* Goes to standard error. */
SIM_API int sim_printk(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
#define bpf_printk(format, args...) sim_printk(format "\n", ##args)

static inline void bpf_spin_lock(struct bpf_spin_lock *lock)
{
}

static inline void bpf_spin_unlock(struct bpf_spin_lock *lock)
{
}
