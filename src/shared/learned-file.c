/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <linux/bpf.h>

#include "kept-file.h"
#include "learned-file.h"

#define MAGIC "cachebpf"
#define VERSION 1U
/* On a machine of the other byte order it reads as something else. */
#define ORDER 0x01020304U

typedef struct Header {
        char magic[8];
        uint32_t order;
        uint32_t version;
        char label[LEARNED_LABEL_SIZE];
        LearnedShape shape;
        uint32_t n_entries;
        uint32_t unused;
        uint8_t sum[LEARNED_SUM_SIZE]; /* of header and entries, while this is 0 */
} Header;

static_assert(sizeof(Header) == 104, "the format has no gaps");

static bool shape_is_valid(const LearnedShape *s) {
        return s->key_size > 0 && s->value_size > 0 && s->max_entries > 0 &&
               learned_entry_size(s) <= LEARNED_SIZE_MAX &&
               s->max_entries <= LEARNED_SIZE_MAX / learned_entry_size(s);
}

int learned_init(Learned *l, const char *label, const LearnedShape *shape) {
        if (!shape_is_valid(shape))
                return -E2BIG;
        if (strlen(label) >= LEARNED_LABEL_SIZE)
                return -ENAMETOOLONG;

        *l = (Learned) {
                .shape = *shape,
                .entries = g_malloc(shape->max_entries * learned_entry_size(shape)),
        };
        memcpy(l->label, label, strlen(label));
        return 0;
}

void learned_done(Learned *l) {
        g_free(l->entries);
        *l = (Learned) {};
}

bool learned_shape_fits(const LearnedShape *a, const LearnedShape *b) {
        return a->type == b->type && a->key_size == b->key_size && a->value_size == b->value_size &&
               (a->type != BPF_MAP_TYPE_ARRAY || a->max_entries == b->max_entries);
}

/* ---- checksum */

static void sum_of(const Header *h, const void *entries, size_t size, uint8_t ret[static LEARNED_SUM_SIZE]) {
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
        Header blank = *h;
        gsize n = LEARNED_SUM_SIZE;

        memset(blank.sum, 0, sizeof(blank.sum));
        g_checksum_update(sum, (const guchar *) &blank, sizeof(blank));
        if (size > 0)
                g_checksum_update(sum, entries, (gssize) size);
        g_checksum_get_digest(sum, ret, &n);
}

static Header make_header(const Learned *l) {
        Header h = {
                .magic = MAGIC,
                .order = ORDER,
                .version = VERSION,
                .shape = l->shape,
                .n_entries = l->n_entries,
        };

        memcpy(h.label, l->label, sizeof(h.label));
        sum_of(&h, l->entries, l->n_entries * learned_entry_size(&l->shape), h.sum);
        return h;
}

void learned_sum(const Learned *l, uint8_t ret[static LEARNED_SUM_SIZE]) {
        Header h = make_header(l);

        memcpy(ret, h.sum, LEARNED_SUM_SIZE);
}

void learned_seal(void *data, size_t size) {
        Header h;

        if (size < sizeof(h))
                return;

        memcpy(&h, data, sizeof(h));
        sum_of(&h, (const uint8_t *) data + sizeof(h), size - sizeof(h), h.sum);
        memcpy(data, &h, sizeof(h));
}

/* ---- reading */

int learned_parse(const void *data, size_t size, const char *label, Learned *ret) {
        uint8_t sum[LEARNED_SUM_SIZE];
        Header h;
        int r;

        if (size < sizeof(h))
                return -EBADMSG;
        memcpy(&h, data, sizeof(h));
        if (memcmp(h.magic, MAGIC, sizeof(h.magic)) != 0)
                return -EBADMSG;
        if (h.order != ORDER || h.version != VERSION)
                return -EPROTONOSUPPORT;

        if (h.label[LEARNED_LABEL_SIZE - 1] || !shape_is_valid(&h.shape) ||
            h.n_entries > h.shape.max_entries ||
            size - sizeof(h) != h.n_entries * learned_entry_size(&h.shape))
                return -EBADMSG;
        sum_of(&h, (const uint8_t *) data + sizeof(h), size - sizeof(h), sum);
        if (memcmp(sum, h.sum, sizeof(sum)) != 0)
                return -EBADMSG;
        if (!streq(h.label, label))
                return -EMEDIUMTYPE;

        r = learned_init(ret, h.label, &h.shape);
        if (r < 0)
                return r;

        ret->n_entries = h.n_entries;
        memcpy(ret->entries, (const uint8_t *) data + sizeof(h), size - sizeof(h));
        return 0;
}

const char *learned_strerror(int error) {
        return error == -EMEDIUMTYPE ? "is of another policy" : kept_strerror(error);
}

int learned_load(int dir_fd, const char *name, const char *label, Learned *ret) {
        g_autofree char *data = NULL;
        size_t size = 0;
        int r;

        r = kept_read(dir_fd, name, LEARNED_SIZE_MAX + sizeof(Header), &data, &size);
        return r < 0 ? r : learned_parse(data, size, label, ret);
}

/* ---- writing */

int learned_save(int dir_fd, const char *name, const Learned *l) {
        Header h = make_header(l);
        const struct iovec parts[] = {
                { &h, sizeof(h) },
                { l->entries, l->n_entries * learned_entry_size(&l->shape) },
        };

        return kept_save(dir_fd, name, parts, ELEMENTSOF(parts));
}
