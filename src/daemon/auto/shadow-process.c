/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "shadow-process.h"
#include "shared/cleanup.h"
#include "shared/log.h"

/* Before it is started again: twice as long each time, until it answers. */
#define PAUSE_MIN_USEC USEC_PER_SEC
#define PAUSE_MAX_USEC (300 * USEC_PER_SEC)

/* A process until its end, which may come after we have lost interest. */
typedef struct Child {
        pid_t pid;
        int pidfd;
        ShadowProcess *owner; /* NULL: nobody is interested */
} Child;

struct ShadowProcess {
        sd_event *event;
        char *program, *unit;
        char **args;            /* of the program; those for capacity and scale change */
        shadow_process_func_t func;
        void *userdata;

        Child *child;           /* NULL: it does not run */
        int fd;                 /* the socket */
        sd_event_source *answers;
        sd_event_source *again; /* it is started when the pause is over */
        uint64_t pause_usec;
        bool complete;          /* since shadow_process_take_complete() */
        bool failing;           /* and that was said */
};

/* As in args. */
enum { ARG_PROGRAM, ARG_POLICY, ARG_CAPACITY, ARG_SCALE, ARG_OPTIONS };

/* ---- its end */

static void child_done(void *userdata) {
        Child *c = userdata;

        safe_close(c->pidfd);
        free(c);
}

static void let_go(ShadowProcess *p) {
        if (p->child) {
                (void) kill(p->child->pid, SIGKILL); /* nobody has waited for it */
                p->child->owner = NULL;
                p->child = NULL;
        }
        p->answers = sd_event_source_disable_unref(p->answers);
        p->fd = safe_close(p->fd);
        p->complete = false;
}

static void start_later(ShadowProcess *p) {
        (void) sd_event_source_set_time_relative(p->again, p->pause_usec);
        (void) sd_event_source_set_enabled(p->again, SD_EVENT_ONESHOT);
        p->pause_usec = MIN(2 * p->pause_usec, PAUSE_MAX_USEC);
}

void shadow_process_fail(ShadowProcess *p, const char *why) {
        const char *policy = p->args[ARG_POLICY];

        if (!p->failing)
                log_full_fields(LOG_WARNING, 0, LOG_FIELDS(.unit = p->unit, .policy = policy),
                                   "%s: The shadow of the cache policy '%s' %s, starting it again", p->unit,
                                   policy, why);
        p->failing = true;
        let_go(p);
        start_later(p);
}

static int on_end(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Child *c = userdata;
        ShadowProcess *p = c->owner;
        siginfo_t info = {};

        (void) waitid(P_PID, (id_t) c->pid, &info, WEXITED | WNOHANG);
        if (p) {
                g_autofree char *why = g_strdup_printf("ended (%s %i)",
                                                       info.si_code == CLD_EXITED ? "status" : "signal",
                                                       info.si_status);

                p->child = NULL;
                shadow_process_fail(p, why);
                (void) p->func(p, NULL, p->userdata);
        }
        /* Takes the last reference: child_done() follows. */
        return sd_event_source_set_floating(source, false);
}

/* ---- its answers */

static int on_answer(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        ShadowProcess *p = userdata;
        struct {
                ShadowAnswer answer;
                char more;
        } m;
        ssize_t n = recv(fd, &m, sizeof(m), MSG_DONTWAIT);

        if (n < 0 && IN_ERRNO(errno, EAGAIN, EINTR))
                return 0;
        if (n <= 0) /* it ends */
                return sd_event_source_set_enabled(source, SD_EVENT_OFF);
        if (n != sizeof(m.answer) || m.answer.misses > m.answer.requests ||
            !p->func(p, &m.answer, p->userdata)) {
                shadow_process_fail(p, "talks nonsense");
                (void) p->func(p, NULL, p->userdata);
                return 0;
        }

        p->pause_usec = PAUSE_MIN_USEC;
        p->failing = false;
        return 0;
}

/* ---- its start */

static int spawn(ShadowProcess *p, int fd, pid_t *ret) {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attr;
        sigset_t none, all;
        int r;

        (void) sigemptyset(&none);
        (void) sigfillset(&all);
        if (posix_spawn_file_actions_init(&actions) != 0)
                return -ENOMEM;
        if (posix_spawnattr_init(&attr) != 0) {
                (void) posix_spawn_file_actions_destroy(&actions);
                return -ENOMEM;
        }

        r = posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        if (r == 0)
                r = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
        if (r == 0)
                r = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        if (r == 0)
                r = posix_spawnattr_setsigmask(&attr, &none);
        if (r == 0)
                r = posix_spawnattr_setsigdefault(&attr, &all);
        if (r == 0)
                r = posix_spawn(ret, p->program, &actions, &attr, p->args, (char *[]) { NULL });

        (void) posix_spawnattr_destroy(&attr);
        (void) posix_spawn_file_actions_destroy(&actions);
        return -r;
}

