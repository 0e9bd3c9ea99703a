/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "harness.h"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ENTER "\x1b[?1049h"
#define LEAVE "\x1b[?1049l"

/* ---- for programs */

static void test_plain(void **state) {
        _cleanup_(outcome_done) Outcome once = {}, twice = {}, pattern = {};

        play("normal");
        run(&once, "top");
        assert_int_equal(once.status, EXIT_SUCCESS);
        assert_string_equal(once.err, "");
        assert_contains(once.out, "UNIT ");
        assert_contains(once.out, "batch.slice ");
        assert_contains(once.out, " 94.7%");
        assert_lacks(once.out, "\x1b");

        run(&twice, "top", "--batch", "--iterations=2", "--delay=100ms", "--no-legend", "batch.slice");
        assert_int_equal(twice.status, EXIT_SUCCESS);
        assert_contains(twice.out, "\n\nbatch.slice lfu attached ");
        assert_lacks(twice.out, "UNIT");

        run(&pattern, "top", "--sort=ratio", "o*");
        assert_contains(pattern.out, "odd.slice");
        assert_lacks(pattern.out, "batch.slice");
}

static void test_mistakes(void **state) {
        static const struct {
                const char *option, *message;
        } cases[] = {
                { "--sort=colour",
                  "Option --sort= takes unit, policy, cached, hits, misses, ratio or evictions" },
                { "--delay=1ms",     "Option --delay= takes a time from 100ms to 1h" },
                { "--delay=soon",    "Option --delay= takes a time such as 30" },
                { "--iterations=-1", "Option --iterations= takes a number, not \"-1\"." },
                { "--batch=3",       "Option --batch takes no value here." },
                { "--json=short",    "Option --json means nothing for \"top\"" },
        };

        play("normal");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(outcome_done) Outcome o = {};

                run(&o, "top", cases[i].option);
                assert_int_equal(o.status, EXIT_USAGE);
                assert_string_equal(o.out, "");
                assert_contains(o.err, cases[i].message);
                assert_one_line(o.err);
        }
}

/* ---- for people */

typedef struct Screen {
        pid_t pid;
        int fd;
        struct termios before;
        char text[65536]; /* all that was shown */
        size_t n, at; /* what was expected last ends there */
} Screen;

static void screen_start_every(Screen *s, const char *delay) {
        struct winsize size = { .ws_row = 5, .ws_col = 80 };
        int fds[2];

        /* as terminals are in the beginning */
        *s = (Screen) {};
        assert_int_equal(openpty(fds, fds + 1, NULL, NULL, NULL), 0);
        assert_int_equal(tcgetattr(fds[1], &s->before), 0);
        (void) close(fds[0]);
        (void) close(fds[1]);

        s->pid = forkpty(&s->fd, NULL, &s->before, &size);
        assert_true(s->pid >= 0);
        if (s->pid == 0) {
                (void) setenv("TERM", "xterm", true);
                (void) execl(cachectl_path, cachectl_path, "top", delay, NULL);
                _exit(127);
        }
}

/* New figures come when a key asks for them. */
static void screen_start(Screen *s) {
        screen_start_every(s, "--delay=1h");
}

/* Reads until the text is there, behind what was expected before. */
static void screen_expect(Screen *s, const char *expected) {
        char *found;

        while (!(found = strstr(s->text + s->at, expected))) {
                struct pollfd p = { .fd = s->fd, .events = POLLIN };
                ssize_t n;

                if (poll(&p, 1, 30000) <= 0)
                        fail_msg("no \"%s\" within 30 s", expected);
                n = read(s->fd, s->text + s->n, sizeof(s->text) - s->n - 1);
                if (n <= 0)
                        fail_msg("no \"%s\" in the end", expected);
                s->n += (size_t) n;
        }

        s->at = (size_t) (found - s->text) + strlen(expected);
}

static void press(Screen *s, const char *key) {
        assert_int_equal(write(s->fd, key, strlen(key)), (ssize_t) strlen(key));
}

