/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <endian.h>
#include <glib.h>
#include <unistd.h>
#include <zstd.h>

#include "shared/file-util.h"
#include "trace-record.h"
#include "trace.h"

#define BUFFER_SIZE 65536U
#define ITEM_MAX 512U /* more than an access has, with all that it introduces */
#define ZSTD_LEVEL 3

typedef struct FileKey {
        uint64_t inode;
        uint32_t device, generation;
} FileKey;

typedef struct File {
        FileKey key;
        uint64_t number, next_page;
} File;

typedef struct Thread {
        uint32_t tid;
        char name[RECORD_NAME_MAX + 1];
        uint64_t number;
} Thread;

struct RecordWriter {
        int fd;
        ZSTD_CCtx *zstd; /* NULL: not compressed */
        uint8_t *compressed;
        uint8_t buffer[BUFFER_SIZE];
        size_t n;

        GHashTable *files, *threads, *managers;
        File *file; /* of the last access */
        Thread *thread;
        uint64_t manager; /* as in the file */
        uint64_t time;
        uint64_t n_accesses, n_lost;
};

/* ---- output */

static int flush(RecordWriter *w, bool end) {
        ZSTD_inBuffer in = { .src = w->buffer, .size = w->n };
        size_t left;
        int r;

        w->n = 0;
        if (!w->zstd)
                return write_all(w->fd, in.src, in.size);

        do {
                ZSTD_outBuffer out = { .dst = w->compressed, .size = ZSTD_CStreamOutSize() };

                left = ZSTD_compressStream2(w->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
                if (ZSTD_isError(left))
                        return -EIO;
                r = write_all(w->fd, out.dst, out.pos);
                if (r < 0)
                        return r;
        } while (end ? left > 0 : in.pos < in.size);

        return 0;
}

static int reserve(RecordWriter *w) {
        return w->n + ITEM_MAX > BUFFER_SIZE ? flush(w, /* end= */ false) : 0;
}

static void put_varint(RecordWriter *w, uint64_t v) {
        for (; v >= 0x80; v >>= 7)
                w->buffer[w->n++] = (uint8_t) (v | 0x80);
        w->buffer[w->n++] = (uint8_t) v;
}

static void put_header(RecordWriter *w, uint64_t realtime) {
        uint32_t version = htole32(RECORD_VERSION), page_size = htole32(TRACE_PAGE_SIZE);

        realtime = htole64(realtime);
        memcpy(w->buffer, RECORD_MAGIC, RECORD_MAGIC_SIZE);
        memcpy(w->buffer + 8, &version, sizeof(version));
        memcpy(w->buffer + 12, &page_size, sizeof(page_size));
        memcpy(w->buffer + 16, &realtime, sizeof(realtime));
        w->n = RECORD_HEADER_SIZE;
}

/* ---- files and threads */

static guint file_hash(gconstpointer p) {
        const FileKey *k = p;
        uint64_t h = (k->inode ^ (uint64_t) k->device << 32 ^ k->generation) * UINT64_C(0x9e3779b97f4a7c15);

        return (guint) (h >> 32);
}

static gboolean file_equal(gconstpointer a, gconstpointer b) {
        const FileKey *x = a, *y = b;

        return x->inode == y->inode && x->device == y->device && x->generation == y->generation;
}

static guint thread_hash(gconstpointer p) {
        const Thread *t = p;

        return t->tid * 31 + g_str_hash(t->name);
}

/* A thread that changes its name is another one from then on. */
static gboolean thread_equal(gconstpointer a, gconstpointer b) {
        const Thread *x = a, *y = b;

        return x->tid == y->tid && streq(x->name, y->name);
}

static File *get_file(RecordWriter *w, const RecordAccess *a) {
        FileKey key = { .inode = a->inode, .device = a->device, .generation = a->generation };
        File *f;

        if (w->file && file_equal(&w->file->key, &key))
                return w->file;

        f = g_hash_table_lookup(w->files, &key);
        if (f)
                return f;

        f = g_new(File, 1);
        *f = (File) { .key = key, .number = g_hash_table_size(w->files) };
        g_hash_table_insert(w->files, &f->key, f);

        w->buffer[w->n++] = RECORD_FILE;
        put_varint(w, a->device);
        put_varint(w, a->inode);
        put_varint(w, a->generation);
        return f;
}

static Thread *get_thread(RecordWriter *w, const RecordAccess *a) {
        Thread key = { .tid = a->tid }, *t;
        size_t length;

        if (a->thread)
                strncpy(key.name, a->thread, RECORD_NAME_MAX);
        if (w->thread && thread_equal(w->thread, &key))
                return w->thread;

        t = g_hash_table_lookup(w->threads, &key);
        if (t)
                return t;

        key.number = g_hash_table_size(w->threads);
        t = g_memdup2(&key, sizeof(key));
        g_hash_table_add(w->threads, t);

        length = strlen(t->name);
        w->buffer[w->n++] = RECORD_THREAD;
        put_varint(w, a->tid);
        put_varint(w, length);
        memcpy(w->buffer + w->n, t->name, length);
        w->n += length;
        return t;
}

/* 0: nobody's; else one more than the number, which is the value in the table. */
static uint64_t get_manager(RecordWriter *w, const RecordAccess *a) {
        size_t length;
        uint64_t number;

        if (!a->manager)
                return 0;
        number = GPOINTER_TO_SIZE(g_hash_table_lookup(w->managers, a->manager));
        if (number > 0)
                return number;

        number = g_hash_table_size(w->managers) + 1;
        g_hash_table_insert(w->managers, g_strdup(a->manager), GSIZE_TO_POINTER(number));

        length = strnlen(a->manager, RECORD_MANAGER_MAX);
        w->buffer[w->n++] = RECORD_MANAGER;
        put_varint(w, length);
        memcpy(w->buffer + w->n, a->manager, length);
        w->n += length;
        return number;
}

/* ---- for callers */

int record_writer_new(int fd, bool zstd, uint64_t realtime, RecordWriter **ret) {
        _cleanup_(record_writer_freep) RecordWriter *w = NULL;

        assert(fd >= 0);
        assert(ret);

        w = g_new0(RecordWriter, 1);
        w->fd = fd;
        w->files = g_hash_table_new_full(file_hash, file_equal, NULL, g_free);
        w->threads = g_hash_table_new_full(thread_hash, thread_equal, g_free, NULL);
        w->managers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        if (zstd) {
                w->zstd = ZSTD_createCCtx();
                if (!w->zstd)
                        return -ENOMEM;
                w->compressed = g_malloc(ZSTD_CStreamOutSize());
                if (ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)))
                        return -EINVAL;
        }

        put_header(w, realtime);
        *ret = TAKE_PTR(w);
        return 0;
}

