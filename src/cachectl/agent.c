/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "remote.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"

#define AGENT "/usr/bin/pkttyagent"

/* It has to be known to polkit before polkit is asked, but it is no reason to wait forever. */
#define START_TIMEOUT_MSEC (10 * 1000)

static pid_t agent_pid = 0;

/* In the child: an agent for its parent, unless the session has a better one. It closes the descriptor when
 * polkit knows it. */
_Noreturn static void agent_exec(int ready_fd, pid_t parent) {
        char fd[DECIMAL_STR_MAX(int)];
        sigset_t none;

        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        (void) prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent || fcntl(ready_fd, F_SETFD, 0) < 0)
                _exit(EXIT_FAILURE);

        (void) snprintf(fd, sizeof(fd), "%i", ready_fd);
        (void) execl(AGENT, AGENT, "--notify-fd", fd, "--fallback", NULL);
        _exit(EXIT_FAILURE);
}

void agent_open(void) {
        _cleanup_close_ int read_fd = -EBADF, write_fd = -EBADF;
        pid_t pid, parent = getpid();
        int fds[2];

        /* Over there our agent could ask for nobody. */
        if (agent_pid > 0 || geteuid() == 0 || remote_wanted() || !isatty(STDIN_FILENO))
                return;

        if (pipe2(fds, O_CLOEXEC) < 0) {
                log_warning_errno(errno, "Cannot make a pipe to an agent, no password is asked for: %m");
                return;
        }
        read_fd = fds[0];
        write_fd = fds[1];

        pid = fork();
        if (pid < 0) {
                log_warning_errno(errno, "Cannot start an agent, no password is asked for: %m");
                return;
        }
        if (pid == 0)
                agent_exec(write_fd, parent);

        agent_pid = pid;
        write_fd = safe_close(write_fd);
        while (poll(&(struct pollfd) { .fd = read_fd }, 1, START_TIMEOUT_MSEC) < 0 && errno == EINTR)
                ;
}

void agent_close(void) {
        if (agent_pid <= 0)
                return;

        (void) kill(agent_pid, SIGTERM);
        (void) kill(agent_pid, SIGCONT);
        while (waitpid(agent_pid, NULL, 0) < 0 && errno == EINTR)
                ;
        agent_pid = 0;
}
