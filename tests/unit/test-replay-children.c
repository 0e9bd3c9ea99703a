/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The processes that read ahead, save and forget: where they must not be, and how they end. */

#include "replay-fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Another file of the control group. */
static void write_cgroup(const char *name, const char *file, const char *text) {
        g_autofree char *path = g_build_filename("system.slice", name, file, NULL);

        free(test_file(dir, path, text));
}

/* The process that works for the unit; 0: none. */
static pid_t find_child(void) {
        g_autofree char *path = g_strdup_printf("/proc/self/task/%i/children", (int) getpid()), *text = NULL;

        assert_true(g_file_get_contents(path, &text, NULL, NULL));
        return (pid_t) strtoul(text, NULL, 10);
}

/* Whether a signal is in that set of its, such as "SigBlk". */
static bool has_signal(pid_t pid, const char *set, int number) {
        g_autofree char *path = g_strdup_printf("/proc/%i/status", (int) pid), *text = NULL,
                        *key = g_strdup_printf("\n%s:\t", set);
        const char *s;

        assert_true(g_file_get_contents(path, &text, NULL, NULL));
        s = strstr(text, key);
        assert_non_null(s);
        return strtoull(s + strlen(key), NULL, 16) >> (number - 1) & 1;
}

/* ---- tests */

/* Who cannot be read from hangs; the unit stops, and nobody waits. */
static void test_hang(void **state) {
        g_autofree char *procs = procs_of("two");
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        stop_unit(u);

        make_cgroup("two");
        assert_int_equal(unlink(procs), 0);
        assert_int_equal(mkfifo(procs, 0600), 0);
        enter_cgroup(u, "two");
        run();
        assert_true(replay_is_busy(replay));
        stop_unit(u);
        assert_false(replay_is_busy(replay));

        start_unit(u, "three");
        assert_true(has_joined("three"));
}

/* Who reads is a process like others of the daemon, but that any signal ends it: the kernel does not end it
 * before the unit's own for want of memory, and it leaves no core. */
static void test_expendable(void **state) {
        g_autofree char *procs = procs_of("two"), *own = NULL, *adj_path = NULL, *adj = NULL;
        static const int signals[] = { SIGQUIT, SIGWINCH, SIGTERM };
        Unit *u = make_unit(UNIT);
        sigset_t set, before;

        assert_int_equal(sigemptyset(&set), 0);
        assert_int_equal(sigaddset(&set, SIGUSR1), 0);
        assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
        assert_true(g_file_get_contents("/proc/self/oom_score_adj", &own, NULL, NULL));
        start_unit(u, "one");
        stop_unit(u);
        make_cgroup("two");
        assert_int_equal(unlink(procs), 0);
        assert_int_equal(mkfifo(procs, 0600), 0);
        for (size_t i = 0; i < ELEMENTSOF(signals); i++) {
                siginfo_t info = {};
                pid_t pid;

                enter_cgroup(u, "two");
                run();
                pid = find_child();
                assert_true(pid > 0);
                while (has_signal(pid, "SigBlk", SIGUSR1)) /* until it is ready for all */
                        assert_int_equal(sched_yield(), 0);
                assert_true(has_signal(pid, "SigCgt", signals[i]));
                g_free(adj_path);
                adj_path = g_strdup_printf("/proc/%i/oom_score_adj", (int) pid);
                g_free(adj);
                assert_true(g_file_get_contents(adj_path, &adj, NULL, NULL));
                assert_string_equal(adj, own);
                assert_int_equal(kill(pid, signals[i]), 0);
                assert_int_equal(waitid(P_PID, (id_t) pid, &info, WEXITED | WNOWAIT), 0);
                assert_int_equal(info.si_code, CLD_EXITED);
                stop_unit(u);
        }
        assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

/* Units that another process in their control group would harm. */
static void test_harm(void **state) {
        g_autofree char *path = g_build_filename(dir, "system.slice/delegated", NULL);
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        stop_unit(u);

        make_cgroup("io");
        write_cgroup("io", "io.max", "8:0 rbps=max wbps=9 riops=max wiops=max\n8:16 rbps=9 wbps=max\n");
        start_unit(u, "io");
        assert_false(has_joined("io"));
        stop_unit(u);

        make_cgroup("tasks");
        write_cgroup("tasks", "pids.max", "90\n");
        write_cgroup("tasks", "pids.current", "30\n");
        start_unit(u, "tasks");
        assert_false(has_joined("tasks"));
        stop_unit(u);

        make_cgroup("delegated");
        if (setxattr(path, "user.delegate", "1", 1, 0) >= 0) {
                start_unit(u, "delegated");
                assert_false(has_joined("delegated"));
                stop_unit(u);
        } else
                print_message("# no user attributes here: nothing is delegated\n");
        start_unit(u, "two");
        assert_true(has_joined("two"));
        assert_null(strstr(log_lines->str, "Cannot"));
}

/* The unit is dead but for who reads. */
static void test_alone(void **state) {
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        stop_unit(u);
        make_cgroup("two");
        write_cgroup("two", "cgroup.procs", "");
        g_string_truncate(log_lines, 0);
        enter_cgroup(u, "two");
        settle();
        assert_true(has_joined("two"));
        assert_int_equal(log_lines->len, 0);
}

static unsigned count_children(void) {
        g_autofree char *path = g_strdup_printf("/proc/self/task/%i/children", (int) getpid()), *text = NULL;
        g_auto(GStrv) words = NULL;

        assert_true(g_file_get_contents(path, &text, NULL, NULL));
        words = g_strsplit(g_strchomp(text), " ", -1);
        return g_strv_length(words);
}

/* Many services start at once: few are read ahead at a time, and all in turn. */
static void test_many(void **state) {
        Unit *units[16];

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                g_autofree char *name = g_strdup_printf("%zu.service", i);

                units[i] = make_unit(name);
                start_unit(units[i], name);
                stop_unit(units[i]);
        }
        played.begin_error = -EUSERS; /* they are not recorded once more */
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                g_autofree char *procs = procs_of(units[i]->name);

                assert_int_equal(unlink(procs), 0);
                assert_int_equal(mkfifo(procs, 0600), 0);
                enter_cgroup(units[i], units[i]->name);
        }
        run();
        assert_in_range(count_children(), 1, JOBS_URGENT_MAX);
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                units[i]->cgroup_id = 0;
                manager_mark_dirty(fixture->manager, units[i]);
        }
        settle();
        assert_int_equal(count_children(), 0);
}

