/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a policy has learned is there in its next run: maps of that name, and what policies make of it. */

#include "sim-test.h"

#include <glib.h>
#include <math.h>
#include <unistd.h>

#include "sim/run.h"

/* ---- maps */

static struct {
        __uint(type, BPF_MAP_TYPE_LRU_HASH);
        __uint(max_entries, 3);
        __type(key, uint64_t);
        __type(value, uint32_t);
} cachebpf_learned;

static struct {
        __uint(type, BPF_MAP_TYPE_LRU_HASH);
        __uint(max_entries, 3);
        __type(key, uint64_t);
        __type(value, uint32_t);
} another;

static const SimPolicy nameless = { .name = "nameless" };

static void begin(const Trace *trace, const Learned *l) {
        assert_int_equal(host_start(&nameless, trace, 1), 0);
        maps_know(l);
}

static void put(uint64_t key, uint32_t value) {
        assert_int_equal(bpf_map_update_elem(&cachebpf_learned, &key, &value, BPF_ANY), 0);
}

static uint32_t get(uint64_t key) {
        uint32_t *value = bpf_map_lookup_elem(&cachebpf_learned, &key);

        return value ? *value : 0;
}

static void test_hash(void **state) {
        _cleanup_learned_ Learned l = {};
        Trace *trace = trace_of("a");
        uint64_t key = 1;

        begin(trace, &l);
        assert_int_equal(maps_learned(&l), -ENOENT);
        (void) bpf_map_lookup_elem(&another, &key);
        assert_int_equal(maps_learned(&l), -ENOENT);
        put(1, 10);
        put(2, 20);
        assert_int_equal(maps_learned(&l), 0);
        assert_int_equal(l.n_entries, 2);
        assert_string_equal(l.label, "nameless");
        host_stop();

        begin(trace, &l);
        assert_int_equal(get(1), 10);
        assert_int_equal(get(2), 20);
        assert_int_equal(get(3), 0);
        host_stop();

        begin(trace, NULL);
        assert_int_equal(get(1), 0);
        host_stop();

        l.shape.value_size = 8;
        begin(trace, &l);
        assert_host_fails(get(1), "is for another map than cachebpf_learned");
        host_stop();
        trace_free(trace);
}

/* ---- what it is good for */

#define N_READS 10000U
#define N_READS_BEFORE (20 * N_READS)
#define N_RESTARTS 3U

/* Each trace draws its own reads, of pages that are equally popular in all of them; unless they are turned
 * around, by which the most popular pages are the least popular ones. */
static Trace *zipf(double exponent, uint32_t n_pages, uint64_t seed, uint32_t n_reads, bool turned) {
        g_autofree double *sums = g_new(double, n_pages);
        double sum = 0;
        Trace *t;

        for (uint32_t i = 0; i < n_pages; i++)
                sums[i] = sum += pow(i + 1, -exponent);

        assert_int_equal(trace_new(&t), 0);
        while (n_reads-- > 0) {
                double at = (double) (sim_draw(&seed) >> 11) / 9007199254740992.0 * sum;
                uint32_t low = 0, high = n_pages - 1;

                while (low < high) {
                        uint32_t middle = (low + high) / 2;

                        if (sums[middle] < at)
                                low = middle + 1;
                        else
                                high = middle;
                }
                assert_int_equal(trace_add(t, turned ? n_pages - 1 - low : low, 0), 0);
        }
        trace_seal(t);
        return t;
}

static uint64_t misses_of(const char *policy, const Trace *t, uint32_t capacity, const char *learned) {
        SimResult result = {};
        SimRun run = {
                .policy = sim_policy_find(policy),
                .capacity = capacity,
                .batch = sim_clamp_batch(CACHEBPF_BATCH, capacity),
                .learned = learned,
        };

        assert_non_null(run.policy);
        assert_int_equal(sim_run_all(t, &run, 1, 1, &result), 0);
        if (!result.done)
                fail_msg("%s", result.message);
        return result.stats.misses;
}

/* The misses of the first reads after some restarts. */
static uint64_t misses_after(const char *policy, double exponent, uint32_t n_pages, const char *learned) {
        uint64_t misses = 0;

        for (unsigned i = 0; i < N_RESTARTS; i++) {
                Trace *t = zipf(exponent, n_pages, 2 + i, N_READS, false);
                g_autofree char *copy = NULL, *content = NULL;
                size_t size;

                if (learned) { /* each of them begins with the same */
                        copy = g_strconcat(learned, ".copy", NULL);
                        assert_true(g_file_get_contents(learned, &content, &size, NULL));
                        assert_true(g_file_set_contents(copy, content, (gssize) size, NULL));
                }
                misses += misses_of(policy, t, n_pages / 10, copy);
                trace_free(t);
        }
        return misses;
}

