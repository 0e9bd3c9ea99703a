/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What "advise" and "size" say of loads whose misses are known, of all pages and of samples. */

#include "../sim/sim-test.h"

#include <stdlib.h>

#include "cachectl/advice.h"
#include "cachectl/curve.h"
#include "shared/cleanup.h"

#define N 200000U

/* The page of each request. */
typedef uint32_t (*Load)(uint32_t i, uint64_t *seed);

/* What of a load is recorded if it is one page in "rate". */
static Sample sample_of(Load load, uint32_t rate, uint32_t pages) {
        Sample s = { .rate = rate, .pages = pages, .requests = N, .usec = 60 * USEC_PER_SEC };
        uint64_t seed = 1;

        assert_int_equal(trace_new(&s.trace), 0);
        for (uint32_t i = 0; i < N; i++) {
                uint32_t page = load(i, &seed);
                uint64_t hash = page;

                if (sim_draw(&hash) % rate == 0)
                        assert_int_equal(trace_add(s.trace, page, 0), 0);
        }
        trace_seal(s.trace);
        s.sampled = s.trace->n_requests;
        return s;
}

static uint32_t zipf(uint32_t i, uint64_t *seed) {
        return sim_draw_zipf(32768, seed);
}

static uint32_t uniform(uint32_t i, uint64_t *seed) {
        return sim_draw(seed) % 20000;
}

/* Passes over twice the cache. */
static uint32_t loop(uint32_t i, uint64_t *seed) {
        return i % 20000;
}

/* Of 16384 requests the last third is for pages that nobody wants again. */
static uint32_t scans(uint32_t i, uint64_t *seed) {
        return i % 16384 < 11000 ? sim_draw_zipf(32768, seed) : 1000000 + i;
}

/* The middle of a time, in which pages are used most, moves on. */
static uint32_t recent(uint32_t i, uint64_t *seed) {
        return i / 8 + sim_draw_zipf(15000, seed);
}

/* Two programs, one of which reads all of its data again and again. */
static uint32_t mixed(uint32_t i, uint64_t *seed) {
        return i % 2 ? sim_draw_zipf(32768, seed) : 100000 + i / 2 % 15000;
}

static const struct {
        const char *name;
        Load load;
} loads[] = {
        { "zipf", zipf }, { "uniform", uniform }, { "loop", loop },
        { "scans", scans }, { "recent", recent }, { "mixed", mixed },
};

/* Of the cache, and of how many one is recorded then. */
#define PAGES 10240U
#define RATE 4

static Advice advise(const Sample *sample, Simulation *ret) {
        g_autofree char *policies = forecast_policies();
        Advice a;

        assert_int_equal(forecast_run(sample, policies, &sample->pages, 1, ret), 0);
        advice_find(sample, ret, &a);
        return a;
}

static void test_advice(void **state) {
        static const struct {
                Load load;
                uint32_t pages;
                AdviceKind kind;
                const char *one_of[5];
        } cases[] = {
                { loop, PAGES, ADVICE_CHANGE, { "mru" } },
                { scans, 1024, ADVICE_CHANGE, { "lfu", "wtinylfu", "s3fifo", "arc", "sieve" } },
                { uniform, PAGES, ADVICE_STAY },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(sample_done) Sample sample = sample_of(cases[i].load, 1, cases[i].pages);
                _cleanup_(forecast_done) Simulation s = {};
                Advice a = advise(&sample, &s);
                bool found = cases[i].kind == ADVICE_STAY;

                assert_int_equal(a.kind, cases[i].kind);
                assert_true(a.optimum_ratio <= a.best_ratio);
                assert_true(a.best_ratio <= a.stock_ratio);
                for (size_t k = 0; k < ELEMENTSOF(cases[i].one_of) && cases[i].one_of[k]; k++)
                        found = found || streq(cases[i].one_of[k], forecast_name(&s, a.best));
                assert_true(found);
        }
}

static void assert_present(const char *has, const char *chosen, const char *expected) {
        Sample sample = { .policy = (char *) has, .chosen = (char *) chosen };
        g_autofree char *sentence = advice_present(&sample, "mru");

        if (expected)
                assert_string_equal(sentence, expected);
        else
                assert_null(sentence);
}

