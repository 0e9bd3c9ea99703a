/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>

#include "readahead.h"
#include "sim/trace.h"

/* More ranges do not wait for an access; a read ahead of one file is one range. */
#define MAX_WAITING 256U

struct Readahead {
        ReadaheadFunc func;
        void *userdata;
        GHashTable *threads; /* by id */
};

typedef struct Range {
        RecordAccess access;
        char thread[RECORD_NAME_MAX + 1];
} Range;

typedef struct Thread {
        GArray *ranges;    /* what it brought in and did not use yet */
        RecordAccess last; /* the last access; n_pages 0: there was none */
} Thread;

static void thread_free(void *p) {
        Thread *t = p;

        g_array_unref(t->ranges);
        free(t);
}

static Thread *get_thread(Readahead *r, uint32_t tid) {
        Thread *t = g_hash_table_lookup(r->threads, GUINT_TO_POINTER(tid));

        if (!t) {
                t = g_new0(Thread, 1);
                t->ranges = g_array_new(FALSE, FALSE, sizeof(Range));
                g_hash_table_insert(r->threads, GUINT_TO_POINTER(tid), t);
        }

        return t;
}

Readahead *readahead_new(ReadaheadFunc func, void *userdata) {
        Readahead *r = g_new(Readahead, 1);

        assert(func);

        *r = (Readahead) {
                .func = func,
                .userdata = userdata,
                .threads = g_hash_table_new_full(NULL, NULL, NULL, thread_free),
        };
        return r;
}

Readahead *readahead_free(Readahead *r) {
        if (!r)
                return NULL;

        g_hash_table_unref(r->threads);
        return mfree(r);
}

static bool same_file(const RecordAccess *a, const RecordAccess *b) {
        return a->inode == b->inode && a->device == b->device && a->generation == b->generation;
}

/* Pages "from" up to "to", not included, of the range were read ahead. */
static int send(Readahead *r, const Range *range, uint64_t from, uint64_t to) {
        RecordAccess a = range->access;

        if (from >= to)
                return 0;

        a.page = from;
        a.n_pages = to - from;
        a.flags = TRACE_READAHEAD;
        a.thread = range->thread;
        return r->func(&a, r->userdata);
}

/* Sends what waits for a thread, without the pages of "used" (NULL: none). */
static int settle(Readahead *r, GArray *ranges, const RecordAccess *used) {
        int k = 0;

        for (guint i = 0; i < ranges->len && k >= 0; i++) {
                const Range *range = &g_array_index(ranges, Range, i);
                uint64_t begin = range->access.page, end = begin + range->access.n_pages;

                if (!used || !same_file(&range->access, used)) {
                        k = send(r, range, begin, end);
                        continue;
                }

                k = send(r, range, begin, MIN(end, used->page));
                if (k >= 0)
                        k = send(r, range, MAX(begin, used->page + used->n_pages), end);
        }

        g_array_set_size(ranges, 0);
        return k;
}

static int append(Readahead *r, Thread *t, const RecordAccess *a, uint64_t from, uint64_t to) {
        Range range = { .access = *a }, *last;

        if (from >= to)
                return 0;

        last = t->ranges->len > 0 ? &g_array_index(t->ranges, Range, t->ranges->len - 1) : NULL;
        if (last && same_file(&last->access, a) && last->access.page + last->access.n_pages == from) {
                last->access.n_pages += to - from;
                return 0;
        }

        range.access.page = from;
        range.access.n_pages = to - from;
        strncpy(range.thread, a->thread ?: "", RECORD_NAME_MAX);
        g_array_append_val(t->ranges, range);
        return t->ranges->len > MAX_WAITING ? settle(r, t->ranges, /* used= */ NULL) : 0;
}

int readahead_added(Readahead *r, const RecordAccess *a) {
        Thread *t = get_thread(r, a->tid);
        uint64_t end = a->page + a->n_pages;
        int k;

        /* A long read is one access, seen when it has its first pages. */
        if (t->last.n_pages == 0 || !same_file(&t->last, a))
                return append(r, t, a, a->page, end);

        k = append(r, t, a, a->page, MIN(end, t->last.page));
        return k < 0 ? k : append(r, t, a, MAX(a->page, t->last.page + t->last.n_pages), end);
}

int readahead_access(Readahead *r, const RecordAccess *a) {
        Thread *t = get_thread(r, a->tid);
        int k;

        t->last = *a;
        t->last.thread = NULL; /* not ours */
        k = r->func(a, r->userdata);
        return k < 0 ? k : settle(r, t->ranges, a);
}

int readahead_gone(Readahead *r, const RecordAccess *a) {
        int k = readahead_flush(r);

        return k < 0 ? k : r->func(a, r->userdata);
}

int readahead_flush(Readahead *r) {
        GHashTableIter iter;
        gpointer thread;
        int k = 0;

        g_hash_table_iter_init(&iter, r->threads);
        while (k >= 0 && g_hash_table_iter_next(&iter, NULL, &thread))
                k = settle(r, ((Thread *) thread)->ranges, /* used= */ NULL);

        return k;
}
