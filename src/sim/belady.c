/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "belady.h"

#define NEVER UINT32_MAX
#define NOT_CACHED UINT32_MAX

/* The cached objects as a heap, the one that is used last of all at its top. */
typedef struct Heap {
        uint32_t *objects;
        uint32_t n;
        uint32_t *places;   /* of each object in the heap, or NOT_CACHED */
        uint32_t *next_use; /* of each cached object: number of the request, or NEVER */
} Heap;

static void heap_put(Heap *h, uint32_t place, uint32_t object) {
        h->objects[place] = object;
        h->places[object] = place;
}

static void heap_up(Heap *h, uint32_t place) {
        uint32_t object = h->objects[place];

        while (place > 0) {
                uint32_t parent = (place - 1) / 2;

                if (h->next_use[h->objects[parent]] >= h->next_use[object])
                        break;
                heap_put(h, place, h->objects[parent]);
                place = parent;
        }
        heap_put(h, place, object);
}

static void heap_down(Heap *h, uint32_t place) {
        uint32_t object = h->objects[place];

        for (;;) {
                uint32_t child = 2 * place + 1;

                if (child >= h->n)
                        break;
                if (child + 1 < h->n &&
                    h->next_use[h->objects[child + 1]] > h->next_use[h->objects[child]])
                        child++;
                if (h->next_use[h->objects[child]] <= h->next_use[object])
                        break;
                heap_put(h, place, h->objects[child]);
                place = child;
        }
        heap_put(h, place, object);
}

static void heap_remove(Heap *h, uint32_t object) {
        uint32_t place = h->places[object], last = h->objects[--h->n];

        h->places[object] = NOT_CACHED;
        if (last == object)
                return;
        heap_put(h, place, last);
        heap_up(h, place);
        heap_down(h, h->places[last]);
}

static void heap_done(Heap *h) {
        free(h->objects);
        free(h->places);
        free(h->next_use);
}

/* For each request when its object is used again; NEVER if it is removed before. */
static uint32_t *find_next_uses(const Trace *trace) {
        uint32_t *next, *of_object;

        next = malloc(MAX(trace->n_requests, (size_t) 1) * sizeof(*next));
        of_object = malloc(MAX(trace->n_objects, 1U) * sizeof(*of_object));
        if (!next || !of_object) {
                free(of_object);
                return mfree(next);
        }

        for (uint32_t o = 0; o < trace->n_objects; o++)
                of_object[o] = NEVER;
        for (size_t i = trace->n_requests; i-- > 0;) {
                uint8_t flags = trace_flags(trace, i);
                uint32_t object = trace->objects[i];

                next[i] = of_object[object];
                if (flags & TRACE_REMOVE)
                        of_object[object] = NEVER;
                else if (!(flags & TRACE_READAHEAD))
                        of_object[object] = i;
        }

        free(of_object);
        return next;
}

/* A use of the object, which will be used again at the request "next". */
static void use(Heap *h, uint32_t object, uint32_t next, uint32_t capacity, SimStats *stats) {
        stats->requests++;
        if (h->places[object] != NOT_CACHED) {
                h->next_use[object] = next;
                heap_up(h, h->places[object]);
                return;
        }

        stats->misses++;
        if (h->n == capacity) {
                heap_remove(h, h->objects[0]);
                stats->evicted++;
        }
        h->next_use[object] = next;
        heap_put(h, h->n++, object);
        heap_up(h, h->n - 1);
        stats->added++;
}

int belady_run(const Trace *trace, uint32_t capacity, size_t warm_up, SimStats *ret) {
        _cleanup_(heap_done) Heap h = {};
        _cleanup_free_ uint32_t *next = NULL;
        _cleanup_free_ bool *seen = NULL;
        SimStats stats = {};

        assert(trace);
        assert(capacity > 0);
        assert(ret);

        next = find_next_uses(trace);
        h.objects = malloc(MIN(capacity, MAX(trace->n_objects, 1U)) * sizeof(*h.objects));
        h.places = malloc(MAX(trace->n_objects, 1U) * sizeof(*h.places));
        h.next_use = malloc(MAX(trace->n_objects, 1U) * sizeof(*h.next_use));
        seen = calloc(MAX(trace->n_objects, 1U), sizeof(*seen));
        if (!next || !h.objects || !h.places || !h.next_use || !seen)
                return -ENOMEM;

        for (uint32_t o = 0; o < trace->n_objects; o++)
                h.places[o] = NOT_CACHED;

        for (size_t i = 0; i < trace->n_requests; i++) {
                uint8_t flags = trace_flags(trace, i);
                uint32_t object = trace->objects[i];

                if (i == warm_up)
                        stats = (SimStats) {};
                if (flags & TRACE_REMOVE) {
                        if (h.places[object] != NOT_CACHED) {
                                heap_remove(&h, object);
                                stats.truncated++;
                        }
                } else if (flags & TRACE_READAHEAD)
                        stats.readahead++;
                else {
                        stats.cold_misses += !seen[object];
                        seen[object] = true;
                        use(&h, object, next[i], capacity, &stats);
                }
        }

        *ret = stats;
        return 0;
}
