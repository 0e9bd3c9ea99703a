/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "shared/cleanup.h"

/* Threads of other programs.
 * Numbers of threads are used again, so everything holds on to a file descriptor. */

/* A thread, or a process with all its threads. */
typedef struct ThreadTarget {
        int fd;       /* of pidfd_open() */
        pid_t pid;    /* 0: it has none in our name space */
        bool process;
} ThreadTarget;

void thread_target_done(ThreadTarget *t);

/* -ESRCH: there is none;
 * -EINVAL: a process is asked for and this is the number of another of its threads. */
int thread_target_open(pid_t pid, bool process, ThreadTarget *ret);
/* Takes over the descriptor. -EBADF: it is none of pidfd_open(). */
int thread_target_take_fd(int fd, ThreadTarget *ret);

/* Whether that user may see the threads: root may, and whose they are. Others get -EACCES: their /proc may
 * hide them (hidepid=), and the daemon has another /proc. */
int thread_target_check_visible(const ThreadTarget *t, uid_t uid);

#define THREAD_NAME_MAX 15U

typedef struct Thread {
        int fd;       /* with PIDFD_THREAD */
        pid_t tid;    /* 0: it has none in our name space, hence no name either */
        uid_t uid;    /* who may do as he likes with it besides root; (uid_t) -1: nobody */
        char name[THREAD_NAME_MAX + 1];
} Thread;

/* Calls func for each thread, those included that are made meanwhile. Stops at the first negative return. */
typedef int (*thread_func_t)(const Thread *thread, void *userdata);
int thread_target_foreach(const ThreadTarget *t, thread_func_t func, void *userdata);
