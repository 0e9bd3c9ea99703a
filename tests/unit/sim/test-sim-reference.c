/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Each policy in the simulator against a model of it (reference/): they have to evict the same pages, one
 * after the other. Traces are made here. */

#include "sim-test.h"

#include <stdio.h>
#include <sys/mman.h>

#include "reference/reference.h"
#include "sim/run.h"

/* For what a policy remembers of pages that are gone: in the papers none of that is lost. */
typedef enum Room {
        ROOM_AS_IT_IS,
        ROOM_PER_PAGE, /* a bucket for each page of the cache */
        ROOM_TWO_PER_PAGE,
        ROOM_FOR_ALL,  /* that there are */
} Room;

typedef struct Case {
        const Model *model;
        uint32_t batch;
        uint32_t sizes[9]; /* of the cache, in pages */
        Option options[MAX_OPTIONS];
        Resize resizes[MAX_RESIZES];
        Room room;
        unsigned bytes_per_page; /* 0: as the model says */
        bool large; /* not the other traces but the one for large caches */
} Case;

#define BUCKET_BYTES sizeof(*host.buckets.array)
#define MANY_BUCKETS 4096U
#define SIZES { 1, 2, 3, 7, 64, 200, 300, 309, 1000 }

static const Case cases[] = {
        { &model_fifo,     1,  SIZES },
        { &model_fifo,     32, { 64, 1000 } },

        { &model_lru,      1,  SIZES },
        { &model_lru,      32, { 64, 1000 } },

        { &model_mru,      1,  SIZES },
        { &model_mru,      1,  { 64, 1000 }, { { "nr_scan", 32 } } },
        { &model_mru,      32, { 64, 1000 }, { { "nr_scan", 32 } } },
        { &model_mru,      1,  { 4000 }, .large = true },

        { &model_sieve,    1,  SIZES },
        { &model_sieve,    32, { 64, 1000 } },

        { &model_lfu,      1,  SIZES },
        { &model_lfu,      32, { 200, 309, 1000 } },
        { &model_lfu,      1,  SIZES, { { "ageing", 16 } } },
        { &model_lfu,      4,  { 200, 309, 1000 }, { { "ageing", 1 }, { "nr_scan", 100 } } },

        { &model_get_scan, 1,  SIZES },
        { &model_get_scan, 32, { 299, 1000 } },
        { &model_get_scan, 1,  { 200, 309, 1000 },
                { { "scan_pages", 20 }, { "scan_share", 7 }, { "nr_scan", 32 } } },
        { &model_get_scan, 1,  { 64, 128, 200 }, { { "scan_pages", 0 } } },

        { &model_s3fifo,   1,  SIZES, .room = ROOM_PER_PAGE },
        { &model_s3fifo,   32, { 64, 300, 309, 1000 }, .room = ROOM_PER_PAGE },
        { &model_s3fifo,   1,  { 64, 299, 1000 }, { { "small_percent", 40 }, { "ghost_percent", 30 } },
                .room = ROOM_PER_PAGE },
        /* Clock2Q+ */
        { &model_s3fifo,   1,  SIZES, { { "skip_percent", 50 }, { "uses_for_main", 1 } },
                .room = ROOM_PER_PAGE },
        { &model_s3fifo,   32, { 64, 300, 309, 1000 }, { { "skip_percent", 50 }, { "uses_for_main", 1 } },
                .room = ROOM_PER_PAGE },
        { &model_s3fifo,   1,  { 64, 200, 1000 }, { { "small_percent", 90 }, { "skip_percent", 90 } },
                .room = ROOM_PER_PAGE },
        /* S4-FIFO; numbers of units come round too soon in a cache of 64 with sets that are hardly used */
        { &model_s3fifo,   1,  SIZES, { { "ghost_hits_for_main", 2 } }, .room = ROOM_PER_PAGE },
        { &model_s3fifo,   1,  { 1, 2, 3, 7, 200, 309, 1000 },
                { { "small_percent", 20 }, { "ghost_percent", 600 }, { "skip_percent", 25 },
                  { "uses_for_main", 3 }, { "ghost_hits_for_main", 2 } },
                .room = ROOM_TWO_PER_PAGE, .bytes_per_page = 33 },
        { &model_s3fifo,   32, { 200, 300, 1000 },
                { { "small_percent", 5 }, { "ghost_percent", 600 }, { "skip_percent", 25 },
                  { "uses_for_main", 1 }, { "ghost_hits_for_main", 2 } },
                .room = ROOM_TWO_PER_PAGE, .bytes_per_page = 33 },

        { &model_arc,      1,  SIZES, .room = ROOM_PER_PAGE },
        { &model_arc,      32, { 64, 200, 309, 1000 }, .room = ROOM_PER_PAGE },

        { &model_wtinylfu, 1,  SIZES },
        { &model_wtinylfu, 32, { 200, 309, 1000 } },
        { &model_wtinylfu, 32, { 1000 }, .resizes = { { 500, 200 } } },
        { &model_wtinylfu, 1,  { 64, 309, 1000 },
                { { "window_percent", 20 }, { "protected_percent", 30 }, { "margin", 0 } } },

        { &model_mglru,    1,  SIZES, .room = ROOM_FOR_ALL },
        { &model_mglru,    32, { 200, 300, 1000 }, .room = ROOM_FOR_ALL },
        { &model_mglru,    1,  { 4000, 5000 }, .room = ROOM_FOR_ALL, .large = true },

        { &model_lhd,      1,  SIZES },
        { &model_lhd,      32, { 200, 309, 1000 } },
        { &model_lhd,      1,  { 64, 309, 1000 },
                { { "explore", 5 }, { "nr_scan", 32 }, { "nr_recent", 40 } } },
        { &model_lhd,      1,  { 1100, 4000 }, .large = true },
        { &model_lhd,      32, { 200 }, { { "reconfigure_every", 500 } }, { { 1000, 1000 }, { 2500, 60 } } },
};

