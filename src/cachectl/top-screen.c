/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "top-screen.h"

/* The alternate screen, without cursor, and lines that are cut off; and all that back again. */
#define ENTER "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J"
#define LEAVE "\x1b[?7h\x1b[?25h\x1b[?1049l"

static struct {
        volatile sig_atomic_t active;
        volatile sig_atomic_t redraw;
        struct termios saved;
        int stderr_fd;   /* the real one */
        int messages_fd; /* what stands in for it */
} screen = {
        .stderr_fd = -EBADF,
        .messages_fd = -EBADF,
};

/* These two are called in signal handlers. */
static void enter(void) {
        struct termios raw = screen.saved;

        /* keys at once and unseen; Ctrl-C and Ctrl-Z go on being signals */
        raw.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        (void) tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
        (void) !write(STDOUT_FILENO, ENTER, STRLEN(ENTER));
        screen.active = true;
}

static void leave(void) {
        if (!screen.active)
                return;

        screen.active = false;
        (void) !write(STDOUT_FILENO, LEAVE, STRLEN(LEAVE));
        (void) tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.saved);
}

/* ---- signals */

/* Dies of it all the same: the action is the default one again. */
static void on_fatal(int signal) {
        leave();
        (void) raise(signal);
}

static void on_stop(int signal) {
        int saved = errno;

        leave();
        (void) kill(getpid(), SIGSTOP);
        /* SIGCONT */
        enter();
        screen.redraw = true;
        errno = saved;
}

static void on_resize(int signal) {
        screen.redraw = true;
}

/* What only screen_wait_key() lets through: it would be missed between the look at "redraw" and the wait. */
static sigset_t waiting;

static int catch_signals(void) {
        sigset_t blocked;
        static const int fatal[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGABRT, SIGSEGV, SIGBUS,
                                     SIGALRM };

        for (size_t i = 0; i < ELEMENTSOF(fatal); i++)
                if (sigaction(fatal[i], &(struct sigaction) {
                                .sa_handler = on_fatal,
                                .sa_flags = (int) SA_RESETHAND | SA_NODEFER,
                    }, NULL) < 0)
                        return -errno;

        if (sigaction(SIGTSTP, &(struct sigaction) { .sa_handler = on_stop }, NULL) < 0 ||
            sigaction(SIGWINCH, &(struct sigaction) { .sa_handler = on_resize }, NULL) < 0)
                return -errno;

        (void) sigemptyset(&blocked);
        (void) sigaddset(&blocked, SIGWINCH);
        (void) sigaddset(&blocked, SIGTSTP);
        return RET_NERRNO(sigprocmask(SIG_BLOCK, &blocked, &waiting));
}

/* ---- messages */

/* What is written to standard error would spoil the picture, and be gone with it. */
static int hold_messages(void) {
        screen.messages_fd = memfd_create("messages", MFD_CLOEXEC);
        if (screen.messages_fd < 0)
                return -errno;

        screen.stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        if (screen.stderr_fd < 0)
                return -errno;

        return RET_NERRNO(dup2(screen.messages_fd, STDERR_FILENO));
}

static void show_messages(void) {
        char buffer[4096];
        ssize_t n;

        if (screen.stderr_fd < 0)
                return;

        (void) dup2(screen.stderr_fd, STDERR_FILENO);
        screen.stderr_fd = safe_close(screen.stderr_fd);

        (void) lseek(screen.messages_fd, 0, SEEK_SET);
        while ((n = read(screen.messages_fd, buffer, sizeof(buffer))) > 0)
                (void) !write(STDERR_FILENO, buffer, (size_t) n);
        screen.messages_fd = safe_close(screen.messages_fd);
}

int screen_begin(void) {
        int r;

        if (tcgetattr(STDIN_FILENO, &screen.saved) < 0)
                return log_error_errno(errno,
                                       "Standard input is no terminal, so no key can be pressed there; "
                                       "try --batch: %m");

        r = catch_signals();
        if (r >= 0)
                r = hold_messages();
        if (r < 0)
                return log_error_errno(r, "Cannot take the terminal: %m");

        if (atexit(screen_end) != 0)
                return log_oom();

        enter();
        return 0;
}

void screen_end(void) {
        leave();
        show_messages();
}

/* ---- pictures and keys */

void screen_size(size_t *ret_rows, size_t *ret_columns) {
        struct winsize size = {};

        (void) ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
        *ret_rows = size.ws_row > 0 ? size.ws_row : 24;
        *ret_columns = size.ws_col > 0 ? size.ws_col : 80;
}

int screen_draw(const char *text) {
        size_t rows, columns;

        screen_size(&rows, &columns);

        /* Line by line over what is there, which does not flicker as clearing it first would. */
        fputs("\x1b[H", stdout);
        for (size_t i = 0; *text && i < rows; i++) {
                size_t n = strcspn(text, "\n");

                printf("%s%.*s\x1b[0m\x1b[K", i > 0 ? "\r\n" : "", (int) n, text);
                text += n + (text[n] == '\n');
        }
        fputs("\x1b[J", stdout);

        return fflush(stdout) != 0 ? -errno : 0;
}

int screen_wait_key(uint64_t until_usec) {
        struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

        for (;;) {
                uint64_t now = (uint64_t) g_get_monotonic_time();
                struct timespec left = {};
                char key;
                int r;

                if (screen.redraw) {
                        screen.redraw = false;
                        return SCREEN_KEY_REDRAW;
                }
                if (now < until_usec)
                        left = (struct timespec) {
                                .tv_sec = (time_t) ((until_usec - now) / USEC_PER_SEC),
                                .tv_nsec = (long) ((until_usec - now) % USEC_PER_SEC * 1000),
                        };

                r = ppoll(&p, 1, &left, &waiting);
                if (r < 0 && errno == EINTR)
                        continue;
                if (r == 0)
                        return SCREEN_KEY_NONE;

                if (r < 0 || read(STDIN_FILENO, &key, 1) != 1)
                        return SCREEN_KEY_END;
                return (unsigned char) key;
        }
}
