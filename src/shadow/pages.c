/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>

#include "pages.h"
#include "sim/cache.h"

typedef struct Page {
        uint64_t key; /* the first, which the table has pointers to */
        GList link;   /* in "free" */
} Page;

static Page *pages;       /* by the numbers of objects */
static Trace trace;       /* of these, and without requests */
static GHashTable *by_key; /* a set of Page */
/* Those that are not cached: first what means nothing, then what was evicted, the newest last. */
static GQueue free_pages;

static uint32_t number_of(const Page *p) {
        return (uint32_t) (p - pages);
}

static void forget(Page *p) {
        g_hash_table_remove(by_key, p);
        cache_forget(number_of(p));
}

static void left(uint32_t object, bool reclaimed) {
        Page *p = pages + object;

        if (reclaimed) {
                g_queue_push_tail_link(&free_pages, &p->link);
                return;
        }
        forget(p);
        g_queue_push_head_link(&free_pages, &p->link);
}

int pages_begin(const SimPolicy *policy, uint32_t capacity, uint32_t scale, uint32_t batch) {
        /* Those that are cached, those that are remembered, and the one that comes. */
        uint32_t n = 2 * capacity + 1;

        pages = g_new0(Page, n);
        by_key = g_hash_table_new(g_int64_hash, g_int64_equal);
        trace = (Trace) { .n_objects = n, .keys = g_new0(uint64_t, n) };
        trace.ids = trace.keys;
        for (uint32_t i = 0; i < n; i++) {
                pages[i].link.data = pages + i;
                g_queue_push_tail_link(&free_pages, &pages[i].link);
        }

        return cache_begin(policy, &trace, &(CacheSettings) {
                                   .capacity = capacity,
                                   .scale = scale,
                                   .batch = batch,
                                   .left = left,
                           });
}

static Page *take_page(uint64_t key) {
        Page *p = g_queue_pop_head_link(&free_pages)->data;

        if (g_hash_table_lookup(by_key, p) == p)
                forget(p);
        p->key = key;
        /* the keys of a sample are small numbers; policies take their buckets from the upper bits */
        trace.keys[number_of(p)] = trace_key(key);
        g_hash_table_add(by_key, p);
        return p;
}

bool pages_use(uint64_t key) {
        Page *p = g_hash_table_lookup(by_key, &key);

        if (!p)
                p = take_page(key);
        else if (!cache_has(number_of(p)))
                g_queue_unlink(&free_pages, &p->link);
        return cache_request(number_of(p), 0, 0);
}

void pages_remove(uint64_t key) {
        Page *p = g_hash_table_lookup(by_key, &key);

        if (p)
                (void) cache_request(number_of(p), TRACE_REMOVE, 0);
}

void pages_end(void) {
        cache_clear();
        g_queue_init(&free_pages);
        g_hash_table_unref(by_key);
        free(trace.keys);
        free(pages);
}