/* The unit was recorded, and starts again; who reads for it hangs. Returns who that is. */
static pid_t start_reader(Unit *u) {
        g_autofree char *procs = procs_of("two");
        pid_t pid;

        start_unit(u, "one");
        stop_unit(u);
        make_cgroup("two");
        assert_int_equal(unlink(procs), 0);
        assert_int_equal(mkfifo(procs, 0600), 0);
        enter_cgroup(u, "two");
        run();
        pid = find_child();
        assert_true(pid > 0);
        return pid;
}

/* Its stop may take long: who reads is not waited for, and nobody begins then. */
static void test_stopping(void **state) {
        Unit *u = make_unit(UNIT);
        pid_t pid = start_reader(u);
        siginfo_t info = {};

        u->stopping = true;
        manager_mark_dirty(fixture->manager, u);
        run();
        assert_int_equal(waitid(P_PID, (id_t) pid, &info, WEXITED | WNOWAIT), 0);
        assert_int_equal(info.si_code, CLD_KILLED); /* not by its time */
        settle();

        start_unit(u, "three");
        assert_false(has_joined("three"));
        u->stopping = false;
        start_unit(u, "four");
        assert_true(has_joined("four"));
}

/* It started long ago: what it reads first it has read. */
static void test_late(void **state) {
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        stop_unit(u);
        make_cgroup("two");
        enter_cgroup(u, "two");
        u->started_at -= 31 * USEC_PER_SEC;
        settle();
        assert_false(has_joined("two"));
        assert_int_equal(played.n_begin, 2);
}

/* Who reads what is mounted waits from now on. Returns what that was, to be freed. */
static char *hang_saves(void) {
        char *line;

        assert_true(g_file_get_contents(mounts, &line, NULL, NULL));
        assert_int_equal(unlink(mounts), 0);
        assert_int_equal(mkfifo(mounts, 0600), 0);
        return line;
}

