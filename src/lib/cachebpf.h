/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* libcachebpf: a program tells page cache policies which of its pages go first, and what its threads are
 * there for. libcachebpf(3) is its manual. */

#ifndef CACHEBPF_H
#define CACHEBPF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- which pages go first
 *
 * The programs of a control group have levels for the pages that are charged to it. When it is the turn of
 * this control group to give up a page, one of the lowest level goes that has any. These calls change
 * nothing else, and nothing for others. They need no privileges. They are thread-safe, and a signal handler
 * may make them; errno stays as it is.
 *
 * All return 0, or a negative errno; then nothing has changed. A program can go on whatever they return:
 *   -EOPNOTSUPP   nobody listens: there is no kernel with cachebpf, no policy for this control group, or
 *                 one to which programs cannot say anything; or nothing of such a file can be given up, as
 *                 of one in memory
 *   -EINVAL       there is no such priority or replacement, or start or len is negative
 *   -EBADF        this is no descriptor, or one of O_PATH
 *   -ESPIPE       it is one of a pipe
 *   -ENOSPC       64 control groups have said something, or this one has given 1024 files another priority
 *                 than the default
 *   -EAGAIN       the policy was being replaced, several times; it may work later */

enum {
        /* goes first */
        CACHEBPF_PRIORITY_MIN = -1,
        /* of a file of which nothing was said */
        CACHEBPF_PRIORITY_DEFAULT = 0,
        /* goes last */
        CACHEBPF_PRIORITY_MAX = 3,
};

/* Which page of a level goes first. */
enum cachebpf_replacement {
        /* the one that was used least recently; the default */
        CACHEBPF_REPLACEMENT_LRU = 0,
        /* the one that was used most recently: for what is read over and over, and does not fit */
        CACHEBPF_REPLACEMENT_MRU = 1,
};

/* Puts the pages of a file into a level: those that are cached, and those to come. It holds for all
 * programs of the control group, until it is changed, or the policy is replaced. */
int cachebpf_set_priority(int fd, int priority);

/* What was said of the file, in *ret. */
int cachebpf_get_priority(int fd, int *ret);

/* How pages of a level are replaced. Opens a file for a moment, since the kernel's interface wants one:
 * -EMFILE or -ENFILE if there are too many. */
int cachebpf_set_replacement(int priority, enum cachebpf_replacement replacement);

/* What was said of the level, in *ret. */
int cachebpf_get_replacement(int priority, enum cachebpf_replacement *ret);

/* Puts the pages of len bytes from start on, which are cached now, into a level until they are used again.
 * In bytes, and rounded to whole pages; a len of 0 means until the end of the file. The usual one is
 * CACHEBPF_PRIORITY_MIN, for what will not be needed again. The numbers are off_t of 64 bits on all
 * machines. */
int cachebpf_set_temporary_priority(int fd, int64_t start, int64_t len, int priority);

/* ---- what threads are there for */

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