/* ---- a policy, and what it evicts */

typedef struct Recording {
        SimPolicy policy; /* host.policy, while it runs */
        struct cachebpf_ops ops;
        const struct cachebpf_ops *original;
        const Case *c;
        uint32_t *victims; /* shared with the process that it runs in; the first one is how many there are */
} Recording;

static Recording *recording(void) {
        return (Recording *) host.policy;
}

static __s32 record_init(struct cachebpf_policy *policy) {
        const Case *c = recording()->c;
        int r = recording()->original->policy_init(policy);
        size_t n;

        if (r >= 0 && host.buckets.bytes_per_page != (c->bytes_per_page ?: c->model->bytes_per_page))
                host_fail("it remembers pages in %u bytes each", host.buckets.bytes_per_page);
        if (r < 0 || c->room == ROOM_AS_IT_IS)
                return r;
        buckets_done();
        n = c->room == ROOM_FOR_ALL ? MANY_BUCKETS : host.capacity * (c->room == ROOM_TWO_PER_PAGE ? 2 : 1);
        host.buckets = (Buckets) {
                .array = aligned_alloc(BUCKET_BYTES, n * BUCKET_BYTES),
                .n = n,
                .grow_at = UINT32_MAX,
        };
        if (!host.buckets.array)
                return -ENOMEM;
        memset(host.buckets.array, 0, n * BUCKET_BYTES);
        return 0;
}

static void record_removed(struct cachebpf_policy *policy, struct cachebpf_folio *folio, __u32 why) {
        uint32_t *victims = recording()->victims;

        if (why == CACHEBPF_REMOVED_RECLAIM) {
                victims[++victims[0]] = pfn_of(folio) - 1;
                for (unsigned k = 0; k < MAX_RESIZES; k++)
                        if (recording()->c->resizes[k].after == victims[0])
                                host.capacity = recording()->c->resizes[k].to;
        }
        if (recording()->original->folio_removed)
                recording()->original->folio_removed(policy, folio, why);
}

static void recording_init(Recording *r, const Case *c, const SimPolicy *policy, uint32_t *victims) {
        *r = (Recording) {
                .policy = *policy,
                .ops = *policy->ops,
                .original = policy->ops,
                .c = c,
                .victims = victims,
        };
        r->policy.ops = &r->ops;
        r->ops.policy_init = record_init;
        r->ops.folio_removed = record_removed;
}

/* ---- comparison */

static Trace *traces[_TRACE_KIND_MAX];

