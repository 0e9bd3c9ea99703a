/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <unistd.h>

#include "recording.h"
#include "shared/cleanup.h"

RecordedFile *recorded_file_new(void) {
        RecordedFile *f = g_new0(RecordedFile, 1);

        f->ranges = g_array_new(FALSE, FALSE, sizeof(RecordedRange));
        return f;
}

void recorded_file_free(void *p) {
        RecordedFile *f = p;

        g_array_unref(f->ranges);
        free(f->path);
        free(f);
}

void recorded_file_add(RecordedFile *f, uint64_t first, uint64_t n, uint64_t gap) {
        RecordedRange *last = f->ranges->len > 0 ?
                &g_array_index(f->ranges, RecordedRange, f->ranges->len - 1) : NULL;

        if (last && first - (last->first + last->n) <= gap)
                last->n = first + n - last->first;
        else
                g_array_append_val(f->ranges, ((RecordedRange) { .first = first, .n = n }));
}

void recording_done(Recording *r) {
        if (r->files)
                g_ptr_array_unref(r->files);
        *r = (Recording) {};
}

uint64_t file_pages(uint64_t size) {
        uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);

        return size / page + (size % page > 0);
}

uint64_t recorded_file_count_pages(const RecordedFile *f) {
        uint64_t n = 0;

        for (guint i = 0; i < f->ranges->len; i++)
                n += g_array_index(f->ranges, RecordedRange, i).n;
        return n;
}

RecordingSummary recording_summarize(const Recording *r) {
        RecordingSummary s = { .recorded_at = r->recorded_at };

        for (guint i = 0; r->files && i < r->files->len; i++) {
                const RecordedFile *f = r->files->pdata[i];

                s.n_files++;
                s.n_ranges += f->ranges->len;
                s.n_pages += recorded_file_count_pages(f);
        }
        return s;
}

char *recording_join_names(const char *names, size_t size) {
        _cleanup_gstring_ GString *path = g_string_new(NULL);

        if (size == 0 || names[size - 1] != 0)
                return NULL;

        for (size_t i = 0; i < size; i += strlen(names + i) + 1) {
                if (!names[i] || strchr(names + i, '/'))
                        return NULL;
                g_string_prepend(path, names + i);
                g_string_prepend_c(path, '/');
        }

        return strdup(path->str);
}

/* ---- from what was used */

/* The file of a chunk. */
static struct uses_file_key file_of(const UsedChunk *c) {
        return (struct uses_file_key) {
                .unit = c->key.unit, .ino = c->key.ino, .dev = c->key.dev, .generation = c->key.generation,
        };
}

static int compare_keys(const struct uses_file_key *x, const struct uses_file_key *y) {
        if (x->dev != y->dev)
                return x->dev < y->dev ? -1 : 1;
        if (x->ino != y->ino)
                return x->ino < y->ino ? -1 : 1;
        return x->generation < y->generation ? -1 : x->generation > y->generation;
}

static int compare_chunks(const void *a, const void *b) {
        const UsedChunk *x = a, *y = b;
        const struct uses_file_key f = file_of(x), g = file_of(y);
        int r = compare_keys(&f, &g);

        return r != 0 ? r : x->key.chunk < y->key.chunk ? -1 : x->key.chunk > y->key.chunk;
}

static void add_chunk(RecordedFile *f, const UsedChunk *c) {
        uint64_t begin = (uint64_t) c->key.chunk * USES_CHUNK_PAGES;

        for (unsigned i = 0; i < USES_CHUNK_PAGES; i++)
                if (c->value.pages >> i & 1)
                        recorded_file_add(f, begin + i, 1, RECORDING_GAP_MAX);
}

/* A file, and when it was used first. */
typedef struct Candidate {
        RecordedFile *file;
        uint64_t nsec;
} Candidate;

static int compare_candidates(const void *a, const void *b) {
        const Candidate *x = a, *y = b;

        return x->nsec < y->nsec ? -1 : x->nsec > y->nsec;
}

static int compare_files(const void *a, const void *b) {
        return compare_keys(&((const UsedFile *) a)->key, &((const UsedFile *) b)->key);
}

static char *find_path(GArray *files, const UsedChunk *c) {
        const UsedFile wanted = { .key = file_of(c) };
        const UsedFile *f;
        guint i;

        if (!g_array_binary_search(files, &wanted, compare_files, &i))
                return NULL;

        f = &g_array_index(files, UsedFile, i);
        return f->value.whole && f->value.size <= sizeof(f->value.names) ?
                recording_join_names(f->value.names, f->value.size) : NULL;
}

/* All chunks of the file, which begin at i; returns where those of the next file do. */
static guint add_file(GArray *files, GArray *chunks, guint i, GArray *candidates) {
        const UsedChunk *first = &g_array_index(chunks, UsedChunk, i);
        const struct uses_file_key file = file_of(first);
        RecordedFile *f = recorded_file_new();
        uint64_t nsec = UINT64_MAX;

        for (; i < chunks->len; i++) {
                const UsedChunk *c = &g_array_index(chunks, UsedChunk, i);
                const struct uses_file_key this = file_of(c);

                if (compare_keys(&this, &file) != 0)
                        break;
                nsec = MIN(nsec, c->value.nsec);
                add_chunk(f, c);
        }

        f->path = find_path(files, first);
        f->ino = file.ino;
        f->device = file.dev;
        if (f->path && f->ranges->len > 0)
                g_array_append_val(candidates, ((Candidate) { .file = f, .nsec = nsec }));
        else
                recorded_file_free(f);
        return i;
}

/* Leaves the first pages, no more than n. */
static void cut(RecordedFile *f, uint64_t n) {
        for (guint i = 0; i < f->ranges->len; i++) {
                RecordedRange *r = &g_array_index(f->ranges, RecordedRange, i);

                if (n == 0) {
                        g_array_set_size(f->ranges, i);
                        return;
                }
                r->n = MIN(r->n, n);
                n -= r->n;
        }
}

void recording_make(const Uses *uses, Recording *ret) {
        g_autoptr(GArray) chunks = g_array_copy(uses->chunks), files = g_array_copy(uses->files),
                          candidates = g_array_new(FALSE, FALSE, sizeof(Candidate));
        uint64_t n_pages = 0;

        g_array_sort(files, compare_files);
        g_array_sort(chunks, compare_chunks);
        for (guint i = 0; i < chunks->len;)
                i = add_file(files, chunks, i, candidates);
        g_array_sort(candidates, compare_candidates);

        *ret = (Recording) {
                .recorded_at = (uint64_t) g_get_real_time(),
                .files = g_ptr_array_new_with_free_func(recorded_file_free),
        };
        for (guint i = 0; i < candidates->len; i++) {
                RecordedFile *f = g_array_index(candidates, Candidate, i).file;

                if (ret->files->len < RECORDING_FILES_MAX)
                        cut(f, RECORDING_PAGES_MAX - n_pages);
                else
                        cut(f, 0);
                n_pages += recorded_file_count_pages(f);
                if (f->ranges->len > 0)
                        g_ptr_array_add(ret->files, f);
                else
                        recorded_file_free(f);
        }
}
