/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Threads of this very process, as the daemon sees those of others; and requests to classify them, answered
 * at once since there is no bus to ask polkit on. Skipped on kernels that cannot name a thread by a file
 * descriptor. */

#include "varlink-fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/control/control.h"
#include "daemon/control/thread-request.h"
#include "daemon/core/manager.h"
#include "daemon/control/threads.h"
#include "daemon/core/manager.h"
#include "shared/cleanup.h"
#include "shared/varlink-org.cachebpf.Manager.h"

#ifndef PIDFD_THREAD
#  define PIDFD_THREAD O_EXCL
#endif

#define N_THREADS 3

static pthread_t threads[N_THREADS];
static pid_t tids[N_THREADS];
static pthread_barrier_t begun, end;

static void *work(void *p) {
        size_t i = (size_t) p;
        char name[THREAD_NAME_MAX + 1];

        (void) snprintf(name, sizeof(name), "worker %zu", i);
        (void) pthread_setname_np(pthread_self(), name);
        tids[i] = (pid_t) syscall(SYS_gettid);
        (void) pthread_barrier_wait(&begun);
        (void) pthread_barrier_wait(&end);
        return NULL;
}

static int setup(void **state) {
        int fd = (int) syscall(SYS_pidfd_open, getpid(), PIDFD_THREAD);

        *state = fd >= 0 ? &begun : NULL;
        if (fd < 0)
                return 0;
        close(fd);

        assert_int_equal(pthread_barrier_init(&begun, NULL, N_THREADS + 1), 0);
        assert_int_equal(pthread_barrier_init(&end, NULL, N_THREADS + 1), 0);
        for (size_t i = 0; i < N_THREADS; i++)
                assert_int_equal(pthread_create(threads + i, NULL, work, (void *) i), 0);
        (void) pthread_barrier_wait(&begun);
        return 0;
}

static int teardown(void **state) {
        if (!*state)
                return 0;

        (void) pthread_barrier_wait(&end);
        for (size_t i = 0; i < N_THREADS; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        return 0;
}

#define NEEDS_PIDFD_THREAD(state) \
        if (!*(state))            \
        skip()

typedef struct Seen {
        unsigned n;
        unsigned n_workers;
        Thread last;
} Seen;

static int see(const Thread *t, void *userdata) {
        Seen *seen = userdata;

        assert_int_equal(t->uid, geteuid());
        assert_true(t->fd >= 0);
        seen->n++;
        for (size_t i = 0; i < N_THREADS; i++)
                if (t->tid == tids[i]) {
                        assert_memory_equal(t->name, "worker ", 7);
                        assert_int_equal(t->name[7] - '0', i);
                        seen->n_workers++;
                }
        seen->last = *t;
        return 0;
}

static int stop(const Thread *t, void *userdata) {
        (*(unsigned *) userdata)++;
        return -ECANCELED;
}

static void test_process(void **state) {
        ThreadTarget target;
        unsigned n = 0;
        Seen seen = {};

        NEEDS_PIDFD_THREAD(state);
        assert_int_equal(thread_target_open(getpid(), /* process= */ true, &target), 0);
        assert_int_equal(thread_target_foreach(&target, see, &seen), 0);
        assert_int_equal(seen.n, N_THREADS + 1);
        assert_int_equal(seen.n_workers, N_THREADS);
        assert_int_equal(thread_target_check_visible(&target, geteuid()), 0);
        assert_int_equal(thread_target_check_visible(&target, geteuid() + 1), -EACCES);
        assert_int_equal(thread_target_foreach(&target, stop, &n), -ECANCELED);
        assert_int_equal(n, 1);
        thread_target_done(&target);
}

static void test_thread(void **state) {
        ThreadTarget target;
        Seen seen = {};

        NEEDS_PIDFD_THREAD(state);
        assert_int_equal(thread_target_open(tids[1], /* process= */ false, &target), 0);
        assert_int_equal(thread_target_foreach(&target, see, &seen), 0);
        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.last.tid, tids[1]);
        thread_target_done(&target);

        assert_int_equal(thread_target_open(tids[1], /* process= */ true, &target), -EINVAL);
        assert_int_equal(thread_target_open(0, true, &target), -ESRCH);
        assert_int_equal(thread_target_open(-1, false, &target), -ESRCH);
        assert_int_equal(thread_target_open(4194304 - 1, false, &target), -ESRCH);
}