/* A service that was restarted has at most so much of the misses of one that learns anew. Who knows how
 * popular each page is, and evicts the least popular one, has 0.86 to 0.90 of those of W-TinyLFU. mlcache
 * learns anew sooner since what comes back is rewarded more: before, it had 0.88 of more misses. */
static void test_restart(void **state) {
        static const struct {
                const char *policy;
                double exponent;
                uint32_t n_pages;
                double most;
        } loads[] = {
                { "wtinylfu", 0.8, 10000, 0.92 },
                { "wtinylfu", 0.99, 2000, 0.93 },
                { "wtinylfu", 0.99, 5000, 0.905 },
                { "wtinylfu", 0.99, 10000, 0.90 },
                { "wtinylfu", 1.2, 2000, 0.905 },
                { "mlcache", 0.8, 10000, 0.94 },
                { "mlcache", 0.99, 10000, 0.94 },
                { "mlcache", 1.2, 2000, 0.93 },
        };

        for (size_t i = 0; i < ELEMENTSOF(loads); i++) {
                const char *policy = loads[i].policy;
                double exponent = loads[i].exponent, ratio;
                uint32_t n_pages = loads[i].n_pages, capacity = n_pages / 10;
                Trace *before = zipf(exponent, n_pages, 1, N_READS_BEFORE, false);
                char *dir = test_dir_make();
                g_autofree char *file = g_strconcat(dir, "/learned", NULL);
                uint64_t misses = misses_of(policy, before, capacity, NULL);

                /* what it notes for the next run changes nothing in this one */
                assert_int_equal(misses_of(policy, before, capacity, file), misses);

                ratio = (double) misses_after(policy, exponent, n_pages, file) /
                        (double) misses_after(policy, exponent, n_pages, NULL);
                print_message("# %s, Zipf %.2f, %u pages: %.3f of the misses\n", policy, exponent, n_pages,
                              ratio);
                assert_true(ratio <= loads[i].most);

                trace_free(before);
                test_dir_remove(dir);
        }
}

/* What was learned is wrong: who read other things before. */
static void test_stale(void **state) {
        static const struct {
                const char *policy;
                uint32_t n_reads;
                double most;
        } loads[] = {
                { "wtinylfu", N_READS, 1.03 },
                { "wtinylfu", 10 * N_READS, 1.03 },
                { "mlcache", N_READS, 1.04 },
                { "mlcache", 10 * N_READS, 1.06 },
        };

        for (size_t i = 0; i < ELEMENTSOF(loads); i++) {
                const char *policy = loads[i].policy;
                Trace *before = zipf(0.99, 10000, 1, N_READS_BEFORE, true),
                      *after = zipf(0.99, 10000, 2, loads[i].n_reads, false);
                char *dir = test_dir_make();
                g_autofree char *file = g_strconcat(dir, "/learned", NULL);
                uint64_t misses_anew = misses_of(policy, after, 1000, NULL);
                double ratio;

                (void) misses_of(policy, before, 1000, file);
                ratio = (double) misses_of(policy, after, 1000, file) / (double) misses_anew;
                print_message("# %s, learned the contrary, %u reads: %.3f of the misses\n", policy,
                              loads[i].n_reads, ratio);
                assert_true(ratio <= loads[i].most);

                trace_free(before);
                trace_free(after);
                test_dir_remove(dir);
        }
}

/* A file that is no such file, and a policy that keeps nothing. */
static void test_failures(void **state) {
        Trace *trace = trace_of("ab");
        char *dir = test_dir_make();
        g_autofree char *damaged = test_file(dir, "damaged", "not much"),
                        *nowhere = g_strconcat(dir, "/nowhere/x", NULL),
                        *new = g_strconcat(dir, "/new", NULL);
        const struct {
                const char *policy, *file, *message;
        } failures[] = {
                { "wtinylfu", damaged, "damaged' is damaged" },
                { "wtinylfu", nowhere, "No such file" },
                { "lfu", new, "has no map cachebpf_learned" },
        };

        for (size_t i = 0; i < ELEMENTSOF(failures); i++) {
                SimResult result = {};
                SimRun run = {
                        .policy = sim_policy_find(failures[i].policy),
                        .capacity = 1,
                        .batch = 1,
                        .learned = failures[i].file,
                };

                assert_int_equal(sim_run_all(trace, &run, 1, 1, &result), 0);
                assert_false(result.done);
                assert_non_null(strstr(result.message, failures[i].message));
        }

        assert_int_equal(access(new, F_OK), -1);
        trace_free(trace);
        test_dir_remove(dir);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_hash),
                cmocka_unit_test(test_restart),
                cmocka_unit_test(test_stale),
                cmocka_unit_test(test_failures),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
