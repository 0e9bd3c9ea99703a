/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include "pager.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/string-util.h"
#include "terminal.h"

static pid_t pager_pid = 0;

static const char *pager_from_environment(void) {
        return getenv("SYSTEMD_PAGER") ?: getenv("PAGER");
}

/* A pager can usually start other programs. Where that would hand out privileges of another user (sudo,
 * su) it is told not to. $SYSTEMD_PAGERSECURE overrules the guess. */
static bool pager_is_secure(bool *ret_asked_for) {
        const char *e = getenv("SYSTEMD_PAGERSECURE");
        uid_t owner;

        *ret_asked_for = e && *e;
        if (*ret_asked_for)
                return parse_boolean(e) != 0;

        return sd_pid_get_owner_uid(0, &owner) < 0 || owner != geteuid();
}

static void pager_set_environment(bool secure) {
        const char *options = getenv("SYSTEMD_LESS"), *charset = getenv("SYSTEMD_LESSCHARSET");

        /* F: leave at once if it fits on a screen; R: colours; S: cut long lines; X: keep the text on the
         * terminal after leaving; M: tell where we are; K: leave on ^C. */
        (void) setenv("LESS", options ?: "FRSXMK", /* overwrite= */ true);
        if (charset)
                (void) setenv("LESSCHARSET", charset, /* overwrite= */ true);
        else if (terminal_utf8())
                (void) setenv("LESSCHARSET", "utf-8", /* overwrite= */ true);
        (void) setenv("LESSSECURE", secure ? "1" : "0", /* overwrite= */ true);
}

/* In the child: replaces it by the first pager that can be started. The last resort copies the output as
 * it is. */
_Noreturn static void pager_exec(const char *wanted) {
        bool asked_for, secure;
        char buffer[4096];
        ssize_t n;

        secure = pager_is_secure(&asked_for);
        pager_set_environment(secure);

        /* Only less knows a secure mode. Any other program needs the administrator's word that it may be
         * trusted. */
        if (wanted && (!secure || asked_for))
                (void) execl("/bin/sh", "sh", "-c", wanted, NULL);

        (void) execlp("less", "less", NULL);
        if (!secure)
                (void) execlp("more", "more", NULL);

        while ((n = read(STDIN_FILENO, buffer, sizeof(buffer))) > 0)
                if (write_all(STDOUT_FILENO, buffer, (size_t) n) < 0)
                        _exit(EXIT_FAILURE);

        _exit(EXIT_SUCCESS);
}

void pager_open(void) {
        const char *wanted = pager_from_environment();
        int fds[2];
        pid_t pid;

        if (pager_pid > 0 || !terminal_interactive())
                return;
        if (wanted && (*wanted == 0 || streq(wanted, "cat")))
                return;

        if (pipe2(fds, O_CLOEXEC) < 0) {
                log_warning_errno(errno, "Cannot make a pipe to a pager, output is not paged: %m");
                return;
        }

        (void) fflush(stdout);

        pid = fork();
        if (pid < 0) {
                log_warning_errno(errno, "Cannot start a pager, output is not paged: %m");
                (void) close(fds[0]);
                (void) close(fds[1]);
                return;
        }
        if (pid == 0) {
                /* Nothing is left to page once the parent is gone. */
                (void) prctl(PR_SET_PDEATHSIG, SIGTERM);

                if (dup2(fds[0], STDIN_FILENO) < 0)
                        _exit(EXIT_FAILURE);
                pager_exec(wanted);
        }

        /* A reader who leaves early is no reason to die: the exit status still tells what was found out. */
        (void) signal(SIGPIPE, SIG_IGN);

        if (dup2(fds[1], STDOUT_FILENO) < 0)
                log_warning_errno(errno, "Cannot write to the pager, output is not paged: %m");
        (void) close(fds[0]);
        (void) close(fds[1]);
        pager_pid = pid;
}

int pager_close(void) {
        int r = 0;

        errno = 0;
        if (fflush(stdout) == EOF || ferror(stdout))
                r = errno > 0 ? -errno : -EIO;

        if (pager_pid > 0) {
                /* The end of the pipe is the end of the text. Take the descriptor only: stdio may not use
                 * it again. */
                (void) close(STDOUT_FILENO);

                while (waitpid(pager_pid, NULL, 0) < 0 && errno == EINTR)
                        ;
                pager_pid = 0;
        }

        return r == -EPIPE ? 0 : r;
}
