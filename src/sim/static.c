/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "static.h"

#define NOBODY UINT32_MAX

typedef struct Cache {
        bool *stays;   /* of each object: it is one of those that are never evicted */
        bool *cached;  /* of each object */
        uint32_t last; /* the one that does not stay and is cached, or NOBODY */
} Cache;

static void cache_done(Cache *c) {
        free(c->stays);
        free(c->cached);
}

typedef struct Candidate {
        uint32_t object;
        uint32_t hits; /* if it is never evicted */
} Candidate;

/* Who hits most comes first; the order of those that are equal does not matter, but is always the same. */
static int compare_candidates(const void *a, const void *b) {
        const Candidate *x = a, *y = b;

        return x->hits != y->hits ? (x->hits < y->hits) - (x->hits > y->hits) :
                                    (x->object > y->object) - (x->object < y->object);
}

/* How often each object would hit if only the trace itself removed it. */
static Candidate *count_hits(const Trace *trace) {
        _cleanup_free_ bool *cached = calloc(MAX(trace->n_objects, 1U), sizeof(*cached));
        Candidate *candidates = malloc(MAX(trace->n_objects, 1U) * sizeof(*candidates));

        if (!cached || !candidates)
                return mfree(candidates);

        for (uint32_t o = 0; o < trace->n_objects; o++)
                candidates[o] = (Candidate) { .object = o };
        for (size_t i = 0; i < trace->n_requests; i++) {
                uint8_t flags = trace_flags(trace, i);
                uint32_t object = trace->objects[i];

                if (flags & TRACE_READAHEAD)
                        continue;
                candidates[object].hits += cached[object] && !(flags & TRACE_REMOVE);
                cached[object] = !(flags & TRACE_REMOVE);
        }
        return candidates;
}

static int choose(Cache *c, const Trace *trace, uint32_t n) {
        _cleanup_free_ Candidate *candidates = count_hits(trace);

        if (!candidates)
                return -ENOMEM;

        qsort(candidates, trace->n_objects, sizeof(*candidates), compare_candidates);
        for (uint32_t i = 0; i < MIN(n, trace->n_objects); i++)
                c->stays[candidates[i].object] = true;
        return 0;
}

static void use(Cache *c, uint32_t object, SimStats *stats) {
        stats->requests++;
        if (c->cached[object])
                return;

        stats->misses++;
        stats->added++;
        c->cached[object] = true;
        if (c->stays[object])
                return;
        if (c->last != NOBODY) {
                c->cached[c->last] = false;
                stats->evicted++;
        }
        c->last = object;
}

static void discard(Cache *c, uint32_t object, SimStats *stats) {
        stats->truncated += c->cached[object];
        c->cached[object] = false;
        if (c->last == object)
                c->last = NOBODY;
}

int static_run(const Trace *trace, uint32_t capacity, size_t warm_up, SimStats *ret) {
        _cleanup_(cache_done) Cache c = { .last = NOBODY };
        _cleanup_free_ bool *seen = NULL;
        SimStats stats = {};
        int r;

        assert(trace);
        assert(capacity > 0);
        assert(ret);

        c.stays = calloc(MAX(trace->n_objects, 1U), sizeof(*c.stays));
        c.cached = calloc(MAX(trace->n_objects, 1U), sizeof(*c.cached));
        seen = calloc(MAX(trace->n_objects, 1U), sizeof(*seen));
        if (!c.stays || !c.cached || !seen)
                return -ENOMEM;
        r = choose(&c, trace, capacity - 1);
        if (r < 0)
                return r;

        for (size_t i = 0; i < trace->n_requests; i++) {
                uint8_t flags = trace_flags(trace, i);
                uint32_t object = trace->objects[i];

                if (i == warm_up)
                        stats = (SimStats) {};
                if (flags & TRACE_REMOVE)
                        discard(&c, object, &stats);
                else if (flags & TRACE_READAHEAD)
                        stats.readahead++;
                else {
                        stats.cold_misses += !seen[object];
                        seen[object] = true;
                        use(&c, object, &stats);
                }
        }

        *ret = stats;
        return 0;
}
