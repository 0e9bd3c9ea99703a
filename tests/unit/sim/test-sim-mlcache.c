/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The policy mlcache against a model that each time compares all pages in the cache: it may miss a point
 * of percent more or less. Traces are made here; if $CACHEBPF_TRACES is a directory, those in there are
 * compared as well. */

#include "sim-test.h"

#include <glib.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference/reference.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "sim/run.h"
#include "sim/trace-options.h"

#define POINTS 1.0
#define N_REQUESTS 60000U

static const unsigned percents[] = { 1, 10, 30 };

/* ---- traces with files */

static uint64_t seed;

static uint32_t draw_below(uint32_t n) {
        /* Knuth's MMIX */
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (seed >> 33) * n >> 31;
}

static uint32_t draw_zipf(uint32_t n) {
        return (uint32_t) pow(n + 1, draw_below(1U << 30) / (double) (1U << 30)) - 1;
}

static void add(Trace *t, uint64_t file, uint64_t page, uint8_t flags) {
        assert_int_equal(trace_add(t, file << TRACE_PAGE_BITS | page, flags), 0);
}

/* Forty files, some used much more than others, and pages of each as well. */
static void add_zipf(Trace *t, uint32_t i) {
        uint32_t file = draw_zipf(40);

        add(t, 1 + file, draw_zipf(100 + 20 * file), 0);
}

/* Three tables are looked up; in between a file is read from its beginning to its end, a new one each
 * time, or one of ten. */
static void add_scans(Trace *t, uint32_t i) {
        uint32_t at = i % 3000;

        if (at < 2000)
                add(t, 1 + draw_below(3), draw_zipf(1200), 0);
        else
                add(t, 10 + (i / 3000 % 2 == 0 ? i / 3000 : 100 + i / 3000 % 10), at - 2000, 0);
}

/* One file is read again and again, beside one that is looked up. */
static void add_loop(Trace *t, uint32_t i) {
        if (i % 2 == 0)
                add(t, 1, i / 2 % 3000, 0);
        else
                add(t, 2, draw_zipf(1000), 0);
}

/* Of two files that are used alike in turn, one is left at times. */
static void add_phases(Trace *t, uint32_t i) {
        add(t, 1 + (i / 10000 % 2 == 0 ? 0 : draw_below(2)), draw_zipf(2000), 0);
}

/* Small files are read with readahead, written, and deleted. */
static void add_files(Trace *t, uint32_t i) {
        uint32_t file = draw_zipf(200), what = draw_below(100), n = 1 + draw_below(16);

        if (what == 0)
                for (uint32_t page = 0; page < 16; page++)
                        add(t, 1 + file, page, TRACE_REMOVE);
        else if (what < 10)
                add(t, 1 + file, draw_below(16), TRACE_WRITE);
        else
                for (uint32_t page = 0; page < n; page++) {
                        for (uint32_t ahead = 0; page % 4 == 0 && ahead < 4; ahead++)
                                add(t, 1 + file, page + ahead, TRACE_READAHEAD);
                        add(t, 1 + file, page, 0);
                }
}

static const struct {
        const char *name;
        void (*add)(Trace *t, uint32_t i);
} kinds[] = {
        { "zipf",   add_zipf   },
        { "scans",  add_scans  },
        { "loop",   add_loop   },
        { "phases", add_phases },
        { "files",  add_files  },
};

static Trace *make(size_t kind) {
        Trace *t;

        assert_int_equal(trace_new(&t), 0);
        t->has_files = true;
        seed = kind;
        for (uint32_t i = 0; t->n_requests < N_REQUESTS; i++)
                kinds[kind].add(t, i);
        trace_seal(t);
        return t;
}

/* ---- comparison */