static void test_descriptor(void **state) {
        ThreadTarget target;
        Seen seen = {};
        int fd;

        NEEDS_PIDFD_THREAD(state);
        fd = (int) syscall(SYS_pidfd_open, tids[2], PIDFD_THREAD);
        assert_true(fd >= 0);
        assert_int_equal(thread_target_take_fd(fd, &target), 0);
        assert_int_equal(target.pid, tids[2]);
        assert_int_equal(thread_target_foreach(&target, see, &seen), 0);
        assert_int_equal(seen.last.tid, tids[2]);
        thread_target_done(&target);

        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_int_equal(thread_target_take_fd(fd, &target), -EBADF);
        close(fd);
}

static int note_name(const Thread *t, void *userdata) {
        (void) snprintf(userdata, THREAD_NAME_MAX + 1, "%s", t->name);
        return 0;
}

static void test_names(void **state) {
        static const struct {
                const char *name, *shown;
        } cases[] = {
                { "w\xc3\xb6rker",     "w\xc3\xb6rker" },
                { "w\xf6rker \xc3\xb6", "w?rker \xc3\xb6" },
                { "cut off \xe2\x82",  "cut off ??" },
        };

        NEEDS_PIDFD_THREAD(state);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                char name[THREAD_NAME_MAX + 1];
                ThreadTarget target;

                assert_int_equal(pthread_setname_np(threads[0], cases[i].name), 0);
                assert_int_equal(thread_target_open(tids[0], false, &target), 0);
                assert_int_equal(thread_target_foreach(&target, note_name, name), 0);
                assert_string_equal(name, cases[i].shown);
                thread_target_done(&target);
        }
        assert_int_equal(pthread_setname_np(threads[0], "worker 0"), 0);
}

typedef struct Short {
        pid_t tid;
        pthread_barrier_t begun, end;
} Short;

static void *end_soon(void *p) {
        Short *s = p;

        s->tid = (pid_t) syscall(SYS_gettid);
        (void) pthread_barrier_wait(&s->begun);
        (void) pthread_barrier_wait(&s->end);
        return NULL;
}

/* A thread that ended while its descriptor was held. */
static void test_ended(void **state) {
        ThreadTarget target;
        pthread_t thread;
        Seen seen = {};
        Short s;

        NEEDS_PIDFD_THREAD(state);
        assert_int_equal(pthread_barrier_init(&s.begun, NULL, 2), 0);
        assert_int_equal(pthread_barrier_init(&s.end, NULL, 2), 0);
        assert_int_equal(pthread_create(&thread, NULL, end_soon, &s), 0);
        (void) pthread_barrier_wait(&s.begun);
        assert_int_equal(thread_target_open(s.tid, false, &target), 0);
        (void) pthread_barrier_wait(&s.end);
        assert_int_equal(pthread_join(thread, NULL), 0);

        assert_int_equal(thread_target_foreach(&target, see, &seen), -ESRCH);
        assert_int_equal(seen.n, 0);
        assert_int_equal(thread_target_check_visible(&target, geteuid() + 1), -ESRCH);
        thread_target_done(&target);
}

/* ---- requests */

static ThreadRequestResult answered;
static unsigned n_answers;

static int on_answer(Control *c, sd_bus_message *msg, sd_varlink *link, const ThreadRequestResult *result) {
        answered = *result;
        n_answers++;
        return 0;
}

static void request(Control *c, bool process, pid_t pid, uid_t uid) {
        ThreadRequestArguments a = {
                .class = THREAD_CLASS_SCAN,
                .subject = { .pidfd = -EBADF, .uid = uid },
                .reply = on_answer,
        };

        assert_int_equal(thread_target_open(pid, process, &a.target), 0);
        n_answers = 0;
        thread_request(c, &a);
        assert_int_equal(n_answers, 1);
}

static void test_requests(void **state) {
        static const char *const none[] = { NULL };
        static const ManagerPaths paths = {
                .kernel = { .sysfs = "/nonexistent", .cgroup = "/nonexistent" },
                .policies = none,
                .rules = none,
        };
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        FakeKernel k;
        Control *c;
        Manager *m;

        NEEDS_PIDFD_THREAD(state);
        fake_kernel_init(&k);
        assert_int_equal(sd_event_new(&event), 0);
        assert_int_equal(manager_new(&paths, event, &k.backend, &m), 0);
        c = control_new(m);

        request(c, true, getpid(), 0);
        assert_int_equal(answered.error, -EOPNOTSUPP);
        m->kernel.supported = true;

        request(c, true, getpid(), 0);
        assert_int_equal(answered.error, 0);
        assert_int_equal(answered.n_threads, N_THREADS + 1);
        assert_int_equal(k.n_set_class, N_THREADS + 1);
        assert_int_equal(k.last_class, THREAD_CLASS_SCAN);

        request(c, false, tids[0], geteuid());
        assert_int_equal(answered.n_threads, 1);

        /* Somebody else's: without polkit no, and not a single one of them. */
        k.n_set_class = 0;
        request(c, true, getpid(), geteuid() + 1);
        assert_int_equal(answered.error, -EACCES);
        assert_int_equal(k.n_set_class, 0);

        k.set_class_error = -ESRCH;
        request(c, false, tids[0], 0);
        assert_int_equal(answered.error, -ESRCH);
        k.set_class_error = -EIO;
        request(c, true, getpid(), 0);
        assert_int_equal(answered.error, -EIO);

        control_free(c);
        manager_free(m);
        fake_kernel_done(&k);
}

