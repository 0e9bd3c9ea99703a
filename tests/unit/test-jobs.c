/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Child processes that do jobs: how many there are at a time, and that none is left. */

#include "test-util.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/helper/jobs.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"

enum {
        QUICK,
        HANGS,
};

static sd_event *event;
static Jobs *jobs;
static unsigned n_ended;
static int last_error, last_result;

static void run(int fd, void *userdata) {
        const Job *j = userdata;
        int result = 7;

        while (j->kind == HANGS)
                (void) pause();
        (void) write_all(fd, &result, sizeof(result));
}

static int start(Job *j, void *userdata) {
        return helper_start("job", run, j, -EBADF, &j->helper);
}

static void ended(Job *j, int error, const void *result, void *userdata) {
        n_ended++;
        last_error = error;
        last_result = result ? *(const int *) result : 0;
}

static void job_free(Job *j) {
        job_done(j);
        free(j);
}

static const JobsHandler handler = {
        .result_size = sizeof(int), .start = start, .ended = ended, .free = job_free,
};

static int setup(void **state) {
        n_ended = 0;
        assert_int_equal(sd_event_new(&event), 0);
        jobs = jobs_new(event, &handler, NULL);
        return 0;
}

static int teardown(void **state) {
        jobs_free(jobs);
        sd_event_unref(event);
        while (waitpid(-1, NULL, 0) > 0) /* those that were killed at the end */
                ;
        return 0;
}

static void add(const char *unit, unsigned kind, bool patient) {
        Job *j = g_new(Job, 1);

        job_init(j, kind, patient, unit, "/");
        jobs_add(jobs, j);
}

static unsigned count_children(void) {
        g_autofree char *path = g_strdup_printf("/proc/self/task/%i/children", (int) getpid()), *text = NULL;
        g_auto(GStrv) words = NULL;

        assert_true(g_file_get_contents(path, &text, NULL, NULL));
        words = g_strsplit(g_strchomp(text), " ", -1);
        return g_strv_length(words);
}

static void settle(void) {
        while (jobs_are_busy(jobs))
                assert_true(sd_event_run(event, USEC_PER_SEC) >= 0);
}

/* As many as 64 services that start at boot have. */
static void test_bound(void **state) {
        for (unsigned i = 0; i < 64; i++) {
                g_autofree char *unit = g_strdup_printf("%u.service", i);

                add(unit, HANGS, /* patient= */ false);
                add(unit, HANGS, /* patient= */ true);
        }
        add("patient.service", HANGS, /* patient= */ true);
        add("other.service", HANGS, /* patient= */ true);
        assert_int_equal(count_children(), JOBS_URGENT_MAX + 1);

        /* each that ends makes room */
        for (unsigned i = 0; i < 64; i++) {
                g_autofree char *unit = g_strdup_printf("%u.service", i);

                jobs_drop(jobs, unit, ~0U);
                jobs_kill(jobs, unit, ~0U);
        }
        jobs_drop(jobs, "other.service", ~0U);
        jobs_kill(jobs, "patient.service", ~0U);
        settle();
        assert_int_equal(count_children(), 0);
        assert_int_equal(n_ended, 0);
}

static void test_result(void **state) {
        add("a.service", QUICK, /* patient= */ false);
        settle();
        assert_int_equal(n_ended, 1);
        assert_int_equal(last_error, 0);
        assert_int_equal(last_result, 7);

        add("a.service", HANGS, /* patient= */ false);
        jobs_minute(jobs);
        assert_int_equal(n_ended, 1);
        jobs_minute(jobs);
        assert_int_equal(n_ended, 2);
        assert_int_equal(last_error, -ETIMEDOUT);
        settle();
        assert_int_equal(n_ended, 2);
}

/* The event loop takes no more sources: the child is reaped nevertheless. */
static void test_refused(void **state) {
        siginfo_t info;

        assert_int_equal(sd_event_exit(event, 0), 0);
        assert_int_equal(sd_event_loop(event), 0);
        add("a.service", HANGS, /* patient= */ false);
        assert_int_equal(n_ended, 1);
        assert_int_equal(last_error, -ESTALE);

        assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
        jobs_minute(jobs);
        assert_int_equal(n_ended, 1);
        assert_false(jobs_are_busy(jobs));
        assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
}

/* There are no more file descriptors, for the one by which it is watched. */
static void test_no_descriptor(void **state) {
        struct rlimit limit, before;
        Helper h = HELPER_NONE;
        siginfo_t info;
        Job j;
        int fd, r;

        job_init(&j, HANGS, /* patient= */ false, "a.service", "/");
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(close(fd), 0);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        limit = before;
        limit.rlim_cur = (rlim_t) fd + 1; /* the result is the last one */
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        r = helper_start("job", run, &j, -EBADF, &h);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(r, -EMFILE);
        assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
        job_done(&j);
}

#define JOBS_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                JOBS_TEST(test_bound),
                JOBS_TEST(test_result),
                JOBS_TEST(test_refused),
                JOBS_TEST(test_no_descriptor),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