RecordWriter *record_writer_free(RecordWriter *w) {
        if (!w)
                return NULL;

        g_clear_pointer(&w->files, g_hash_table_unref);
        g_clear_pointer(&w->threads, g_hash_table_unref);
        g_clear_pointer(&w->managers, g_hash_table_unref);
        (void) ZSTD_freeCCtx(w->zstd);
        free(w->compressed);
        return mfree(w);
}

static uint8_t op_bits(uint8_t flags) {
        return flags & TRACE_REMOVE ? 3 : flags & TRACE_READAHEAD ? 2 : flags & TRACE_WRITE ? 1 : 0;
}

int record_writer_access(RecordWriter *w, const RecordAccess *a) {
        uint8_t tag = RECORD_ACCESS;
        uint64_t manager;
        Thread *thread;
        File *file;
        int r;

        assert(w);
        assert(a);
        assert(a->n_pages > 0);

        r = reserve(w);
        if (r < 0)
                return r;

        file = get_file(w, a);
        thread = get_thread(w, a);
        manager = get_manager(w, a);

        tag |= op_bits(a->flags);
        if (file == w->file)
                tag |= RECORD_SAME_FILE;
        if (thread == w->thread)
                tag |= RECORD_SAME_THREAD;
        if (a->n_pages == 1)
                tag |= RECORD_ONE_PAGE;
        if (manager != w->manager)
                tag |= RECORD_OTHER_MANAGER;

        w->buffer[w->n++] = tag;
        if (!(tag & RECORD_SAME_FILE))
                put_varint(w, file->number);
        if (!(tag & RECORD_SAME_THREAD))
                put_varint(w, thread->number);
        if (tag & RECORD_OTHER_MANAGER)
                put_varint(w, manager);
        put_varint(w, record_fold((int64_t) (a->page - file->next_page)));
        if (!(tag & RECORD_ONE_PAGE))
                put_varint(w, a->n_pages);
        put_varint(w, w->n_accesses == 0 ? 0 : record_fold((int64_t) (a->time - w->time)));

        file->next_page = a->page + a->n_pages;
        w->file = file;
        w->thread = thread;
        w->manager = manager;
        w->time = a->time;
        w->n_accesses++;
        return 0;
}

int record_writer_lost(RecordWriter *w, uint64_t n) {
        int r;

        assert(w);

        r = reserve(w);
        if (r < 0)
                return r;

        w->buffer[w->n++] = RECORD_LOST;
        put_varint(w, n);
        w->n_lost += n;
        return 0;
}

int record_writer_finish(RecordWriter *w) {
        int r;

        assert(w);

        r = reserve(w);
        if (r < 0)
                return r;

        w->buffer[w->n++] = RECORD_END;
        put_varint(w, w->n_accesses);
        put_varint(w, w->n_lost);
        return flush(w, /* end= */ true);
}
