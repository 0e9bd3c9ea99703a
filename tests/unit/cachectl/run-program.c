/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run-program.h"
#include "shared/cleanup.h"

void outcome_done(Outcome *o) {
        free(o->out);
        free(o->err);
        *o = (Outcome) {};
}

/* Everything that can be read from fd. The end of a terminal is EIO. */
static char *read_all(int fd) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0, allocated = 0;
        ssize_t n;

        for (;;) {
                if (allocated - size < 4096) {
                        allocated = allocated * 2 + 4097;
                        text = realloc(text, allocated);
                        if (!text)
                                err(EXIT_FAILURE, "realloc");
                }

                n = read(fd, text + size, allocated - size - 1);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        break;
                size += (size_t) n;
        }

        text[size] = 0;
        return TAKE_PTR(text);
}

static void strip_carriage_returns(char *s) {
        char *t = s;

        for (; *s; s++)
                if (*s != '\r' || s[1] != '\n')
                        *t++ = *s;
        *t = 0;
}

static void child_exec(char *const argv[], int out_fd, int err_fd) {
        int null_fd = open("/dev/null", O_RDONLY);

        if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 ||
            (out_fd >= 0 && dup2(out_fd, STDOUT_FILENO) < 0) ||
            (err_fd >= 0 && dup2(err_fd, STDERR_FILENO) < 0))
                _exit(126);

        (void) execv(argv[0], argv);
        _exit(127);
}

void run_program(char *const argv[], RunFlags flags, Outcome *ret) {
        _cleanup_close_ int out_fd = -EBADF, err_fd = -EBADF, terminal_fd = -EBADF;
        int status;
        pid_t pid;

        err_fd = memfd_create("stderr", MFD_CLOEXEC);
        if (err_fd < 0)
                err(EXIT_FAILURE, "memfd_create");

        if (flags & RUN_TERMINAL) {
                struct winsize size = { .ws_row = 24, .ws_col = 80 };

                if (openpty(&terminal_fd, &out_fd, NULL, NULL, &size) < 0)
                        err(EXIT_FAILURE, "openpty");
        } else {
                out_fd = memfd_create("stdout", MFD_CLOEXEC);
                if (out_fd < 0)
                        err(EXIT_FAILURE, "memfd_create");
        }

        pid = fork();
        if (pid < 0)
                err(EXIT_FAILURE, "fork");
        if (pid == 0)
                child_exec(argv, out_fd, err_fd);

        *ret = (Outcome) {};

        if (flags & RUN_TERMINAL) {
                /* Read while it runs: a terminal holds little. */
                out_fd = safe_close(out_fd);
                ret->out = read_all(terminal_fd);
                strip_carriage_returns(ret->out);
        }

        if (waitpid(pid, &status, 0) != pid)
                err(EXIT_FAILURE, "waitpid");
        ret->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);

        if (!(flags & RUN_TERMINAL)) {
                (void) lseek(out_fd, 0, SEEK_SET);
                ret->out = read_all(out_fd);
        }

        (void) lseek(err_fd, 0, SEEK_SET);
        ret->err = read_all(err_fd);
}

pid_t start_program(char *const argv[]) {
        pid_t pid;

        pid = fork();
        if (pid < 0)
                err(EXIT_FAILURE, "fork");
        if (pid == 0)
                child_exec(argv, -EBADF, -EBADF);

        return pid;
}

void stop_program(pid_t pid) {
        (void) kill(pid, SIGTERM);
        if (waitpid(pid, NULL, 0) != pid)
                err(EXIT_FAILURE, "waitpid");
}