/* ---- what clients of varlink are told */

static void count_thread(sd_json_variant *parameters, void *userdata) {
        assert_non_null(member_string(parameters, "name"));
        (*(unsigned *) userdata)++;
}

static unsigned list_threads(Connection *c, send_t send, pid_t process) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL;
        unsigned n = 0;

        assert_true(sd_json_buildo(&parameters, SD_JSON_BUILD_PAIR_INTEGER("process", process)) >= 0);
        connection_call(c, send, CACHEBPF_VARLINK_INTERFACE ".ListThreads", parameters, count_thread, &n);
        return n;
}

static void test_list(void **state) {
        Connection all = {}, one = {}, ended = {};
        pid_t zombie;

        NEEDS_PIDFD_THREAD(state);
        (void) fixture_setup(state);
        server_start();

        assert_int_equal(list_threads(&all, sd_varlink_observe, getpid()), N_THREADS + 1);
        assert_true(all.ended);
        assert_int_equal(list_threads(&one, sd_varlink_invoke, getpid()), 0);
        assert_string_equal(one.error, SD_VARLINK_ERROR_EXPECTED_MORE);

        zombie = fork();
        if (zombie == 0)
                _exit(0);
        assert_int_equal(waitid(P_PID, (id_t) zombie, &(siginfo_t) {}, WEXITED | WNOWAIT), 0);
        assert_int_equal(list_threads(&ended, sd_varlink_observe, zombie), 0);
        assert_string_equal(ended.error, CACHEBPF_VARLINK_ERROR_NO_SUCH_THREAD);
        assert_int_equal(ended.thread, zombie);
        assert_int_equal(waitpid(zombie, NULL, 0), zombie);

        connection_done(&all);
        connection_done(&one);
        connection_done(&ended);
        server_stop();
        (void) fixture_teardown(state);
}

static void note_number(sd_json_variant *parameters, void *userdata) {
        *(uint64_t *) userdata = sd_json_variant_unsigned(sd_json_variant_by_key(parameters, "threads"));
}

static uint64_t set_class(Connection *c, const char *class, pid_t process) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL;
        uint64_t n = 0;

        assert_true(sd_json_buildo(&parameters,
                                   SD_JSON_BUILD_PAIR_STRING("class", class),
                                   SD_JSON_BUILD_PAIR_INTEGER("process", process)) >= 0);
        connection_call(c, sd_varlink_invoke, CACHEBPF_VARLINK_INTERFACE ".SetThreadClass", parameters,
                        note_number, &n);
        return n;
}

static void test_set_class(void **state) {
        Connection good = {}, unknown = {}, thread = {};

        NEEDS_PIDFD_THREAD(state);
        (void) fixture_setup(state);
        server_start();

        assert_int_equal(set_class(&good, "scan", getpid()), N_THREADS + 1);
        assert_int_equal(fixture->kernel.last_class, THREAD_CLASS_SCAN);
        assert_int_equal(set_class(&unknown, "lazy", getpid()), 0);
        assert_string_equal(unknown.error, SD_VARLINK_ERROR_INVALID_PARAMETER);
        assert_int_equal(set_class(&thread, "normal", tids[0]), 0);
        assert_string_equal(thread.error, CACHEBPF_VARLINK_ERROR_NO_PROCESS);
        assert_int_equal(fixture->kernel.n_set_class, N_THREADS + 1);

        connection_done(&good);
        connection_done(&unknown);
        connection_done(&thread);
        server_stop();
        (void) fixture_teardown(state);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_process), cmocka_unit_test(test_thread),
                cmocka_unit_test(test_descriptor),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_ended),   cmocka_unit_test(test_requests),
                cmocka_unit_test(test_list),
                cmocka_unit_test(test_set_class),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, setup, teardown);
}
