/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

/* What a child may say, in any case. */
#define RESULT_MAX (64U << 20)

static void close_between(int after, int before) {
        if (after + 1 < before)
                (void) close_range((unsigned) after + 1, (unsigned) before - 1, 0);
}

static void run_child(const char *name, helper_func_t func, void *userdata, int result, int keep_fd) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void) prctl(PR_SET_NAME, name);

        /* Policies are not to stay attached by what it has open, nor names on the bus to be taken. */
        close_between(STDERR_FILENO, MIN(result, keep_fd < 0 ? result : keep_fd));
        close_between(MIN(result, keep_fd < 0 ? result : keep_fd), MAX(result, keep_fd));
        (void) close_range((unsigned) MAX(result, keep_fd) + 1, ~0U, 0);

        func(result, userdata);
        _exit(0);
}

int helper_start(const char *name, helper_func_t func, void *userdata, int keep_fd, Helper *ret) {
        Helper h = HELPER_NONE;

        h.result = memfd_create("result", MFD_CLOEXEC);
        if (h.result < 0)
                return -errno;

        h.pid = fork();
        if (h.pid == 0)
                run_child(name, func, userdata, h.result, keep_fd);
        if (h.pid > 0)
                h.pidfd = (int) syscall(SYS_pidfd_open, h.pid, 0);
        if (h.pidfd < 0) {
                int r = -errno;

                if (h.pid > 0) { /* nobody could wait for it later; it has had no time to hang */
                        helper_kill(&h);
                        (void) waitid(P_PID, (id_t) h.pid, NULL, WEXITED);
                        h.pid = 0;
                }
                helper_done(&h);
                return r;
        }

        *ret = h;
        return 0;
}

/* Nobody else waits for our children. */
static int reap(Helper *h, siginfo_t *ret) {
        *ret = (siginfo_t) {};
        if (waitid(P_PID, (id_t) h->pid, ret, WEXITED | WNOHANG) < 0)
                return -errno;
        if (ret->si_pid == 0)
                return -EAGAIN;

        h->pid = 0;
        return 0;
}

int helper_read(Helper *h, void **ret, size_t *ret_size) {
        struct stat st;
        siginfo_t info;
        char *text;
        ssize_t n;
        int r;

        r = reap(h, &info);
        if (r < 0)
                return r;
        if (info.si_code != CLD_EXITED || info.si_status != 0)
                return -EIO;
        if (fstat(h->result, &st) < 0)
                return -errno;
        if (st.st_size > (off_t) RESULT_MAX)
                return -E2BIG;

        text = g_malloc((gsize) st.st_size + 1);
        n = pread(h->result, text, (size_t) st.st_size, 0);
        if (n != st.st_size) {
                r = n < 0 ? -errno : -EIO;
                free(text);
                return r;
        }

        *ret = text;
        *ret_size = (size_t) n;
        return 0;
}

void helper_wait(const Helper *h, int msec) {
        struct pollfd p = { .fd = h->pidfd, .events = POLLIN };

        (void) poll(&p, 1, msec);
}

bool helper_has_ended(const Helper *h) {
        struct pollfd p = { .fd = h->pidfd, .events = POLLIN };

        return poll(&p, 1, 0) > 0;
}

void helper_kill(const Helper *h) {
        if (h->pid > 0)
                (void) kill(h->pid, SIGKILL);
}

bool helper_stop(Helper *h) {
        siginfo_t info;

        helper_kill(h);
        return h->pid <= 0 || reap(h, &info) != -EAGAIN;
}

void helper_done(Helper *h) {
        (void) helper_stop(h);
        h->pidfd = safe_close(h->pidfd);
        h->result = safe_close(h->result);
}
