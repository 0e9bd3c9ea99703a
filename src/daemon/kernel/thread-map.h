/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "shared/thread-class.h"

/* The classes of threads in the kernel: a map that stores a number with a task, which goes when the task
 * goes. There is one for all policies, pinned below pin_root: it outlives the policies as well as the
 * daemon. */

/* Opens it, and makes it if it is not there. */
int thread_map_open(const char *pin_root);

/* A thread is given by a file descriptor of pidfd_open(tid, PIDFD_THREAD); -ESRCH when it has ended. A class
 * that was given, even "normal", goes before what CacheScanThreads= says about the thread's name. */
int thread_map_set(int map_fd, int pidfd, ThreadClass class);
/* -ENOENT: it has none. */
int thread_map_get(int map_fd, int pidfd, ThreadClass *ret);
