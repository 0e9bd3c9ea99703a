/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* libcachebpf: a program tells page cache policies what its threads are there for. */

#ifndef CACHEBPF_H
#define CACHEBPF_H

#ifdef __cplusplus
extern "C" {
#endif

enum cachebpf_thread_class {
        /* Nothing special. A thread that was given this class explicitly has it whatever its name is. */
        CACHEBPF_THREAD_NORMAL = 0,
        /* Reads much, once: reports, backups, searches. */
        CACHEBPF_THREAD_SCAN = 1,
        /* Work that nobody waits for: compaction, indexing. */
        CACHEBPF_THREAD_BACKGROUND = 2,
};

/* Gives the calling thread a class, which it keeps until it ends or gets another one. What the class is good
 * for is up to the policy of the control group that the thread is in; without one it has no effect. Threads
 * that this one makes later do not inherit it.
 *
 * Asks cachebpfd and waits for its answer: call it once when the thread begins, not for each read. Needs no
 * privileges. Thread-safe.
 *
 * Returns 0, or a negative errno, and most programs will not care which:
 *   -ENOENT, -ECONNREFUSED   cachebpfd is not there
 *   -EOPNOTSUPP              the kernel has no cachebpf
 *   -EINVAL                  this is no class
 *   -ETIME                   no answer within ten seconds */
int cachebpf_set_thread_class(enum cachebpf_thread_class thread_class);

#ifdef __cplusplus
}
#endif

#endif
