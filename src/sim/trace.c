/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "trace.h"

#define INITIAL_REQUESTS 1024U
#define INITIAL_BUCKETS 1024U

/* Numbers by identity: open addressing, at most half full. */
typedef struct TraceIndex {
        size_t n_buckets; /* a power of two */
        struct {
                uint64_t id;
                uint32_t number; /* plus 1; 0: free */
        } *buckets;
        size_t n_keys_allocated;
} TraceIndex;

/* The finalizer of MurmurHash3 (public domain): ids are often consecutive numbers, and a key is a hash. */
uint64_t trace_key(uint64_t id) {
        uint64_t x = id;

        x ^= x >> 33;
        x *= UINT64_C(0xff51afd7ed558ccd);
        x ^= x >> 33;
        x *= UINT64_C(0xc4ceb9fe1a85ec53);
        x ^= x >> 33;
        return x;
}

int trace_new(Trace **ret) {
        _cleanup_(trace_freep) Trace *t = NULL;

        assert(ret);

        t = calloc(1, sizeof(*t));
        if (!t)
                return -ENOMEM;

        t->index = calloc(1, sizeof(*t->index));
        if (!t->index)
                return -ENOMEM;

        *ret = TAKE_PTR(t);
        return 0;
}

static int index_grow(TraceIndex *x) {
        size_t n = x->n_buckets > 0 ? x->n_buckets * 2 : INITIAL_BUCKETS;
        TraceIndex grown = { .n_buckets = n };

        grown.buckets = calloc(n, sizeof(*grown.buckets));
        if (!grown.buckets)
                return -ENOMEM;

        for (size_t i = 0; i < x->n_buckets; i++) {
                size_t to;

                if (x->buckets[i].number == 0)
                        continue;
                for (to = trace_key(x->buckets[i].id) & (n - 1); grown.buckets[to].number != 0;)
                        to = (to + 1) & (n - 1);
                grown.buckets[to] = x->buckets[i];
        }

        free(x->buckets);
        x->buckets = grown.buckets;
        x->n_buckets = n;
        return 0;
}

/* The bucket that an object has, or the free one that it would have. */
static size_t find_bucket(const TraceIndex *x, uint64_t id) {
        size_t i = trace_key(id) & (x->n_buckets - 1);

        while (x->buckets[i].number != 0 && x->buckets[i].id != id)
                i = (i + 1) & (x->n_buckets - 1);
        return i;
}

static bool grow(uint64_t **array, size_t n) {
        uint64_t *grown = reallocarray(*array, n, sizeof(*grown));

        if (!grown)
                return false;
        *array = grown;
        return true;
}

/* Finds the number of an object, or gives it the next one. */
static int number_of(Trace *t, uint64_t id, uint32_t *ret) {
        TraceIndex *x = t->index;
        size_t i;
        int r;

        if (t->n_objects >= x->n_buckets / 2) {
                r = index_grow(x);
                if (r < 0)
                        return r;
        }

        i = find_bucket(x, id);
        if (x->buckets[i].number != 0) {
                *ret = x->buckets[i].number - 1;
                return 0;
        }

        if (t->n_objects == TRACE_MAX_OBJECTS)
                return -E2BIG;

        if (t->n_objects == x->n_keys_allocated) {
                size_t n = x->n_keys_allocated > 0 ? x->n_keys_allocated * 2 : INITIAL_BUCKETS;

                if (!grow(&t->keys, n) || !grow(&t->ids, n))
                        return -ENOMEM;
                x->n_keys_allocated = n;
        }

        t->keys[t->n_objects] = trace_key(id);
        t->ids[t->n_objects] = id;
        x->buckets[i].id = id;
        x->buckets[i].number = t->n_objects + 1;
        *ret = t->n_objects++;
        return 0;
}

static bool is_known(const Trace *t, uint64_t id) {
        const TraceIndex *x = t->index;

        return x->n_buckets > 0 && x->buckets[find_bucket(x, id)].number != 0;
}

static int grow_requests(Trace *t) {
        size_t n = t->n_allocated > 0 ? t->n_allocated * 2 : INITIAL_REQUESTS;
        uint32_t *objects;

        objects = reallocarray(t->objects, n, sizeof(*objects));
        if (!objects)
                return -ENOMEM;
        t->objects = objects;

        if (t->flags) {
                uint8_t *flags;

                flags = realloc(t->flags, n);
                if (!flags)
                        return -ENOMEM;
                t->flags = flags;
        }
        if (t->managers) {
                uint8_t *managers;

                managers = realloc(t->managers, n);
                if (!managers)
                        return -ENOMEM;
                t->managers = managers;
        }

        t->n_allocated = n;
        return 0;
}

int trace_add(Trace *t, uint64_t id, uint8_t flags) {
        int r;

        assert(t);
        assert(t->index);

        /* what nobody has asked for cannot leave, and is none of the trace's pages */
        if (flags & TRACE_REMOVE && !is_known(t, id))
                return 0;

        if (t->n_requests == TRACE_MAX_REQUESTS)
                return -E2BIG;

        if (t->n_requests == t->n_allocated) {
                r = grow_requests(t);
                if (r < 0)
                        return r;
        }

        if (flags != 0 && !t->flags) {
                t->flags = calloc(t->n_allocated, 1);
                if (!t->flags)
                        return -ENOMEM;
        }
        if (t->manager != 0 && !t->managers) {
                t->managers = calloc(t->n_allocated, 1);
                if (!t->managers)
                        return -ENOMEM;
        }

        r = number_of(t, id, t->objects + t->n_requests);
        if (r < 0)
                return r;

        if (t->flags)
                t->flags[t->n_requests] = flags;
        if (t->managers)
                t->managers[t->n_requests] = t->manager;
        t->n_requests++;
        return 0;
}

int trace_set_manager(Trace *t, const char *name) {
        uint8_t i = 0;

        assert(t);

        if (name)
                for (i = 1; i != 0 && t->manager_names[i]; i++)
                        if (strcmp(t->manager_names[i], name) == 0)
                                break;
        if (name && i == 0)
                return -E2BIG;
        if (name && !t->manager_names[i]) {
                t->manager_names[i] = strdup(name);
                if (!t->manager_names[i])
                        return -ENOMEM;
        }
        t->manager = i;
        return 0;
}

static TraceIndex *index_free(TraceIndex *x) {
        if (!x)
                return NULL;

        free(x->buckets);
        return mfree(x);
}

void trace_seal(Trace *t) {
        assert(t);

        t->index = index_free(t->index);
}

Trace *trace_free(Trace *t) {
        if (!t)
                return NULL;

        index_free(t->index);
        free(t->objects);
        free(t->flags);
        free(t->managers);
        free(t->keys);
        free(t->ids);
        for (size_t i = 0; i < t->n_files; i++)
                free(t->files[i]);
        free(t->files);
        for (size_t i = 0; i <= TRACE_MAX_MANAGERS; i++)
                free(t->manager_names[i]);
        return mfree(t);
}