static void test_present(void **state) {
        assert_present(NULL, NULL, NULL);
        assert_present("lfu", NULL, "Now it has lfu.");
        assert_present("mru", NULL, "It has this policy now.");
        assert_present("lfu", "auto (lfu)", "Now it has auto (lfu).");
        assert_present("mru", "auto (mru)", "It has this policy now: auto (mru).");
}

/* A sample says of stock, and of the policy that it advises, what all pages say, within three points; and
 * that policy is as good as the best. */
static void test_samples(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(loads); i++) {
                _cleanup_(sample_done) Sample all = sample_of(loads[i].load, 1, PAGES),
                                              part = sample_of(loads[i].load, RATE, PAGES);
                _cleanup_(forecast_done) Simulation of_all = {}, of_part = {};
                Advice a = advise(&all, &of_all), b = advise(&part, &of_part);

                double advised = forecast_ratio(&all, &of_all, b.best, 0);

                if (fabs(a.stock_ratio - b.stock_ratio) > 0.03 || fabs(advised - b.best_ratio) > 0.03)
                        fail_msg("%s: %.3f and %.3f, but %.3f and %.3f of a sample", loads[i].name,
                                 a.stock_ratio, advised, b.stock_ratio, b.best_ratio);
                assert_true(advised <= a.best_ratio + 0.03);
                assert_true(b.margin >= a.margin);
        }
}

/* ---- the curve */

/* Sums of the first elements of an array (P. Fenwick, "A new data structure for cumulative frequency
 * tables", 1994). */
typedef struct Sums {
        uint32_t *parts;
        uint32_t n;
} Sums;

static void sums_add(Sums *s, uint32_t i, int what) {
        for (i++; i <= s->n; i += i & -i)
                s->parts[i] += what;
}

static uint32_t sums_below(const Sums *s, uint32_t i) {
        uint32_t sum = 0;

        for (; i > 0; i -= i & -i)
                sum += s->parts[i];
        return sum;
}

/* What LRU misses of the requests from "from" on with so many pages: those whose page was not used for so
 * many other pages (R. Mattson and others, "Evaluation techniques for storage hierarchies", 1970). */
static double lru_misses(const Trace *t, uint32_t capacity, size_t from) {
        Sums sums = { .parts = g_new0(uint32_t, t->n_requests + 1), .n = t->n_requests };
        g_autofree uint32_t *last = g_new0(uint32_t, t->n_objects); /* plus 1 */
        uint32_t misses = 0;

        for (uint32_t i = 0; i < t->n_requests; i++) {
                uint32_t *before = last + t->objects[i];

                if (i >= from)
                        misses += *before == 0 ||
                                  sums_below(&sums, i) - sums_below(&sums, *before) >= capacity;
                if (*before > 0)
                        sums_add(&sums, *before - 1, -1);
                sums_add(&sums, i, 1);
                *before = i + 1;
        }
        g_free(sums.parts);
        return (double) misses / (t->n_requests - from);
}

static void check_curve(Load load, uint32_t rate, double tolerance) {
        _cleanup_(sample_done) Sample all = sample_of(load, 1, PAGES), sample = sample_of(load, rate, PAGES);
        _cleanup_(curve_done) Curve c = {};
        size_t row;

        assert_int_equal(curve_make(&sample, "noop,lru", &c), 0);
        row = forecast_row(&c.simulation, "lru");
        for (size_t j = 0; j < CURVE_SIZES; j++) {
                double said = forecast_ratio(&sample, &c.simulation, row, j), exact;
                bool full;

                exact = lru_misses(all.trace, c.pages[j], sample_warm_up(&all, c.pages[j], &full));
                if (fabs(said - exact) > tolerance)
                        fail_msg("%u pages, one in %u: %.4f, not %.4f", c.pages[j], rate, said, exact);
                if (j > 0 && rate == 1)
                        assert_true(said <= forecast_ratio(&sample, &c.simulation, row, j - 1));
        }
        assert_int_equal(c.pages[CURVE_NOW], PAGES);
}

