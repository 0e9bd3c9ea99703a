/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

/* A child process of the daemon, for what may never return: looking at file systems that are at the other
 * end of a network, or of a user's FUSE server. Not a thread: one that hangs would have the daemon not end,
 * and keep what it has open, even if it is killed. */
typedef struct Helper {
        pid_t pid;
        int pidfd;  /* readable when it has ended */
        int result; /* a file; what the child says is complete when it has ended */
} Helper;
#define HELPER_NONE ((Helper) { .pidfd = -EBADF, .result = -EBADF })

/* Has a child of that name call func, which writes its result to fd. It has only that and keep_fd open
 * (-EBADF: none). */
typedef void (*helper_func_t)(int fd, void *userdata);
int helper_start(const char *name, helper_func_t func, void *userdata, int keep_fd, Helper *ret);
/* What the child wrote, once it has ended; -EIO: it did not end as it should. */
int helper_read(Helper *h, void **ret, size_t *ret_size);
/* Until it has ended, or for that long. */
void helper_wait(const Helper *h, int msec);
bool helper_has_ended(const Helper *h);
/* It is going to end, soon if it does not hang. */
void helper_kill(const Helper *h);
/* Kills it. Returns false if it has not ended now: it hangs. */
bool helper_stop(Helper *h);
void helper_done(Helper *h);
