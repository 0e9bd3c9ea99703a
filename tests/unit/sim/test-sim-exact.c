/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Policies that leave no choice, against models of them that are too slow to be wrong: as many misses, for
 * each trace and size. Traces are made here. */

#include "sim-test.h"

#include <math.h>
#include <stdlib.h>

#include "sim/run.h"

#define N_REQUESTS 10000U
#define N_OBJECTS 500U

/* ---- models: the cached objects in an array, in an order that depends on the policy */

typedef struct Model {
        uint32_t objects[N_OBJECTS]; /* the one that came or was used last is the last */
        bool visited[N_OBJECTS];
        uint32_t n, capacity;
        uint32_t hand; /* SIEVE: index of the next one to look at */
} Model;

static void take_out(Model *m, uint32_t i) {
        m->n--;
        memmove(m->objects + i, m->objects + i + 1, (m->n - i) * sizeof(*m->objects));
        memmove(m->visited + i, m->visited + i + 1, (m->n - i) * sizeof(*m->visited));
}

static void put_last(Model *m, uint32_t object) {
        m->objects[m->n] = object;
        m->visited[m->n] = false;
        m->n++;
}

static void fifo_evict(Model *m) {
        take_out(m, 0);
}

static void mru_evict(Model *m) {
        take_out(m, m->n - 1);
}

/* From the oldest to the newest, and again; those that were visited get away with it once. If it is the
 * newest that goes, the next to look at is the oldest, not the one that comes in its place. */
static void sieve_evict(Model *m) {
        while (m->visited[m->hand]) {
                m->visited[m->hand] = false;
                m->hand = (m->hand + 1) % m->n;
        }
        take_out(m, m->hand);
        if (m->hand == m->n)
                m->hand = 0;
}

static void no_use(Model *m, uint32_t i) {
}

static void use_last(Model *m, uint32_t i) {
        uint32_t object = m->objects[i];

        take_out(m, i);
        put_last(m, object);
}

static void use_visits(Model *m, uint32_t i) {
        m->visited[i] = true;
}

static const struct {
        const char *policy;
        void (*use)(Model *m, uint32_t i);
        void (*evict)(Model *m);
} models[] = {
        { "fifo", no_use, fifo_evict },
        { "lru", use_last, fifo_evict },
        { "mru", use_last, mru_evict },
        { "sieve", use_visits, sieve_evict },
};

static uint64_t model_misses(size_t model, const Trace *t, uint32_t capacity) {
        Model m = { .capacity = capacity };
        uint64_t misses = 0;

        for (size_t r = 0; r < t->n_requests; r++) {
                uint32_t i;

                for (i = 0; i < m.n && m.objects[i] != t->objects[r];)
                        i++;
                if (i < m.n) {
                        models[model].use(&m, i);
                        continue;
                }
                misses++;
                if (m.n == m.capacity)
                        models[model].evict(&m);
                put_last(&m, t->objects[r]);
        }
        return misses;
}

/* ---- traces */

static double uniform(void) {
        return bpf_get_prandom_u32() / 4294967296.0;
}

/* About Zipf with exponent 1. */
static uint32_t zipf(void) {
        return (uint32_t) pow(N_OBJECTS, uniform()) - 1;
}

static uint32_t next_zipf(unsigned i) {
        return zipf();
}

static uint32_t next_loop(unsigned i) {
        return i % 300;
}

/* Zipf, with scans of 100 pages in between. */
static uint32_t next_mix(unsigned i) {
        return i % 1000 < 100 ? i % N_OBJECTS : zipf();
}

/* Another tenth of the pages is used most in each quarter. */
static uint32_t next_phases(unsigned i) {
        return (zipf() + i / (N_REQUESTS / 4) * N_OBJECTS / 10) % N_OBJECTS;
}

static const struct {
        const char *name;
        uint32_t (*next)(unsigned i);
} traces[] = {
        { "zipf", next_zipf },
        { "loop", next_loop },
        { "mix", next_mix },
        { "phases", next_phases },
};

static Trace *make_trace(size_t which) {
        Trace *t;

        assert_int_equal(trace_new(&t), 0);
        host.random = 1; /* the same in each test */
        for (unsigned i = 0; i < N_REQUESTS; i++)
                assert_int_equal(trace_add(t, traces[which].next(i), 0), 0);
        trace_seal(t);
        return t;
}

/* ---- tests */

static void test_model(void **state) {
        static const uint32_t capacities[] = { 1, 2, 7, 64, 150, 299, 300, 499 };
        size_t model = (size_t) *state;
        const SimPolicy *policy = sim_policy_find(models[model].policy);

        if (!policy) {
                print_message("# there is no policy %s\n", models[model].policy);
                skip();
        }

        for (size_t t = 0; t < ELEMENTSOF(traces); t++) {
                _cleanup_(trace_freep) Trace *trace = make_trace(t);
                SimResult results[ELEMENTSOF(capacities)];
                SimRun runs[ELEMENTSOF(capacities)] = {};

                for (size_t i = 0; i < ELEMENTSOF(capacities); i++)
                        runs[i] = (SimRun) { .policy = policy, .capacity = capacities[i], .batch = 1 };
                assert_int_equal(sim_run_all(trace, runs, ELEMENTSOF(runs), 0, results), 0);

                for (size_t i = 0; i < ELEMENTSOF(capacities); i++) {
                        uint64_t misses = model_misses(model, trace, capacities[i]);

                        if (!results[i].done)
                                fail_msg("%s, %u pages: %s", traces[t].name, capacities[i],
                                         results[i].message);
                        if (results[i].stats.misses != misses)
                                fail_msg("%s, %u pages: %lu misses instead of %lu", traces[t].name,
                                         capacities[i], (unsigned long) results[i].stats.misses,
                                         (unsigned long) misses);
                        assert_int_equal(results[i].stats.evict_fallback, 0);
                        assert_int_equal(results[i].stats.rejected, 0);
                }
        }
}

int main(void) {
        struct CMUnitTest tests[ELEMENTSOF(models)];

        for (size_t i = 0; i < ELEMENTSOF(models); i++)
                tests[i] = (struct CMUnitTest) {
                        .name = models[i].policy,
                        .test_func = test_model,
                        .initial_state = (void *) i,
                };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
