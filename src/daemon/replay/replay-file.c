/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <limits.h>

#include "replay-file.h"
#include "shared/kept-file.h"
#include "shared/string-util.h"

#define MAGIC "cacherpl"
#define VERSION 1U
/* On a machine of the other byte order it reads as something else. */
#define ORDER 0x01020304U
#define SUM_SIZE 32U
#define FILE_SIZE_MAX (16U << 20)

/* recorded_at; of each file path, ino, size, mtime_sec, mtime_nsec, and the first page and number of
 * pages of each range */
#define FILE_TYPE "(ayttxua(tt))"
#define TYPE "(ta" FILE_TYPE ")"

typedef struct Header {
        char magic[8];
        uint32_t order;
        uint32_t version;
        uint8_t sum[SUM_SIZE]; /* of all that follows */
} Header;

static_assert(sizeof(Header) % 8 == 0, "what follows is aligned");

static void sum_of(const void *data, size_t size, uint8_t ret[static SUM_SIZE]) {
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
        gsize n = SUM_SIZE;

        g_checksum_update(sum, data, (gssize) size);
        g_checksum_get_digest(sum, ret, &n);
}

void replay_file_seal(void *data, size_t size) {
        if (size > sizeof(Header))
                sum_of((const uint8_t *) data + sizeof(Header), size - sizeof(Header),
                       (uint8_t *) data + offsetof(Header, sum));
}

/* ---- reading */

static int read_ranges(GVariantIter *ranges, RecordedFile *f) {
        uint64_t first, n, end = 0, n_pages = file_pages(f->size);

        while (g_variant_iter_next(ranges, "(tt)", &first, &n)) {
                if (n == 0 || first >= n_pages || n > n_pages - first ||
                    (f->ranges->len > 0 && first <= end))
                        return -EBADMSG;
                end = first + n;
                recorded_file_add(f, first, n, /* gap= */ 0);
        }

        return f->ranges->len > 0 ? 0 : -EBADMSG;
}

static int read_file(GVariant *v, RecordedFile *f) {
        g_autoptr(GVariant) path = g_variant_get_child_value(v, 0);
        g_autoptr(GVariantIter) ranges = NULL;
        const char *s = g_variant_get_bytestring(path);

        if (s[0] != '/' || strlen(s) >= PATH_MAX || strlen(s) + 1 != g_variant_get_size(path))
                return -EBADMSG;

        f->path = strdup(s);
        g_variant_get(v, "(@ayttxua(tt))", NULL, &f->ino, &f->size, &f->mtime_sec, &f->mtime_nsec, &ranges);
        return read_ranges(ranges, f);
}

static int read_files(GVariant *v, Recording *ret) {
        _cleanup_recording_ Recording r = { .files = g_ptr_array_new_with_free_func(recorded_file_free) };
        g_autoptr(GVariant) files = g_variant_get_child_value(v, 1);

        if (g_variant_n_children(files) > RECORDING_FILES_MAX)
                return -EBADMSG;

        g_variant_get_child(v, 0, "t", &r.recorded_at);
        for (gsize i = 0; i < g_variant_n_children(files); i++) {
                g_autoptr(GVariant) file = g_variant_get_child_value(files, i);
                RecordedFile *f = recorded_file_new();

                g_ptr_array_add(r.files, f);
                if (read_file(file, f) < 0)
                        return -EBADMSG;
        }
        if (recording_summarize(&r).n_pages > RECORDING_PAGES_MAX)
                return -EBADMSG;

        *ret = TAKE_STRUCT(r);
        return 0;
}

int replay_file_parse(const void *data, size_t size, Recording *ret) {
        const uint8_t *content = (const uint8_t *) data + sizeof(Header);
        g_autoptr(GBytes) bytes = NULL;
        g_autoptr(GVariant) v = NULL;
        uint8_t sum[SUM_SIZE];
        Header h;

        if (size <= sizeof(h))
                return -EBADMSG;
        memcpy(&h, data, sizeof(h));
        if (memcmp(h.magic, MAGIC, sizeof(h.magic)) != 0)
                return -EBADMSG;
        if (h.order != ORDER || h.version != VERSION)
                return -EPROTONOSUPPORT;
        sum_of(content, size - sizeof(h), sum);
        if (memcmp(sum, h.sum, sizeof(sum)) != 0)
                return -EBADMSG;

        bytes = g_bytes_new(content, size - sizeof(h)); /* a copy, which is aligned */
        v = g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(TYPE), bytes, /* trusted= */ FALSE));
        return g_variant_is_normal_form(v) ? read_files(v, ret) : -EBADMSG;
}

int replay_file_load(int dir_fd, const char *name, Recording *ret) {
        g_autofree char *data = NULL;
        size_t size = 0;
        int r;

        r = kept_read(dir_fd, name, FILE_SIZE_MAX, &data, &size);
        return r < 0 ? r : replay_file_parse(data, size, ret);
}

/* ---- writing */

static GVariant *build(const Recording *r) {
        GVariantBuilder files;

        g_variant_builder_init(&files, G_VARIANT_TYPE("a" FILE_TYPE));
        for (guint i = 0; i < r->files->len; i++) {
                const RecordedFile *f = r->files->pdata[i];
                GVariantBuilder ranges;

                g_variant_builder_init(&ranges, G_VARIANT_TYPE("a(tt)"));
                for (guint k = 0; k < f->ranges->len; k++) {
                        const RecordedRange *x = &g_array_index(f->ranges, RecordedRange, k);

                        g_variant_builder_add(&ranges, "(tt)", x->first, x->n);
                }
                g_variant_builder_add(&files, "(^ayttxua(tt))", f->path, f->ino, f->size, f->mtime_sec,
                                      f->mtime_nsec, &ranges);
        }

        return g_variant_ref_sink(g_variant_new(TYPE, r->recorded_at, &files));
}

int replay_file_save(int dir_fd, const char *name, const Recording *r) {
        g_autoptr(GVariant) v = build(r);
        Header h = { .magic = MAGIC, .order = ORDER, .version = VERSION };
        const struct iovec parts[] = {
                { &h, sizeof(h) },
                { (void *) g_variant_get_data(v), g_variant_get_size(v) },
        };

        sum_of(parts[1].iov_base, parts[1].iov_len, h.sum);
        return kept_save(dir_fd, name, parts, ELEMENTSOF(parts));
}
