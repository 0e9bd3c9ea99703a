/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What processes.bpf.c and processes.c share. Both include their own definitions of __u64 and so on before. */

#define PROCESS_NAME_SIZE 16 /* with NUL, as the kernel has it */
#define THREADS_MAX 4096U    /* a power of 2 */

/* One thread of the unit. The kernel's side writes it while "pid" is set: only the thread itself, so that
 * nothing is locked. When the thread has ended "pid" is 0 and "process" is not; cachectl then takes the
 * counts and sets everything to 0. */
struct thread_counts {
        __u32 pid;     /* of the thread */
        __u32 process; /* its tgid */
        __u64 cgroups; /* the set of control groups in which it was when it was last looked up */

        __u64 accesses; /* pages that were read or faulted */
        __u64 misses;   /* those of them that the thread brought in itself */
        __u64 brought;  /* pages that it brought in, read ahead or not */

        /* the last read: one may pass the tracepoint more than once */
        __u64 mapping, index, end, reads;
        /* what was brought in since, and was not read yet; empty if both are the same */
        __u64 new_mapping, new_from, new_to, new_reads;
        /* the last fault */
        __u64 fault_mapping, fault_index, faults;

        char name[PROCESS_NAME_SIZE]; /* of the process, when it was first seen or when it ended */
};