static void test_curve(void **state) {
        check_curve(zipf, 1, 0.01);
        check_curve(recent, 1, 0.01);
}

static void test_curve_of_samples(void **state) {
        check_curve(zipf, RATE, 0.03);
        check_curve(recent, RATE, 0.03);
        check_curve(uniform, RATE, 0.03);
}

/* With less memory than that more is missed than is permitted. */
static void test_smallest(void **state) {
        _cleanup_(sample_done) Sample sample = sample_of(zipf, 1, PAGES);
        _cleanup_(curve_done) Curve c = {};
        size_t stock, mru;
        uint64_t bytes;

        assert_int_equal(curve_make(&sample, "noop,mru", &c), 0);
        stock = forecast_row(&c.simulation, "noop");
        mru = forecast_row(&c.simulation, "mru");
        bytes = curve_smallest(&sample, &c, stock);
        assert_true(bytes < (uint64_t) PAGES * TRACE_PAGE_SIZE);
        assert_int_equal(curve_smallest(&sample, &c, mru), 0); /* it is worse with any size */

        for (int i = -1; i <= 1; i += 2) {
                uint32_t pages = bytes / TRACE_PAGE_SIZE + i * (int) PAGES / 50;
                double now = forecast_ratio(&sample, &c.simulation, stock, CURVE_NOW), then;
                _cleanup_(forecast_done) Simulation s = {};

                assert_int_equal(forecast_run(&sample, "noop", &pages, 1, &s), 0);
                then = forecast_ratio(&sample, &s, 0, 0);
                assert_true((then > now * 1.05) == (i < 0));
        }
}

/* ---- what cannot be told */

static uint32_t few(uint32_t i, uint64_t *seed) {
        return i % 1000;
}

static void test_too_short(void **state) {
        _cleanup_(sample_done) Sample fits = sample_of(few, 1, PAGES), large = sample_of(zipf, 1, N);
        _cleanup_(forecast_done) Simulation s = {}, of_large = {};
        Advice a = advise(&fits, &s);
        g_autofree char *text = advice_to_string(&fits, &s, &a), *other = NULL;

        assert_int_equal(a.kind, ADVICE_TOO_SHORT);
        assert_string_equal(text, "Only 3.9 MiB were used, which fit into the cache, and no policy would "
                                  "miss less; a longer time may tell more. Try --duration=21min.");

        a = advise(&large, &of_large);
        assert_int_equal(a.kind, ADVICE_TOO_SHORT);
        assert_true(a.duration_usec >= 4 * large.usec);
        large.usec = a.duration_usec = 0;
        other = advice_to_string(&large, &of_large, &a);
        assert_non_null(strstr(other, "Try a trace that is "));
}

/* More pages than the cache has, but few requests for each. */
static void test_too_few(void **state) {
        _cleanup_(sample_done) Sample sample = sample_of(scans, 1, 60000);
        _cleanup_(forecast_done) Simulation s = {};
        Advice a = advise(&sample, &s);
        g_autofree char *text = advice_to_string(&sample, &s, &a);

        assert_int_equal(a.kind, ADVICE_TOO_SHORT);
        assert_string_equal(text, "This was too short to tell: 781.2 MiB of requests for a cache of "
                                  "234.4 MiB. Try --duration=2min.");
}

static void test_nothing(void **state) {
        _cleanup_(sample_done) Sample sample = { .rate = 4, .pages = 8192 };
        _cleanup_(forecast_done) Simulation s = {};
        g_autofree char *text = NULL;
        Advice a;

        assert_int_equal(trace_new(&sample.trace), 0);
        a = advise(&sample, &s);
        assert_int_equal(a.kind, ADVICE_NOTHING);
        text = advice_to_string(&sample, &s, &a);
        assert_string_equal(text, "Nothing was read or written: there is nothing to tell.");
}

int main(void) {
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_advice),
                cmocka_unit_test(test_present),
                cmocka_unit_test(test_samples),
                cmocka_unit_test(test_curve),
                cmocka_unit_test(test_curve_of_samples),
                cmocka_unit_test(test_smallest),
                cmocka_unit_test(test_too_short),
                cmocka_unit_test(test_too_few),
                cmocka_unit_test(test_nothing),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
