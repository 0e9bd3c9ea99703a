/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <bpf/bpf.h>

#include "learned-map.h"
#include "shared/cleanup.h"

/* Entries for one call into the kernel. A hash gives those of one bucket at once: there must not be more of
 * them than this. */
#define ENTRIES_AT_ONCE 4096U

/* The kernel wants keys and values apart. */
typedef struct Batch {
        uint8_t *keys, *values;
        uint32_t n;
} Batch;

static void batch_done(Batch *b) {
        g_free(b->keys);
        g_free(b->values);
}

static Batch batch_new(const LearnedShape *s) {
        uint32_t n = MIN(ENTRIES_AT_ONCE, s->max_entries);

        return (Batch) {
                .keys = g_malloc_n(n, s->key_size),
                .values = g_malloc_n(n, s->value_size),
                .n = n,
        };
}

int learned_map_get_shape(int map_fd, LearnedShape *ret) {
        struct bpf_map_info info = {};
        uint32_t size = sizeof(info);
        int r;

        r = bpf_map_get_info_by_fd(map_fd, &info, &size);
        if (r < 0)
                return r;
        if (info.type != BPF_MAP_TYPE_ARRAY && info.type != BPF_MAP_TYPE_HASH &&
            info.type != BPF_MAP_TYPE_LRU_HASH)
                return -EOPNOTSUPP;

        *ret = (LearnedShape) {
                .type = info.type,
                .key_size = info.key_size,
                .value_size = info.value_size,
                .max_entries = info.max_entries,
        };
        return 0;
}

static void append(Learned *l, const Batch *b, uint32_t n) {
        const LearnedShape *s = &l->shape;

        n = MIN(n, s->max_entries - l->n_entries);
        for (uint32_t i = 0; i < n; i++) {
                uint8_t *e = l->entries + l->n_entries++ * learned_entry_size(s);

                memcpy(e, b->keys + (size_t) i * s->key_size, s->key_size);
                memcpy(e + s->key_size, b->values + (size_t) i * s->value_size, s->value_size);
        }
}

int learned_map_read(int map_fd, const char *label, Learned *ret) {
        _cleanup_(batch_done) Batch b = {};
        _cleanup_learned_ Learned l = {};
        g_autofree void *position = NULL;
        LearnedShape shape;
        bool begun = false;
        int r;

        r = learned_map_get_shape(map_fd, &shape);
        if (r >= 0)
                r = learned_init(&l, label, &shape);
        if (r < 0)
                return r;

        b = batch_new(&shape);
        position = g_malloc0(MAX(shape.key_size, sizeof(uint32_t)));
        do {
                uint32_t n = b.n;

                r = bpf_map_lookup_batch(map_fd, begun ? position : NULL, position, b.keys, b.values, &n,
                                         NULL);
                if (r < 0 && r != -ENOENT) /* that is the end, maybe with the last ones */
                        return r;
                append(&l, &b, n);
                begun = true;
        } while (r >= 0 && l.n_entries < shape.max_entries);

        *ret = TAKE_STRUCT(l);
        return 0;
}

int learned_map_write(int map_fd, const Learned *l) {
        const LearnedShape *s = &l->shape;
        size_t size = learned_entry_size(s);
        _cleanup_(batch_done) Batch b = {};
        LearnedShape shape;
        int r;

        r = learned_map_get_shape(map_fd, &shape);
        if (r < 0)
                return r;
        if (!learned_shape_fits(&shape, s))
                return -EMEDIUMTYPE;

        b = batch_new(s);
        for (uint32_t done = 0; done < l->n_entries;) {
                uint32_t n = MIN(b.n, l->n_entries - done);

                for (uint32_t i = 0; i < n; i++) {
                        const uint8_t *e = l->entries + (done + i) * size;

                        memcpy(b.keys + (size_t) i * s->key_size, e, s->key_size);
                        memcpy(b.values + (size_t) i * s->value_size, e + s->key_size, s->value_size);
                }
                done += n;
                r = bpf_map_update_batch(map_fd, b.keys, b.values, &n, NULL);
                if (r == -E2BIG) /* a smaller hash: what there is room for */
                        return 0;
                if (r < 0)
                        return r;
        }

        return 0;
}

static int fill_with_zeroes(int map_fd, const LearnedShape *s) {
        _cleanup_learned_ Learned l = {};
        int r;

        r = learned_init(&l, "", s);
        if (r < 0)
                return r;

        memset(l.entries, 0, s->max_entries * learned_entry_size(s));
        for (; l.n_entries < s->max_entries; l.n_entries++)
                memcpy(l.entries + l.n_entries * learned_entry_size(s), &l.n_entries, sizeof(l.n_entries));
        return learned_map_write(map_fd, &l);
}

int learned_map_empty(int map_fd) {
        _cleanup_learned_ Learned l = {};
        LearnedShape shape;
        int r;

        r = learned_map_get_shape(map_fd, &shape);
        if (r < 0)
                return r;
        if (shape.type == BPF_MAP_TYPE_ARRAY)
                return fill_with_zeroes(map_fd, &shape);

        r = learned_map_read(map_fd, "", &l);
        if (r < 0)
                return r;
        for (uint32_t i = 0; i < l.n_entries; i++) {
                r = bpf_map_delete_elem(map_fd, l.entries + i * learned_entry_size(&shape));
                if (r < 0 && r != -ENOENT)
                        return r;
        }
        return 0;
}
