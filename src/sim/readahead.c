/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads of a trace as mm/readahead.c would see them, of a device whose windows have 128 KiB at most. */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "host-state.h"
#include "lib/readahead.bpf.h"
#include "readahead.h"
#include "shared/readahead-setting.h"

#define STOCK_WINDOW 32U

static_assert(READAHEAD_SETTING_STOCK == READAHEAD_STOCK &&
              READAHEAD_SETTING_ADAPTIVE == READAHEAD_ADAPTIVE, "settings are the same as in policies");

typedef struct Window {
        uint64_t start;
        uint32_t size;
        uint32_t async_size;
} Window;

typedef struct File {
        uint64_t n_pages;
        uint64_t prev_end; /* behind the last read; 0: there was none */
        Window last;
} File;

/* Pages that the trace does not ask for take a number of their own when they are read ahead, until they are
 * evicted. */
typedef struct Model {
        uint32_t setting;
        uint32_t capacity;
        Trace trace;         /* with numbers for those */
        uint32_t n_asked;    /* objects of the trace itself */
        uint32_t last_taken; /* of the other numbers */
        GHashTable *objects; /* by id */
        bool *marked;        /* by object: PG_readahead */
        File *files;
        uint64_t n_reads, n_read_pages;
} Model;

/* What is asked of a policy, and the ranges that it adds. */
typedef struct Plan {
        struct cachebpf_readahead ra; /* the first member, which a policy knows */
        Window ranges[READAHEAD_RANGES];
        unsigned n_ranges;
} Plan;

/* A request that may cause reads. */
typedef struct Request {
        uint64_t file, page;
        uint8_t flags, manager;
        bool missing; /* else the page has a marker */
} Request;

int bpf_cachebpf_prefetch(struct cachebpf_readahead *ra, __u64 index, __u32 nr) {
        Plan *plan = (Plan *) ra;

        if (plan->n_ranges == READAHEAD_RANGES)
                return -ENOSPC;
        plan->ranges[plan->n_ranges++] = (Window) { .start = index, .size = nr };
        return 0;
}

/* ---- pages and their numbers */

static void model_done(Model *m) {
        if (m->objects)
                g_hash_table_unref(m->objects);
        free(m->trace.keys);
        free(m->trace.ids);
        free(m->marked);
        free(m->files);
}

static uint64_t file_of(uint64_t id) {
        return id >> TRACE_PAGE_BITS;
}

static uint64_t page_of(uint64_t id) {
        return id & ((UINT64_C(1) << TRACE_PAGE_BITS) - 1);
}

static void know_object(Model *m, uint32_t object) {
        g_hash_table_insert(m->objects, m->trace.ids + object, GUINT_TO_POINTER(object + 1));
}

/* Notes the sizes of files. Returns how many pages there are that the trace does not ask for. */
static uint64_t know_files(Model *m, const Trace *trace) {
        uint64_t n_files = 0, n_pages = 0;

        for (uint32_t o = 0; o < trace->n_objects; o++)
                n_files = MAX(n_files, file_of(trace->ids[o]) + 1);
        m->files = g_new0(File, n_files);
        for (uint32_t o = 0; o < trace->n_objects; o++) {
                File *f = m->files + file_of(trace->ids[o]);

                f->n_pages = MAX(f->n_pages, page_of(trace->ids[o]) + 1);
        }
        for (uint64_t i = 0; i < n_files; i++)
                n_pages += m->files[i].n_pages;
        return n_pages - trace->n_objects;
}

static int model_start(Model *m, const Trace *trace) {
        uint64_t n = know_files(m, trace);

        /* one more than can be cached at a time */
        n = MIN(n, m->capacity) + 1 + trace->n_objects;
        if (n > TRACE_MAX_OBJECTS)
                return -E2BIG;
        m->trace = *trace;
        m->trace.n_objects = n;
        m->trace.keys = g_new0(uint64_t, n);
        m->trace.ids = g_new(uint64_t, n);
        m->marked = g_new0(bool, n);
        m->n_asked = m->last_taken = trace->n_objects;
        m->objects = g_hash_table_new(g_int64_hash, g_int64_equal);

        memset(m->trace.ids, 0xff, n * sizeof(*m->trace.ids));
        for (uint32_t o = 0; o < trace->n_objects; o++) {
                m->trace.keys[o] = trace->keys[o];
                m->trace.ids[o] = trace->ids[o];
                know_object(m, o);
        }
        return 0;
}

