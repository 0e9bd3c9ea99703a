/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The cache that models work for, and rows of pages. */

#include <string.h>

#include "reference.h"

int64_t option(const Cache *c, const char *name, int64_t by_default) {
        for (unsigned i = 0; i < MAX_OPTIONS && c->options; i++)
                if (c->options[i].name && strcmp(c->options[i].name, name) == 0)
                        return c->options[i].value;
        return by_default;
}

/* ---- rows */

GArray *row_new(void) {
        return g_array_new(false, false, sizeof(uint32_t));
}

uint32_t row_at(const GArray *row, uint32_t i) {
        g_assert(i < row->len);
        return g_array_index(row, uint32_t, i);
}

int64_t row_find(const GArray *row, uint32_t page) {
        for (uint32_t i = 0; i < row->len; i++)
                if (row_at(row, i) == page)
                        return i;
        return -1;
}

void row_add(GArray *row, uint32_t page) {
        g_array_append_val(row, page);
}

uint32_t row_shift(GArray *row) {
        uint32_t page = row_at(row, 0);

        g_array_remove_index(row, 0);
        return page;
}

bool row_take(GArray *row, uint32_t page) {
        int64_t i = row_find(row, page);

        if (i >= 0)
                g_array_remove_index(row, i);
        return i >= 0;
}

GArray *row_cut(GArray *row, uint32_t n) {
        GArray *cut = row_new();

        n = MIN(n, row->len);
        g_array_append_vals(cut, row->data, n);
        g_array_remove_range(row, 0, n);
        return cut;
}

void row_append(GArray *row, const GArray *other) {
        g_array_append_vals(row, other->data, other->len);
}

/* ---- the cache */

static void make_room(const Model *model, void *state, Cache *c, const Game *g, uint32_t request,
                      Outcome *o) {
        uint32_t victims[32], n, wanted = MIN(g->batch, c->n_cached);

        for (uint32_t done = 0; done < wanted; done += n) {
                c->hints = g->hints + MIN(o->n_victims, g->n_hints);
                c->n_hints = g->n_hints - MIN(o->n_victims, g->n_hints);
                n = model->evict(state, c, wanted - done, victims);
                o->calls++;
                g_assert(n > 0 && n <= wanted - done);
                for (uint32_t i = 0; i < n; i++) {
                        g_assert(c->cached[victims[i]]);
                        c->cached[victims[i]] = false;
                        c->n_cached--;
                        o->victims[o->n_victims] = victims[i];
                        o->requests[o->n_victims++] = request;
                        for (unsigned k = 0; k < MAX_RESIZES; k++)
                                if (g->resizes[k].after == o->n_victims)
                                        c->capacity = g->resizes[k].to;
                }
        }
}

/* Numbers for the files that the trace names, in the order of their first page. */
static uint32_t *number_files(const Trace *t) {
        g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL);
        uint32_t *files = g_new0(uint32_t, t->n_objects);

        for (uint32_t page = 0; t->has_files && page < t->n_objects; page++) {
                void *file = GSIZE_TO_POINTER(t->ids[page] >> TRACE_PAGE_BITS), *number;

                if (!g_hash_table_lookup_extended(numbers, file, NULL, &number)) {
                        number = GUINT_TO_POINTER(g_hash_table_size(numbers));
                        g_hash_table_insert(numbers, file, number);
                }
                files[page] = GPOINTER_TO_UINT(number);
        }
        return files;
}

void play(const Model *model, const Game *g, Outcome *ret) {
        const Trace *t = g->trace;
        g_autofree uint32_t *files = number_files(t);
        Cache c = {
                .capacity = g->capacity,
                .n_pages = t->n_objects,
                .keys = t->keys,
                .files = files,
                .options = g->options,
                .cached = g_new0(bool, t->n_objects),
                .uses = g_new0(uint32_t, t->n_objects),
        };
        void *state = model->begin(&c);

        *ret = (Outcome) {
                .victims = g_new(uint32_t, t->n_requests),
                .requests = g_new(uint32_t, t->n_requests),
        };

        for (uint32_t r = 0; r < t->n_requests; r++) {
                uint32_t page = t->objects[r];
                uint8_t flags = trace_flags(t, r);

                if (flags & TRACE_REMOVE) {
                        if (!c.cached[page])
                                continue;
                        model->removed(state, &c, page);
                        c.cached[page] = false;
                        c.n_cached--;
                        continue;
                }

                c.class = (flags & TRACE_CLASS_MASK) >> TRACE_CLASS_SHIFT;
                if (!c.cached[page]) {
                        if (c.n_cached >= c.capacity)
                                make_room(model, state, &c, g, r, ret);
                        c.cached[page] = true;
                        c.uses[page] = 0;
                        c.n_cached++;
                        model->added(state, &c, page);
                }
                if (flags & TRACE_READAHEAD)
                        continue;
                ret->misses += c.uses[page] == 0;
                if (c.uses[page]++ > 0 && model->used)
                        model->used(state, &c, page);
        }

        model->end(state);
        g_free(c.cached);
        g_free(c.uses);
}

void outcome_done(Outcome *o) {
        g_free(o->victims);
        g_free(o->requests);
}
