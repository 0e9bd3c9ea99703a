/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "shared/file-util.h"
#include "shared/string-util.h"
#include "threads.h"

#ifndef PIDFD_THREAD
#  define PIDFD_THREAD O_EXCL
#endif

/* A process that makes threads faster than we can look at them is not followed for ever. */
#define PASSES_MAX 8U
#define PROC_FILE_MAX 4096U

void thread_target_done(ThreadTarget *t) {
        t->fd = safe_close(t->fd);
}

static int open_pidfd(pid_t pid, unsigned flags) {
        return RET_NERRNO((int) syscall(SYS_pidfd_open, pid, flags));
}

/* Also when there is a zombie left. */
static bool has_ended(int fd) {
        struct pollfd p = {
                .fd = fd,
                .events = POLLIN,
        };

        return poll(&p, 1, 0) > 0;
}

int thread_target_open(pid_t pid, bool process, ThreadTarget *ret) {
        int fd;

        if (pid <= 0)
                return -ESRCH;

        fd = open_pidfd(pid, process ? 0 : PIDFD_THREAD);
        /* The number of a thread that is no process:
         * ENOENT since 6.13, EINVAL before, as for any other mistake. */
        if (process && IN_ERRNO(fd, -EINVAL, -ENOENT))
                return -EINVAL;
        if (fd < 0)
                return fd;

        *ret = (ThreadTarget) {
                .fd = fd,
                .pid = pid,
                .process = process,
        };
        return 0;
}

/* "Pid:", a tab and "123" in the kernel's description of the descriptor;
 * 0 means none that we can see, -1 that it has ended. */
static int read_pid(int fd, pid_t *ret) {
        _cleanup_free_ char *text = NULL;
        char path[64], *s;
        int r;

        (void) snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
        r = read_full_file(path, PROC_FILE_MAX, &text, NULL);
        if (r < 0)
                return r;

        s = strstr(text, "\nPid:");
        if (!s)
                return -EBADF;

        *ret = (pid_t) strtol(s + STRLEN("\nPid:"), NULL, 10);
        return *ret < 0 ? -ESRCH : 0;
}

int thread_target_take_fd(int fd, ThreadTarget *ret) {
        pid_t pid;
        int r;

        r = read_pid(fd, &pid);
        if (r < 0)
                return r;

        *ret = (ThreadTarget) {
                .fd = fd,
                .pid = pid,
        };
        return 0;
}

int thread_target_check_visible(const ThreadTarget *t, uid_t uid) {
        char path[64];
        struct stat st;

        if (uid == 0)
                return 0;

        (void) snprintf(path, sizeof(path), "/proc/%d", (int) t->pid);
        if (stat(path, &st) < 0)
                return errno == ENOENT ? -ESRCH : -errno;

        return st.st_uid == uid ? 0 : -EACCES;
}

/* Name and owner. The owner of the directory is who may trace the thread, root if nobody may. */
static int describe(Thread *t) {
        _cleanup_free_ char *name = NULL;
        char path[64];
        struct stat st;
        int r;

        (void) snprintf(path, sizeof(path), "/proc/%d", (int) t->tid);
        if (stat(path, &st) < 0)
                return errno == ENOENT ? -ESRCH : -errno;

        (void) snprintf(path, sizeof(path), "/proc/%d/comm", (int) t->tid);
        r = read_full_file(path, PROC_FILE_MAX, &name, NULL);
        if (r < 0)
                return IN_ERRNO(r, -ENOENT, -ESRCH) ? -ESRCH : r;

        /* Not before this is it sure that all of it was about the thread behind the descriptor. */
        if (has_ended(t->fd))
                return -ESRCH;

        t->uid = st.st_uid;
        name[strcspn(name, "\n")] = 0;
        for (char *c = name; !utf8_is_valid_n(name, strlen(name)) && *c; c++)
                if ((unsigned char) *c >= 0x80) /* names are bytes, but not on our buses */
                        *c = '?';
        (void) snprintf(t->name, sizeof(t->name), "%s", name);
        return 0;
}

static int one_thread(int fd, pid_t tid, thread_func_t func, void *userdata) {
        Thread t = {
                .fd = fd,
                .tid = tid,
                .uid = (uid_t) -1,
        };
        int r;

        if (tid > 0) {
                r = describe(&t);
                if (r < 0)
                        return r;
        }

        return func(&t, userdata);
}

/* The threads that are not in seen yet; returns how many that were. */
static int one_pass(const ThreadTarget *t, GHashTable *seen, thread_func_t func, void *userdata) {
        _cleanup_closedir_ DIR *d = NULL;
        struct dirent *de;
        char path[64];
        int r, n = 0;

        (void) snprintf(path, sizeof(path), "/proc/%d/task", (int) t->pid);
        d = opendir(path);
        if (!d)
                return errno == ENOENT ? -ESRCH : -errno;

        while ((de = readdir(d))) {
                _cleanup_close_ int fd = -EBADF;
                uint64_t tid;

                if (safe_atou64(de->d_name, &tid) < 0 || !g_hash_table_add(seen, GINT_TO_POINTER((int) tid)))
                        continue;

                fd = open_pidfd((pid_t) tid, PIDFD_THREAD);
                /* The number may be another thread's by now, unless the process is still there. */
                if (has_ended(t->fd))
                        return -ESRCH;

                r = fd < 0 ? fd : one_thread(fd, (pid_t) tid, func, userdata);
                if (r == -ESRCH) /* threads come and go */
                        continue;
                if (r < 0)
                        return r;
                n++;
        }

        return n;
}

int thread_target_foreach(const ThreadTarget *t, thread_func_t func, void *userdata) {
        _cleanup_hash_table_ GHashTable *seen = NULL;
        int r = 1;

        if (!t->process)
                return one_thread(t->fd, t->pid, func, userdata);

        seen = g_hash_table_new(NULL, NULL);
        for (unsigned i = 0; r > 0 && i < PASSES_MAX; i++)
                r = one_pass(t, seen, func, userdata);

        return r < 0 ? r : 0;
}