/* The number of a page that has one; 0 is none, else it is one more. */
static uint32_t find_object(const Model *m, uint64_t id) {
        return GPOINTER_TO_UINT(g_hash_table_lookup(m->objects, &id));
}

/* The same of any page, which may take one that nothing cached has. */
static uint32_t take_object(Model *m, uint64_t id) {
        uint32_t object = find_object(m, id);

        if (object > 0)
                return object - 1;

        object = m->last_taken;
        do
                object = object + 1 < m->trace.n_objects ? object + 1 : m->n_asked;
        while (cache_has(object));
        m->last_taken = object;

        g_hash_table_remove(m->objects, m->trace.ids + object);
        cache_forget(object);
        m->trace.ids[object] = id;
        m->trace.keys[object] = trace_key(id);
        know_object(m, object);
        return object;
}

static uint64_t id_of(uint64_t file, uint64_t page) {
        return file << TRACE_PAGE_BITS | page;
}

static bool is_cached(const Model *m, uint64_t file, uint64_t page) {
        uint32_t object = find_object(m, id_of(file, page));

        return object > 0 && cache_has(object - 1);
}

/* ---- without a policy */

static uint32_t next_size(uint32_t size) {
        if (size < STOCK_WINDOW / 16)
                return 4 * size;
        return size <= STOCK_WINDOW / 2 ? 2 * size : STOCK_WINDOW;
}

/* page_cache_sync_ra() */
static Window plan_miss(const Model *m, const Request *r, File *f) {
        uint32_t before = 0;

        if (r->page == 0 || (f->prev_end > 0 && r->page - f->prev_end <= 1))
                return f->last = (Window) { .start = r->page, .size = 4, .async_size = 3 };

        /* are pages before it there, as of a stream? */
        while (before < MIN(r->page, STOCK_WINDOW) && is_cached(m, r->file, r->page - before - 1))
                before++;
        if (before <= 1)
                return (Window) { .start = r->page, .size = 1 };
        if (before == r->page)
                before *= 2;
        return f->last = (Window) {
                .start = r->page,
                .size = MIN(before + 1, STOCK_WINDOW),
                .async_size = 1,
        };
}

/* page_cache_async_ra() */
static Window plan_marked(const Model *m, const Request *r, File *f) {
        Window w = f->last;

        if (r->page == w.start + w.size - w.async_size) {
                w.start += w.size;
                w.size = next_size(w.size);
        } else {
                uint32_t there = 1;

                while (there <= STOCK_WINDOW && is_cached(m, r->file, r->page + there))
                        there++;
                if (there > STOCK_WINDOW)
                        return (Window) {};
                w.start = r->page + there;
                w.size = next_size(there + 1);
        }
        w.async_size = w.size;
        return f->last = w;
}

/* ---- with one */

/* Asks the policy, or the kernel if it has no plan. */
static Window make_plan(Model *m, const Request *r, File *f, Plan *plan) {
        struct cachebpf_readahead *ra = &plan->ra;
        Window w;

        *plan = (Plan) {
                .ra = {
                        .ino = host_file_ino(r->file),
                        .stream = host_file_ino(r->file),
                        .dev = 1,
                        .index = r->page,
                        .file_pages = f->n_pages,
                        .prev_end = f->prev_end,
                        .room = host.capacity - MIN(host.capacity, host.n_cached),
                        .limit = host.capacity,
                        .wanted = 1,
                        .last_window = f->last.size,
                        .stock_window = STOCK_WINDOW,
                        .reason = r->missing ? CACHEBPF_READAHEAD_MISS : CACHEBPF_READAHEAD_MARKER,
                },
        };
        if (!readahead_plan(ra, m->setting))
                return r->missing ? plan_miss(m, r, f) : plan_marked(m, r, f);

        w = (Window) { .start = ra->start, .size = ra->size, .async_size = ra->async_size };
        /* what is wanted is no window */
        if (w.size > (r->missing ? ra->wanted : 0))
                f->last = w;
        return w;
}

