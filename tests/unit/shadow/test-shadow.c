/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The process that runs one policy on a small cache: it misses what the simulator misses, and can do nothing
 * else. */

#include "sim-test.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shadow/sandbox.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "shared/shadow-message.h"
#include "sim/run.h"

#define CAPACITY 200U
#define N_PAGES 5000U
#define N_REQUESTS 60000U
#define WINDOW 10000U

static char *program;

typedef struct Shadow {
        pid_t pid;
        int fd;
} Shadow;

static Shadow start_quietly(const char *const *args, bool quiet) {
        int fds[2];
        Shadow s;

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
        s.fd = fds[0];
        s.pid = fork();
        assert_true(s.pid >= 0);
        if (s.pid == 0) {
                (void) dup2(fds[1], STDIN_FILENO);
                if (quiet)
                        (void) dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
                (void) execv(program, (char *const *) args);
                _exit(99);
        }
        (void) close(fds[1]);
        return s;
}

static Shadow start(const char *policy) {
        return start_quietly((const char *[]) { program, policy, "200", "1", NULL }, false);
}

/* Returns its exit status, or 256 and the number of the signal that ended it. */
static int end(Shadow *s) {
        int status;

        (void) shutdown(s->fd, SHUT_WR);
        assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
        (void) close(s->fd);
        return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void say(const Shadow *s, const ShadowMessage *m) {
        size_t size = offsetof(ShadowMessage, events) +
                      (m->kind == SHADOW_EVENTS ? m->n * sizeof(m->events[0]) : 0);

        assert_int_equal(send(s->fd, m, size, MSG_NOSIGNAL), size);
}

static ShadowAnswer ask(const Shadow *s, uint32_t window) {
        ShadowAnswer a;

        say(s, &(ShadowMessage) { .kind = SHADOW_END_WINDOW, .n = window });
        assert_int_equal(recv(s->fd, &a, sizeof(a), 0), sizeof(a));
        assert_int_equal(a.window, window);
        return a;
}

/* ---- misses */

/* Zipf, and a loop now and then; a page of a hundred is removed. */
static Trace *make_trace(void) {
        uint64_t seed = 3;
        Trace *t;

        assert_int_equal(trace_new(&t), 0);
        while (t->n_requests < N_REQUESTS) {
                bool loop = t->n_requests / 3000 % 4 == 3;
                uint32_t page = loop ? t->n_requests % (2 * CAPACITY) : sim_draw_zipf(N_PAGES, &seed);

                assert_int_equal(trace_add(t, page, sim_draw(&seed) % 100 == 0 ? TRACE_REMOVE : 0), 0);
        }
        trace_seal(t);
        return t;
}

/* Returns the misses of the policy where windows end. */
static void expect(const Trace *t, const char *policy, uint64_t ret[N_REQUESTS / WINDOW]) {
        bool *missed = mmap(NULL, t->n_requests, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        SimRun run = {
                .policy = sim_policy_find(policy),
                .capacity = CAPACITY,
                .batch = sim_clamp_batch(CACHEBPF_BATCH, CAPACITY),
                .missed = missed,
        };
        SimResult result;

        assert_true(missed != MAP_FAILED);
        assert_int_equal(sim_run_all(t, &run, 1, 1, &result), 0);
        assert_true(result.done);
        assert_in_range(result.stats.misses, t->n_requests / 20, t->n_requests);
        for (size_t i = 0; i < t->n_requests; i++)
                ret[i / WINDOW] += missed[i];
        (void) munmap(missed, t->n_requests);
}

static void play(const Trace *t, const Shadow *s, size_t from, size_t n) {
        for (size_t i = from; i < from + n;) {
                ShadowMessage m = { .kind = SHADOW_EVENTS };

                /* messages of all sizes */
                for (size_t size = 1 + i % SHADOW_EVENTS_MAX; m.n < size && i < from + n; i++)
                        m.events[m.n++] = (ShadowEvent) {
                                .key = t->ids[t->objects[i]], /* small, as in a sample */
                                .gone = trace_flags(t, i) & TRACE_REMOVE,
                        };
                say(s, &m);
        }
}

static void test_misses(void **state) {
        static const char *const policies[] = { "arc", "fifo", "lfu", "lhd", "lru", "mglru", "mru", "noop",
                                                "s3fifo", "sieve", "wtinylfu" };
        _cleanup_(trace_freep) Trace *t = make_trace();

        for (size_t p = 0; p < ELEMENTSOF(policies); p++) {
                uint64_t expected[N_REQUESTS / WINDOW] = {};
                Shadow s = start(policies[p]);

                expect(t, policies[p], expected);
                for (uint32_t w = 0; w < ELEMENTSOF(expected); w++) {
                        ShadowAnswer a;

                        play(t, &s, w * WINDOW, WINDOW);
                        a = ask(&s, w);
                        assert_in_range(a.requests, WINDOW * 97 / 100, WINDOW - 1);
                        assert_int_equal(a.misses, expected[w]);
                }
                assert_int_equal(end(&s), 0);
        }
}

/* ---- what makes no sense */

static int status_of_message(const void *data, size_t size) {
        Shadow s = start_quietly((const char *[]) { program, "lru", "200", "1", NULL }, true);

        (void) ask(&s, 1); /* it has begun */
        assert_int_equal(send(s.fd, data, size, MSG_NOSIGNAL), size);
        return end(&s);
}

static void test_messages(void **state) {
        static const ShadowMessage two = { .kind = SHADOW_EVENTS, .n = 2 };
        static const ShadowMessage many = { .kind = SHADOW_EVENTS, .n = SHADOW_EVENTS_MAX + 1 };
        static const ShadowMessage what = { .kind = 7 };
        static const ShadowMessage window = { .kind = SHADOW_END_WINDOW };
        const size_t head = offsetof(ShadowMessage, events);

        assert_int_equal(status_of_message(&two, head + 2 * sizeof(ShadowEvent)), 0);
        assert_int_equal(status_of_message(&two, head + sizeof(ShadowEvent)), EXIT_FAILURE);
        assert_int_equal(status_of_message(&two, head - 1), EXIT_FAILURE);
        assert_int_equal(status_of_message(&two, 1), EXIT_FAILURE);
        assert_int_equal(status_of_message(&many, sizeof(many)), EXIT_FAILURE);
        assert_int_equal(status_of_message(&what, head), EXIT_FAILURE);
        assert_int_equal(status_of_message(&window, head), 0);
        assert_int_equal(status_of_message(&window, head + 1), EXIT_FAILURE);
}

static void assert_status(int status, const char *policy, const char *pages, const char *scale,
                          const char *option) {
        Shadow s = start_quietly((const char *[]) { program, policy, pages, scale, option, NULL }, true);

        assert_int_equal(end(&s), status);
}

static void test_command_lines(void **state) {
        assert_status(0, "lfu", "1", "1", NULL);
        assert_status(0, "lfu", "65536", "4294967295", "nr_scan=256");
        assert_status(EXIT_FAILURE, "nosuch", "1", "1", NULL);
        assert_status(EXIT_FAILURE, "lfu", "0", "1", NULL);
        assert_status(EXIT_FAILURE, "lfu", "65537", "1", NULL);
        assert_status(EXIT_FAILURE, "lfu", "1x", "1", NULL);
        assert_status(EXIT_FAILURE, "lfu", "1", "0", NULL);
        assert_status(EXIT_FAILURE, "lfu", "1", NULL, NULL);
        assert_status(EXIT_FAILURE, "lfu", "1", "1", "nr_scan");
        assert_status(EXIT_FAILURE, "lfu", "1", "1", "nr_scan=much");
        assert_status(EXIT_FAILURE, "lfu", "1", "1", "nr_scan=-1");
        assert_status(EXIT_FAILURE, "lfu", "1", "1", "nosuch=1");
}

/* ---- what it may do */

static char *read_proc(pid_t pid, const char *name) {
        g_autofree char *path = g_strdup_printf("/proc/%i/%s", pid, name);
        char *text;

        assert_int_equal(read_full_file(path, 1U << 20, &text, NULL), 0);
        return text;
}

static void assert_line(const char *text, const char *line) {
        if (!strstr(text, line))
                fail_msg("no line '%s' in: %s", line, text);
}

static void test_privileges(void **state) {
        _cleanup_free_ char *status = NULL, *limits = NULL, *oom = NULL;
        Shadow s = start("s3fifo");

        (void) ask(&s, 1);
        status = read_proc(s.pid, "status");
        assert_line(status, "\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
                            "CapEff:\t0000000000000000\n");
        assert_line(status, "\nNoNewPrivs:\t1\n");
        assert_line(status, "\nSeccomp:\t2\n");
        limits = read_proc(s.pid, "limits");
        assert_line(limits, "\nMax open files            0                    0  ");
        assert_line(limits, "\nMax core file size        0                    0  ");
#ifndef __SANITIZE_ADDRESS__
        assert_line(limits, "\nMax address space         67108864             67108864  ");
#endif
        oom = read_proc(s.pid, "oom_score_adj");
        assert_string_equal(oom, "1000\n");
        assert_int_equal(getpriority(PRIO_PROCESS, (id_t) s.pid), 10);
        assert_int_equal(end(&s), 0);
}

/* How a process ends that calls the function in the sandbox. */
static int status_in_sandbox(void (*func)(void)) {
        Shadow s = { .pid = fork(), .fd = -EBADF };

        if (s.pid == 0) {
                if (sandbox_enter() < 0)
                        _exit(98);
                func();
                _exit(0);
        }
        assert_true(s.pid > 0);
        return end(&s);
}

static void do_nothing(void) {
}

static void open_file(void) {
        (void) open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void make_socket(void) {
        (void) socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void signal_parent(void) {
        (void) kill(getppid(), 0);
}

static void execute(void) {
        (void) execl("/bin/true", "true", NULL);
}

#ifndef __SANITIZE_ADDRESS__
static void take_memory(void) {
        if (malloc(64U << 20))
                _exit(1);
}
#endif

static void test_sandbox(void **state) {
        assert_int_equal(status_in_sandbox(do_nothing), 0);
        assert_int_equal(status_in_sandbox(open_file), 256 + SIGSYS);
        assert_int_equal(status_in_sandbox(make_socket), 256 + SIGSYS);
        assert_int_equal(status_in_sandbox(signal_parent), 256 + SIGSYS);
        assert_int_equal(status_in_sandbox(execute), 256 + SIGSYS);
#ifndef __SANITIZE_ADDRESS__
        assert_int_equal(status_in_sandbox(take_memory), 0);
#endif
}

int main(int argc, char *argv[]) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_misses),
                cmocka_unit_test(test_messages),
                cmocka_unit_test(test_command_lines),
                cmocka_unit_test(test_privileges),
                cmocka_unit_test(test_sandbox),
        };

        assert(argc > 1);
        program = argv[1];
        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