/* Watches for its end, whatever becomes of us. */
static int watch(ShadowProcess *p, pid_t pid) {
        Child *c = g_new(Child, 1);
        sd_event_source *source;
        int r;

        *c = (Child) { .pid = pid, .pidfd = (int) syscall(SYS_pidfd_open, pid, 0), .owner = p };
        r = c->pidfd < 0 ? -errno : sd_event_add_io(p->event, &source, c->pidfd, EPOLLIN, on_end, c);
        if (r < 0) {
                (void) kill(pid, SIGKILL);
                (void) waitid(P_PID, (id_t) pid, &(siginfo_t) {}, WEXITED);
                child_done(c);
                return r;
        }

        (void) sd_event_source_set_destroy_callback(source, child_done);
        (void) sd_event_source_set_floating(source, true);
        sd_event_source_unref(source);
        p->child = c;
        return 0;
}

static int start(ShadowProcess *p) {
        int fds[2], r;
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
                return -errno;
        p->fd = fds[0];
        r = spawn(p, fds[1], &pid);
        safe_close(fds[1]);
        if (r >= 0)
                r = watch(p, pid);
        if (r >= 0)
                r = sd_event_add_io(p->event, &p->answers, p->fd, EPOLLIN, on_answer, p);
        return r;
}

static void try_start(ShadowProcess *p) {
        int r = start(p);

        if (r < 0) {
                g_autofree char *why = g_strdup_printf("cannot be started (%s)", strerror(-r));

                shadow_process_fail(p, why);
        }
}

static int on_again(sd_event_source *source, uint64_t usec, void *userdata) {
        try_start(userdata);
        return 0;
}

static void set_number(ShadowProcess *p, size_t arg, uint32_t n) {
        free(p->args[arg]);
        p->args[arg] = g_strdup_printf("%" PRIu32, n);
}

void shadow_process_start(ShadowProcess *p, uint32_t capacity, uint32_t scale) {
        set_number(p, ARG_CAPACITY, capacity);
        set_number(p, ARG_SCALE, scale);
        let_go(p);
        (void) sd_event_source_set_enabled(p->again, SD_EVENT_OFF);
        try_start(p);
}

/* ---- what it is told */

int shadow_process_send(ShadowProcess *p, const ShadowMessage *m) {
        size_t size = offsetof(ShadowMessage, events);

        if (m->kind == SHADOW_EVENTS)
                size += m->n * sizeof(m->events[0]);
        if (p->fd < 0)
                return -ENOTCONN;
        if (send(p->fd, m, size, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) /* all or nothing */
                return 0;
        p->complete = false;
        return -errno;
}

bool shadow_process_take_complete(ShadowProcess *p) {
        bool complete = p->complete;

        p->complete = p->child;
        return complete;
}

/* ---- its life here */

ShadowProcess *shadow_process_new(sd_event *event, const char *program, const char *unit,
                                  const char *policy, const char *const *options,
                                  shadow_process_func_t func, void *userdata) {
        size_t n_options = options ? g_strv_length((char **) options) : 0;
        ShadowProcess *p = g_new(ShadowProcess, 1);

        *p = (ShadowProcess) {
                .event = sd_event_ref(event),
                .program = g_strdup(program),
                .unit = g_strdup(unit),
                .args = g_new0(char *, ARG_OPTIONS + n_options + 1),
                .func = func,
                .userdata = userdata,
                .fd = -EBADF,
                .pause_usec = PAUSE_MIN_USEC,
        };
        p->args[ARG_PROGRAM] = g_path_get_basename(program);
        p->args[ARG_POLICY] = g_strdup(policy);
        set_number(p, ARG_CAPACITY, 1);
        set_number(p, ARG_SCALE, 1);
        for (size_t i = 0; i < n_options; i++)
                p->args[ARG_OPTIONS + i] = g_strdup(options[i]);

        if (sd_event_add_time_relative(event, &p->again, CLOCK_MONOTONIC, PAUSE_MAX_USEC, 0, on_again,
                                       p) < 0)
                return shadow_process_free(p);
        (void) sd_event_source_set_enabled(p->again, SD_EVENT_OFF);
        return p;
}

ShadowProcess *shadow_process_free(ShadowProcess *p) {
        if (!p)
                return NULL;

        let_go(p);
        sd_event_source_disable_unref(p->again);
        sd_event_unref(p->event);
        g_strfreev(p->args);
        free(p->program);
        free(p->unit);
        return mfree(p);
}