/* ---- reads */

/* Brings in what is missing of the window. The page of the request, which the cache has by now, or rejected,
 * is one of those that are read. */
static void fill(Model *m, const Request *r, const Window *w) {
        uint64_t end = MIN(w->start + w->size, m->files[r->file].n_pages);
        uint64_t mark = w->async_size > 0 ? w->start + w->size - w->async_size : UINT64_MAX;
        bool reading = false; /* the page before, in the same request to the disk */

        for (uint64_t page = w->start; page < end; page++) {
                uint32_t object = take_object(m, id_of(r->file, page));
                bool own = r->missing && page == r->page;

                if (!own && cache_has(object)) {
                        reading = false;
                        continue;
                }
                m->n_reads += !reading;
                m->n_read_pages++;
                reading = true;
                m->marked[object] = page == mark;
                if (!own)
                        (void) cache_request(object, TRACE_READAHEAD | (r->flags & TRACE_CLASS_MASK),
                                             r->manager);
        }
}

static void read_page(Model *m, uint32_t object, uint8_t flags, uint8_t manager) {
        Request r = {
                .file = file_of(m->trace.ids[object]),
                .page = page_of(m->trace.ids[object]),
                .flags = flags,
                .manager = manager,
                .missing = !cache_has(object),
        };
        File *f = m->files + r.file;

        (void) cache_request(object, flags, manager);
        if (r.missing || m->marked[object]) {
                Plan plan;
                Window w;

                m->marked[object] = false;
                w = make_plan(m, &r, f, &plan);
                fill(m, &r, &w);
                for (unsigned i = 0; i < plan.n_ranges; i++)
                        fill(m, &r, plan.ranges + i);
        }
        f->prev_end = r.page + 1;
}

static void play_requests(Model *m) {
        for (size_t i = 0; i < m->trace.n_requests; i++) {
                uint32_t object = m->trace.objects[i];
                uint8_t flags = trace_flags(&m->trace, i);
                uint8_t manager = m->trace.managers ? m->trace.managers[i] : 0;

                if (flags & TRACE_READAHEAD)
                        continue;
                if (!(flags & (TRACE_WRITE | TRACE_REMOVE))) {
                        read_page(m, object, flags, manager);
                        continue;
                }
                m->marked[object] = m->marked[object] && cache_has(object);
                (void) cache_request(object, flags, manager);
        }
}

/* What policies learned of the play before. */
static void forget_streams(void) {
        memset(readahead_streams, 0, sizeof(readahead_streams));
        memset(readahead_learned, 0, sizeof(readahead_learned));
        readahead_begun = false;
}

int readahead_play(const SimPolicy *policy, const Trace *trace, const CacheSettings *with, uint32_t setting,
                   SimStats *ret) {
        __attribute__((__cleanup__(model_done))) Model m = { .setting = setting };
        CacheSettings settings;
        int r;

        assert(trace);
        assert(trace->has_files);
        assert(with);
        assert(ret);

        m.capacity = with->capacity;
        settings = *with;
        settings.ahead_hits = true;
        settings.plans = setting != READAHEAD_STOCK;
        *ret = (SimStats) {};
        r = model_start(&m, trace);
        if (r < 0)
                return r;

        forget_streams();
        r = cache_begin(policy, &m.trace, &settings);
        if (r >= 0) {
                play_requests(&m);
                r = cache_end();
                *ret = *cache_stats();
                ret->reads = m.n_reads;
                ret->read_pages = m.n_read_pages;
        }
        cache_clear();
        return r;
}
