/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

struct Command {
        sd_event *event;
        char **argv;
        sigset_t old_mask;
        sd_event_source *child;
        pid_t pid;    /* 0: not started */
        int status;   /* of the command, if it ended by itself */
        int signal;   /* that ended it, or us before it was started */
};

/* SIGCHLD is blocked besides, for the event loop. */
static const int forwarded[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };

static int on_signal(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata) {
        Command *c = ASSERT_PTR(userdata);

        if (c->pid == 0) {
                c->signal = (int) si->ssi_signo;
                return sd_event_exit(c->event, 0);
        }

        /* The terminal sends its signals to all processes that belong together: the command has got it. */
        if (si->ssi_code != SI_KERNEL)
                (void) sd_event_source_send_child_signal(c->child, (int) si->ssi_signo, NULL, 0);
        return 0;
}

static int on_child(sd_event_source *s, const siginfo_t *si, void *userdata) {
        Command *c = ASSERT_PTR(userdata);

        if (si->si_code == CLD_EXITED)
                c->status = si->si_status;
        else
                c->signal = si->si_status;

        return sd_event_exit(c->event, 0);
}

Command *command_free(Command *c) {
        if (!c)
                return NULL;

        sd_event_source_unref(c->child);
        sd_event_unref(c->event);
        (void) sigprocmask(SIG_SETMASK, &c->old_mask, NULL);
        return mfree(c);
}

int command_new(sd_event *event, char **argv, Command **ret) {
        _cleanup_(command_freep) Command *c = g_new0(Command, 1);
        sigset_t mask;
        int r;

        c->event = sd_event_ref(event);
        c->argv = argv;

        assert(sigemptyset(&mask) == 0 && sigaddset(&mask, SIGCHLD) == 0);
        for (size_t i = 0; i < ELEMENTSOF(forwarded); i++)
                assert(sigaddset(&mask, forwarded[i]) == 0);
        assert(sigprocmask(SIG_BLOCK, &mask, &c->old_mask) == 0);

        for (size_t i = 0; i < ELEMENTSOF(forwarded); i++) {
                r = sd_event_add_signal(event, NULL, forwarded[i], on_signal, c);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(c);
        return 0;
}

int command_start(Command *c) {
        posix_spawnattr_t attr;
        int r;

        r = posix_spawnattr_init(&attr);
        if (r != 0)
                return -r;

        (void) posix_spawnattr_setsigmask(&attr, &c->old_mask);
        (void) posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
        r = posix_spawnp(&c->pid, c->argv[0], NULL, &attr, c->argv, environ);
        (void) posix_spawnattr_destroy(&attr);
        if (r != 0) {
                c->pid = 0;
                return -r;
        }

        return sd_event_add_child(c->event, &c->child, c->pid, WEXITED, on_child, c);
}

bool command_is_started(const Command *c) {
        return c->pid > 0;
}

int command_finish(Command *c) {
        sigset_t mask;

        if (c->signal == 0)
                return c->status;

        /* Whoever waits for us sees what he would see of the command; one core dump is enough. */
        (void) setrlimit(RLIMIT_CORE, &(const struct rlimit) {});
        (void) signal(c->signal, SIG_DFL);
        assert(sigemptyset(&mask) == 0 && sigaddset(&mask, c->signal) == 0);
        (void) raise(c->signal);
        (void) sigprocmask(SIG_UNBLOCK, &mask, NULL);
        return 128 + c->signal;
}