static void let_saves_go(const char *line) {
        int fd = open(mounts, O_WRONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(unlink(mounts), 0);
        free(test_file(dir, "mountinfo", line));
        assert_int_equal(write(fd, line, strlen(line)), strlen(line));
        assert_int_equal(close(fd), 0);
        settle();
}

/* Of those that wait to be saved the last one is: the first one hangs. */
static void test_restarts(void **state) {
        static const char *const cgroups[] = { "one", "two", "three", "four" };
        g_autofree char *line = NULL;
        Unit *u = make_unit(UNIT);
        const char *said;

        line = hang_saves();
        for (size_t i = 0; i < ELEMENTSOF(cgroups); i++) {
                make_cgroup(cgroups[i]);
                enter_cgroup(u, cgroups[i]);
                if (i == 0)
                        settle();
                else
                        run();
                replay_minute_over(replay, u);
        }
        assert_int_equal(played.n_end, ELEMENTSOF(cgroups));

        let_saves_go(line);
        said = strstr(log_lines->str, "Recorded");
        assert_non_null(said);
        said = strstr(said + 1, "Recorded");
        assert_non_null(said);
        assert_null(strstr(said + 1, "Recorded"));
}

/* A whole minute waits to be saved behind another save; then the unit starts again, and crashes. */
static void test_brief_behind(void **state) {
        g_autofree char *line = NULL;
        Unit *u = make_unit(UNIT);

        line = hang_saves();
        make_cgroup("one");
        enter_cgroup(u, "one");
        settle();
        played.pages = 0x1;
        replay_minute_over(replay, u); /* hangs */
        make_cgroup("two");
        enter_cgroup(u, "two");
        run();
        played.pages = 0x7;
        replay_minute_over(replay, u); /* waits: 3 pages */
        make_cgroup("three");
        enter_cgroup(u, "three");
        run();
        played.pages = 0x1;
        u->cgroup = mfree(u->cgroup); /* ends early: 1 page */
        u->cgroup_id = 0;
        u->active = false;
        manager_mark_dirty(fixture->manager, u);
        run();

        let_saves_go(line);
        assert_non_null(strstr(log_lines->str, "uses 3 pages"));
}

/* A slice whose memory is full of cache, as any with a limit is after a while. */
static void test_full_slice(void **state) {
        Unit *u = make_unit(UNIT);

        free(test_file(dir, "system.slice/memory.max", "1073741824\n"));
        free(test_file(dir, "system.slice/memory.high", "max\n"));
        free(test_file(dir, "system.slice/memory.current", "1073737728\n"));
        free(test_file(dir, "system.slice/memory.stat",
                       "anon 10000000\nfile 1063737728\ninactive_file 1000000000\nactive_file 63737728\n"));
        start_unit(u, "one");
        assert_true(played.pages_max > 1000);
}

/* ---- forgetting */

typedef struct Forgotten {
        unsigned n;
        int error;
        char *file;
} Forgotten;

static void on_forgotten(int error, const char *file, void *userdata) {
        Forgotten *f = userdata;

        f->n++;
        f->error = error;
        g_set_str(&f->file, file);
}

static void test_forget(void **state) {
        g_autofree char *path = path_of_recording();
        Forgotten f = {}, nobody = {};
        Unit *u = make_unit(UNIT);

        start_unit(u, "one");
        replay_minute_over(replay, u); /* it is being saved */
        replay_forget(replay, UNIT, on_forgotten, &f);
        settle();
        assert_int_equal(f.n, 1);
        assert_int_equal(f.error, 0);
        assert_false(is_kept());

        stop_unit(u);
        start_unit(u, "two");
        replay_forget(replay, UNIT, on_forgotten, &f); /* it is being recorded */
        settle();
        stop_unit(u);
        assert_false(is_kept());
        assert_null(f.file);

        start_unit(u, "three");
        stop_unit(u);
        assert_true(is_kept());
        replay_forget(replay, UNIT, on_forgotten, &nobody);
        replay_disown(replay, &nobody);
        replay_forget(replay, UNIT, on_forgotten, &f);
        settle();
        assert_int_equal(nobody.n, 0);
        assert_false(is_kept());

        start_unit(u, "four");
        stop_unit(u);
        replay_forget(replay, UNIT, on_forgotten, &f);
        settle();
        assert_int_equal(f.n, 4);
        assert_string_equal(f.file, path);
        free(f.file);
}

/* Nobody waits for what hangs while it reads. */
static void test_forget_read(void **state) {
        Unit *u = make_unit(UNIT);
        pid_t pid = start_reader(u);
        siginfo_t info = {};
        Forgotten f = {};

        replay_forget(replay, UNIT, on_forgotten, &f);
        assert_int_equal(waitid(P_PID, (id_t) pid, &info, WEXITED | WNOWAIT), 0);
        assert_int_equal(info.si_code, CLD_KILLED); /* not by its time */
        settle();
        assert_int_equal(f.n, 1);
        assert_false(is_kept());
        free(f.file);
        assert_null(strstr(log_lines->str, "Read "));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                REPLAY_TEST(test_hang),
                REPLAY_TEST(test_expendable),
                REPLAY_TEST(test_harm),
                REPLAY_TEST(test_alone),
                REPLAY_TEST(test_many),
                REPLAY_TEST(test_stopping),
                REPLAY_TEST(test_late),
                REPLAY_TEST(test_restarts),
                REPLAY_TEST(test_brief_behind),
                REPLAY_TEST(test_full_slice),
                REPLAY_TEST(test_forget),
                REPLAY_TEST(test_forget_read),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