/* Misses of the policy, and of the model. */
static void run(const Trace *t, uint32_t capacity, bool inverted, uint64_t *ret_policy,
                uint64_t *ret_model) {
        const Option options[MAX_OPTIONS] = { { "inverted", inverted } };
        const SimPolicy *policy = sim_policy_find("mlcache");
        const Resize resizes[MAX_RESIZES] = {};
        SimSetting setting = { .value = inverted };
        SimResult result;
        SimRun r = {
                .policy = policy,
                .capacity = capacity,
                .batch = sim_clamp_batch(CACHEBPF_BATCH, capacity),
                .settings = &setting,
                .n_settings = 1,
        };
        Game g = {
                .trace = t,
                .capacity = r.capacity,
                .batch = r.batch,
                .options = options,
                .resizes = resizes,
        };
        Outcome o;

        assert_non_null(policy);
        setting.tunable = sim_tunable_find(policy, "inverted");
        assert_non_null(setting.tunable);
        assert_int_equal(sim_run_all(t, &r, 1, 1, &result), 0);
        if (!result.done)
                fail_msg("%s", result.message);
        assert_int_equal(result.stats.evict_fallback, 0);
        assert_int_equal(result.stats.rejected, 0);

        play(&model_mlcache, &g, &o);
        outcome_done(&o);
        *ret_policy = result.stats.misses;
        *ret_model = o.misses;
}

/* Returns how many of the sizes are off. */
static unsigned compare(const char *name, const Trace *t) {
        unsigned n_bad = 0;
        uint64_t n = 0;

        for (size_t i = 0; i < t->n_requests; i++)
                n += (trace_flags(t, i) & (TRACE_READAHEAD | TRACE_REMOVE)) == 0;
        for (size_t i = 0; i < ELEMENTSOF(percents); i++) {
                uint32_t capacity = MAX((uint64_t) t->n_objects * percents[i] / 100, 8U);
                double policy, model;
                uint64_t a, b;

                run(t, capacity, false, &a, &b);
                policy = 100. * a / n;
                model = 100. * b / n;
                print_message("# %s, %u%%: %.2f, the model %.2f\n", name, percents[i], policy, model);
                n_bad += fabs(policy - model) > POINTS;
        }
        return n_bad;
}

static void test_made(void **state) {
        unsigned n_bad = 0;

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                _cleanup_(trace_freep) Trace *t = make(i);

                n_bad += compare(kinds[i].name, t);
        }
        assert_int_equal(n_bad, 0);
}

static void test_recorded(void **state) {
        const char *directory = getenv("CACHEBPF_TRACES"), *name;
        g_autoptr(GDir) dir = NULL;
        unsigned n_bad = 0;

        if (isempty(directory)) {
                print_message("# CACHEBPF_TRACES is not set to a directory of traces\n");
                skip();
        }
        dir = g_dir_open(directory, 0, NULL);
        assert_non_null(dir);
        while ((name = g_dir_read_name(dir))) {
                _cleanup_free_ char *path = g_strdup_printf("%s/%s", directory, name), *error = NULL;
                _cleanup_(trace_freep) Trace *t = NULL;

                if (!endswith(name, ".oracleGeneral.zst"))
                        continue;
                if (trace_read(path, TRACE_FORMAT_AUTO, NULL, &t, &error) < 0)
                        fail_msg("%s", error);
                n_bad += compare(name, t);
        }
        assert_int_equal(n_bad, 0);
}

/* Whoever evicts the best pages misses more; policy and model both. */
static void test_inverted(void **state) {
        _cleanup_(trace_freep) Trace *t = make(0);
        uint64_t policy, model, inverted_policy, inverted_model;
        uint32_t capacity = t->n_objects / 10;

        run(t, capacity, false, &policy, &model);
        run(t, capacity, true, &inverted_policy, &inverted_model);
        print_message("# inverted: %" PRIu64 " misses instead of %" PRIu64 ", the model %" PRIu64
                      " instead of %" PRIu64 "\n", inverted_policy, policy, inverted_model, model);
        assert_true(inverted_policy > 2 * policy);
        assert_true(inverted_model > 2 * model);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_made),
                cmocka_unit_test(test_recorded),
                cmocka_unit_test(test_inverted),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
