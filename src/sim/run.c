/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs in processes of their own: a policy finds its
 * globals as they were initialized, and can do no harm. */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "belady.h"
#include "host-state.h"
#include "readahead.h"
#include "run.h"
#include "shared/cleanup.h"
#include "static.h"

#define SMALLEST_PART 16 /* of the cache, that a batch may be */

/* In the child: where the result of its run goes. */
static SimResult *own_result;

uint32_t sim_clamp_batch(uint32_t batch, uint32_t capacity) {
        return MIN(batch, MAX(capacity / SMALLEST_PART, 1U));
}

static void report_failure(const char *message) {
        (void) snprintf(own_result->message, sizeof(own_result->message), "%s", message);
        _exit(EXIT_FAILURE);
}

static uint64_t cpu_ns(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static const struct {
        const char *name;
        int (*run)(const Trace *trace, uint32_t capacity, size_t warm_up, SimStats *ret);
} limits[_SIM_LIMIT_MAX] = {
        [SIM_LIMIT_BELADY] = { "belady", belady_run },
        [SIM_LIMIT_STATIC] = { "static", static_run },
};

const char *sim_limit_to_string(SimLimit limit) {
        assert(limit < _SIM_LIMIT_MAX);

        return limits[limit].name;
}

static int run_policy(const Trace *trace, const SimRun *run, Learned *learned, SimStats *ret) {
        CacheSettings settings = {
                .capacity = run->capacity,
                .batch = run->batch,
                .admission = run->admission,
                .learned = learned,
                .advice = run->advice,
                .n_advice = run->n_advice,
                .warm_up = run->warm_up,
                .scale = run->scale,
                .missed = run->missed,
        };

        if (run->readahead)
                return readahead_play(run->policy, trace, &settings, *run->readahead, ret);
        return cache_run(run->policy, trace, &settings, ret);
}

static int run_and_learn(const Trace *trace, const SimRun *run, SimStats *ret) {
        g_autofree char *dir = g_path_get_dirname(run->learned), *name = g_path_get_basename(run->learned);
        _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_learned_ Learned learned = {};
        int r;

        r = fd < 0 ? -errno : learned_load(fd, name, run->policy->name, &learned);
        if (r < 0 && (fd < 0 || r != -ENOENT))
                host_fail("'%s' %s", run->learned, learned_strerror(r));

        r = run_policy(trace, run, &learned, ret);
        if (r == -ENOENT)
                host_fail("it has no map cachebpf_learned, or did not use it");
        if (r < 0)
                return r;

        r = learned_save(fd, name, &learned);
        if (r < 0)
                host_fail("what it has learned cannot be written to '%s': %s", run->learned, strerror(-r));
        return 0;
}

static int execute(const Trace *trace, const SimRun *run, SimStats *ret) {
        if (!run->policy)
                return limits[run->limit].run(trace, run->capacity, run->warm_up, ret);

        for (size_t i = 0; i < run->n_settings; i++) {
                const SimTunable *t = run->settings[i].tunable;

                if (sim_tunable_find(run->policy, t->name) == t)
                        (void) sim_tunable_set(t, run->settings[i].value);
        }
        return run->learned ? run_and_learn(trace, run, ret) : run_policy(trace, run, NULL, ret);
}

static void read_counters(const SimPolicy *policy, SimResult *result) {
        const SimCounter *c = policy ? sim_counters(policy) : NULL;

        for (size_t n = 0; c && n < SIM_COUNTERS_MAX; c = c->next)
                result->counters[n++] = *c->value;
}

static void child(const Trace *trace, const SimRun *run, SimResult *result) {
        uint64_t begin;
        int r;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        own_result = result;
        host_set_fail_handler(report_failure);

        begin = cpu_ns();
        r = execute(trace, run, &result->stats);
        result->ns = cpu_ns() - begin;
        if (r < 0) {
                (void) snprintf(result->message, sizeof(result->message),
                                "it refuses to start: %s", strerror(-r));
                _exit(EXIT_FAILURE);
        }

        read_counters(run->policy, result);
        result->done = true;
        _exit(EXIT_SUCCESS);
}

static unsigned n_processors(void) {
        cpu_set_t set;

        return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : CPU_COUNT(&set);
}

/* Waits for one of the runs to end. */
static int reap(const pid_t *pids, size_t n, SimResult *results) {
        int status;
        pid_t pid;

        do
                pid = waitpid(-1, &status, 0);
        while (pid < 0 && errno == EINTR);
        if (pid < 0)
                return -errno;

        for (size_t i = 0; i < n; i++) {
                SimResult *result = results + i;

                if (pids[i] != pid)
                        continue;
                if (WIFSIGNALED(status)) {
                        result->done = false;
                        (void) snprintf(result->message, sizeof(result->message),
                                        "it was ended by signal %i (%s)", WTERMSIG(status),
                                        strsignal(WTERMSIG(status)));
                } else if (!result->done && !result->message[0])
                        (void) snprintf(result->message, sizeof(result->message),
                                        "it ended with status %i", WEXITSTATUS(status));
        }
        return 0;
}

int sim_run_all(const Trace *trace, const SimRun *runs, size_t n_runs, unsigned n_parallel,
                SimResult *results) {
        size_t size = MAX(n_runs, (size_t) 1) * sizeof(*results);
        g_autofree pid_t *pids = g_new0(pid_t, n_runs);
        size_t started = 0, ended = 0;
        SimResult *shared;
        int r = 0, k;

        assert(trace);
        assert(runs || n_runs == 0);
        assert(results || n_runs == 0);

        if (n_parallel == 0)
                n_parallel = n_processors();

        shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED)
                return -errno;

        while (ended < n_runs) {
                while (r >= 0 && started < n_runs && started - ended < n_parallel) {
                        pids[started] = fork();
                        if (pids[started] == 0)
                                child(trace, runs + started, shared + started);
                        if (pids[started] < 0)
                                r = -errno;
                        else
                                started++;
                }
                if (ended == started) /* fork() has failed, and those before it are done */
                        break;

                k = reap(pids, started, shared);
                if (k < 0) {
                        r = k;
                        break;
                }
                ended++;
        }

        if (n_runs > 0)
                memcpy(results, shared, n_runs * sizeof(*results));
        (void) munmap(shared, size);
        return r;
}