static void compare(const Case *c, uint32_t size, const Trace *t, const char *name, const SimResult *result,
                    const uint32_t *victims) {
        Game g = {
                .trace = t,
                .capacity = size,
                .batch = MIN(c->batch, size),
                .options = c->options,
                .resizes = c->resizes,
                .hints = victims + 1,
                .n_hints = victims[0],
        };
        const char *policy = c->model->policy;
        Outcome o;

        if (!result->done)
                fail_msg("%s, %s, %u pages: %s", policy, name, size, result->message);

        play(c->model, &g, &o);
        for (uint32_t i = 0; i < MIN(o.n_victims, victims[0]); i++)
                if (o.victims[i] != victims[i + 1])
                        fail_msg("%s, case %zu, %s, %u pages: number %u to go, at request %u, is page %u "
                                 "instead of %u", policy, (size_t) (c - cases), name, size, i + 1,
                                 o.requests[i], victims[i + 1], o.victims[i]);
        assert_int_equal(victims[0], o.n_victims);
        assert_int_equal(result->stats.misses, o.misses);
        assert_int_equal(result->stats.evict_calls, o.calls);
        assert_int_equal(result->stats.evict_fallback, 0);
        assert_int_equal(result->stats.rejected, 0);
        outcome_done(&o);
}

/* One after the other, for each size. */
static void run_on(const Case *c, TraceKind kind, const SimPolicy *policy, const SimSetting *settings,
                   size_t n_settings) {
        Recording recordings[ELEMENTSOF(c->sizes)];
        SimResult results[ELEMENTSOF(c->sizes)];
        SimRun runs[ELEMENTSOF(c->sizes)];
        size_t n = 0, length = (traces[kind]->n_requests + 1) * sizeof(uint32_t);
        uint8_t *shared = mmap(NULL, ELEMENTSOF(c->sizes) * length, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        assert_true(shared != MAP_FAILED);
        for (; n < ELEMENTSOF(c->sizes) && c->sizes[n] > 0; n++) {
                recording_init(recordings + n, c, policy, (uint32_t *) (shared + n * length));
                runs[n] = (SimRun) {
                        .policy = &recordings[n].policy,
                        .capacity = c->sizes[n],
                        .batch = MIN(c->batch, c->sizes[n]),
                        .settings = settings,
                        .n_settings = n_settings,
                };
        }
        assert_int_equal(sim_run_all(traces[kind], runs, n, 0, results), 0);
        for (size_t i = 0; i < n; i++)
                compare(c, c->sizes[i], traces[kind], trace_kind_to_string(kind), results + i,
                        recordings[i].victims);
        (void) munmap(shared, ELEMENTSOF(c->sizes) * length);
}

static void test_case(void **state) {
        const Case *c = *state;
        const SimPolicy *policy = sim_policy_find(c->model->policy);
        SimSetting settings[MAX_OPTIONS];
        size_t n_settings = 0;

        assert_non_null(policy);
        for (; n_settings < MAX_OPTIONS && c->options[n_settings].name; n_settings++) {
                settings[n_settings] = (SimSetting) {
                        .tunable = sim_tunable_find(policy, c->options[n_settings].name),
                        .value = c->options[n_settings].value,
                };
                assert_non_null(settings[n_settings].tunable);
        }

        for (TraceKind kind = 0; kind < _TRACE_KIND_MAX; kind++)
                if ((kind == TRACE_LARGE) == c->large)
                        run_on(c, kind, policy, settings, n_settings);
}

int main(int argc, char *argv[]) {
        struct CMUnitTest tests[ELEMENTSOF(cases)];
        int r;

        if (argc > 1)
                cmocka_set_test_filter(argv[1]);

        for (TraceKind kind = 0; kind < _TRACE_KIND_MAX; kind++) {
                traces[kind] = trace_make(kind);
                assert(traces[kind]);
        }
        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                tests[i] = (struct CMUnitTest) {
                        .name = cases[i].model->policy,
                        .test_func = test_case,
                        .initial_state = (void *) (cases + i),
                };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        r = cmocka_run_group_tests(tests, NULL, NULL);
        for (TraceKind kind = 0; kind < _TRACE_KIND_MAX; kind++)
                trace_free(traces[kind]);
        return r;
}
