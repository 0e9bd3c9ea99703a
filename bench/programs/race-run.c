/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <err.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "race-run.h"
#include "sim/cache.h"
#include "sim/host-state.h"

static void *share(size_t size) {
        void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
                err(EXIT_FAILURE, "memory for %zu bytes", size);
        return p;
}

static bool is_sampled(const RaceCourse *c, size_t request) {
        return c->trace->keys[c->trace->objects[request]] <= UINT64_MAX / c->one_in;
}

static bool is_request(const Trace *t, size_t request) {
        return !(trace_flags(t, request) & (TRACE_READAHEAD | TRACE_REMOVE));
}

/* ---- each policy alone */

/* What each entrant misses in a trace; request i of entrant e is at [e * n_requests + i]. */
static bool *run_all(const RaceCourse *c, const Trace *t, uint32_t capacity, uint64_t *ret_misses) {
        g_autofree SimResult *results = g_new0(SimResult, c->n_entrants);
        g_autofree SimRun *runs = g_new0(SimRun, c->n_entrants);
        bool *missed = share(c->n_entrants * t->n_requests);

        for (size_t e = 0; e < c->n_entrants; e++)
                runs[e] = (SimRun) {
                        .policy = c->entrants[e].policy,
                        .capacity = capacity,
                        .batch = sim_clamp_batch(CACHEBPF_BATCH, capacity),
                        .settings = c->entrants[e].settings,
                        .n_settings = c->entrants[e].n_settings,
                        .missed = missed + e * t->n_requests,
                };
        if (sim_run_all(t, runs, c->n_entrants, 0, results) < 0)
                errx(EXIT_FAILURE, "policies cannot be run");

        for (size_t e = 0; e < c->n_entrants; e++) {
                if (!results[e].done)
                        errx(EXIT_FAILURE, "%s: %s", c->entrants[e].name, results[e].message);
                if (ret_misses)
                        ret_misses[e] = results[e].stats.misses;
        }
        return missed;
}

static Trace *make_sample(const RaceCourse *c) {
        Trace *t;

        if (trace_new(&t) < 0)
                errx(EXIT_FAILURE, "no memory for a sample");
        for (size_t i = 0; i < c->trace->n_requests; i++)
                if (is_sampled(c, i) && trace_add(t, c->trace->objects[i], trace_flags(c->trace, i)) < 0)
                        errx(EXIT_FAILURE, "no memory for a sample");
        trace_seal(t);
        return t;
}

/* ---- auto */

typedef struct Runner {
        const RaceCourse *course;
        const bool *shadow_missed;
        size_t n_sampled, at; /* requests of the sample: all, and so far */
        Race race;
        RaceWindow window;
        bool print;
} Runner;

static void count(Runner *r, size_t request, bool missed) {
        const RaceCourse *c = r->course;
        bool counts = is_request(c->trace, request);

        r->window.requests += counts;
        r->window.misses += missed;
        if (!is_sampled(c, request))
                return;
        r->window.sampled += counts;
        for (size_t e = 0; e < c->n_entrants; e++)
                r->window.shadow_misses[e] += r->shadow_missed[e * r->n_sampled + r->at];
        r->at++;
}

static void let_run(const RaceCourse *c, size_t entrant) {
        const RaceEntrant *e = c->entrants + entrant;

        for (size_t i = 0; i < e->n_settings; i++)
                (void) sim_tunable_set(e->settings[i].tunable, e->settings[i].value);
}

/* Returns whether another one runs now. */
static bool end_window(Runner *r) {
        const RaceCourse *c = r->course;
        RaceStep step;

        r->window.present = r->race.present;
        r->window.n_cached = host.n_cached;
        r->window.expected = r->window.requests / c->one_in;
        race_step(&r->race, &r->window, &step);
        r->window = (RaceWindow) {};
        if (step.action == RACE_STAY)
                return false;

        if (r->print) {
                const char *names[RACE_CANDIDATES_MAX];
                g_autofree char *words = NULL;

                for (size_t e = 0; e < c->n_entrants; e++)
                        names[e] = c->entrants[e].name;
                words = race_step_to_string(&step, names);
                printf("# %s\n", words);
        }
        let_run(c, step.to);
        if (cache_replace(c->entrants[step.to].policy) < 0)
                errx(EXIT_FAILURE, "%s cannot begin", c->entrants[step.to].name);
        return true;
}

static void on_failure(const char *message) {
        errx(EXIT_FAILURE, "%s", message);
}

static void run_auto(Runner *r, bool *missed, RaceResult *ret) {
        const RaceCourse *c = r->course;

        host_set_fail_handler(on_failure);
        race_init(&r->race, c->n_entrants, c->first);
        let_run(c, c->first);
        if (cache_begin(c->entrants[c->first].policy, c->trace, &(CacheSettings) {
                                .capacity = c->capacity,
                                .batch = sim_clamp_batch(CACHEBPF_BATCH, c->capacity),
                        }) < 0)
                errx(EXIT_FAILURE, "%s cannot begin", c->entrants[c->first].name);

        for (size_t i = 0; i < c->trace->n_requests; i++) {
                bool m = cache_request(c->trace->objects[i], trace_flags(c->trace, i), 0);

                ret->requests += is_request(c->trace, i);
                ret->misses += m;
                if (missed)
                        missed[i] = m;
                count(r, i, m);
                if (r->window.requests >= race_window_requests(host.n_cached))
                        ret->n_switches += end_window(r);
        }
}

void race_run(const RaceCourse *c, bool *missed, bool print, RaceResult *ret) {
        _cleanup_(trace_freep) Trace *sample = make_sample(c);
        RaceResult *result = share(sizeof(*result));
        bool *alone = run_all(c, c->trace, c->capacity, result->alone);
        Runner r = {
                .course = c,
                .shadow_missed = run_all(c, sample, MAX(c->capacity / c->one_in, 1U), NULL),
                .n_sampled = sample->n_requests,
                .print = print,
        };
        int status;
        pid_t pid;

        /* a process for the static variables of policies */
        fflush(stdout);
        pid = fork();
        if (pid == 0) {
                run_auto(&r, missed, result);
                fflush(stdout);
                _exit(EXIT_SUCCESS);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
                errx(EXIT_FAILURE, "the race did not end as it should");

        *ret = *result;
        (void) munmap(result, sizeof(*result));
        (void) munmap(alone, c->n_entrants * c->trace->n_requests);
        (void) munmap((void *) r.shadow_missed, c->n_entrants * r.n_sampled);
}