/* It ends like that, and the terminal is as it was. */
static void screen_stop(Screen *s, int expected_status) {
        struct termios after;
        int status;

        screen_expect(s, LEAVE);
        assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
        if (WIFSIGNALED(status))
                status = -WTERMSIG(status);
        else
                status = WEXITSTATUS(status);
        assert_int_equal(status, expected_status);

        assert_int_equal(tcgetattr(s->fd, &after), 0);
        assert_int_equal(after.c_lflag, s->before.c_lflag);
        (void) close(s->fd);
}

static void test_keys(void **state) {
        Screen s;

        play("normal");
        screen_start(&s);
        screen_expect(&s, ENTER);
        screen_expect(&s, "6 units, by unit");
        press(&s, "m");
        screen_expect(&s, "by misses");
        press(&s, "r");
        screen_expect(&s, "by ratio");
        press(&s, "-");
        screen_expect(&s, "each 3599.0 s");
        press(&s, "z"); /* nothing */
        press(&s, " ");
        screen_expect(&s, "by ratio");
        /* no more lines than there are rows: two of the legend, one of the header, two units */
        assert_lacks(s.text, "system-foo");
        press(&s, "q");
        screen_stop(&s, EXIT_SUCCESS);
}

/* Without a key there are new figures when it is time, and so the end of the daemon is noticed. */
static void test_time(void **state) {
        Screen s;

        play("normal");
        screen_start_every(&s, "--delay=100ms");
        screen_expect(&s, "6 units");
        screen_expect(&s, "6 units");
        stop_manager();
        screen_expect(&s, LEAVE);
        screen_expect(&s, "cachebpfd");
        assert_int_equal(waitpid(s.pid, &(int) { 0 }, 0), s.pid);
        (void) close(s.fd);
}

static void test_resize(void **state) {
        struct winsize size = { .ws_row = 24, .ws_col = 120 };
        Screen s;

        play("normal");
        screen_start(&s);
        screen_expect(&s, "6 units");
        assert_int_equal(ioctl(s.fd, TIOCSWINSZ, &size), 0);
        screen_expect(&s, "web.slice");
        press(&s, "q");
        screen_stop(&s, EXIT_SUCCESS);
}

/* Signals, and the end of the daemon: its message is not lost with the screen. */
static void test_ends(void **state) {
        static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
        Screen s;

        for (size_t i = 0; i < ELEMENTSOF(signals); i++) {
                play("normal");
                screen_start(&s);
                screen_expect(&s, "6 units");
                assert_int_equal(kill(s.pid, signals[i]), 0);
                screen_stop(&s, -signals[i]);
        }

        screen_start(&s);
        screen_expect(&s, "6 units");
        stop_manager();
        press(&s, " ");
        screen_expect(&s, LEAVE);
        screen_expect(&s, "cachebpfd");
        assert_int_equal(waitpid(s.pid, &(int) { 0 }, 0), s.pid);
        (void) close(s.fd);
}

static void test_stopped(void **state) {
        int status;
        Screen s;

        play("normal");
        screen_start(&s);
        screen_expect(&s, "6 units");
        assert_int_equal(kill(s.pid, SIGTSTP), 0);
        screen_expect(&s, LEAVE);
        assert_int_equal(waitpid(s.pid, &status, WUNTRACED), s.pid);
        assert_true(WIFSTOPPED(status));
        assert_int_equal(kill(s.pid, SIGCONT), 0);
        screen_expect(&s, ENTER);
        screen_expect(&s, "6 units");
        press(&s, "q");
        screen_stop(&s, EXIT_SUCCESS);
}

/* The output is a terminal, but there are no keys. */
static void test_no_keyboard(void **state) {
        _cleanup_(outcome_done) Outcome o = {};

        play("normal");
        run_terminal(&o, "top");
        assert_int_equal(o.status, EXIT_FAILURE);
        assert_contains(o.err, "Standard input is no terminal");
        assert_lacks(o.out, ENTER);
}

int main(int argc, char *argv[]) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plain),
                cmocka_unit_test(test_mistakes),
                cmocka_unit_test(test_keys),
                cmocka_unit_test(test_time),
                cmocka_unit_test(test_resize),
                cmocka_unit_test(test_ends),
                cmocka_unit_test(test_stopped),
                cmocka_unit_test(test_no_keyboard),
        };

        harness_init(argc, argv);
        return cmocka_run_group_tests_name("cachectl-top", tests, harness_setup, harness_teardown);
}
