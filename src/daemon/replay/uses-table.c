/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "uses-table.h"

/* For one call into the kernel. It gives the entries of a bucket of the hash at once: there must not be
 * more of them than this. */
#define ENTRIES_AT_ONCE 1024U

static bool is_of(const uint8_t *key, uint64_t id) {
        return memcmp(key, &id, sizeof(id)) == 0;
}

static void add(GArray *to, const uint8_t *key, size_t key_size, const uint8_t *value, size_t value_size) {
        size_t size = key_size + value_size;

        g_array_set_size(to, to->len + 1);
        memcpy(to->data + (to->len - 1) * size, key, key_size);
        memcpy(to->data + (to->len - 1) * size + key_size, value, value_size);
}

/* Of the unit, and their keys to gone. */
static int read_all(int fd, size_t key_size, size_t value_size, uint64_t id, GArray *ret, GByteArray *gone) {
        g_autofree uint8_t *keys = g_malloc_n(ENTRIES_AT_ONCE, key_size),
                           *values = g_malloc_n(ENTRIES_AT_ONCE, value_size);
        uint32_t position, n;
        bool begun = false;
        int r;

        do {
                n = ENTRIES_AT_ONCE;
                r = bpf_map_lookup_batch(fd, begun ? &position : NULL, &position, keys, values, &n, NULL);
                if (r < 0 && r != -ENOENT) /* that is the end, maybe with the last ones */
                        return r;
                begun = true;
                for (uint32_t i = 0; i < n; i++) {
                        const uint8_t *key = keys + i * key_size;

                        if (!is_of(key, id))
                                continue;
                        g_byte_array_append(gone, key, (guint) key_size);
                        add(ret, key, key_size, values + i * value_size, value_size);
                }
        } while (r >= 0);

        return 0;
}

/* Slow, but takes no memory of the kernel, and one that fails does not keep the others. */
static void drop_all(int fd, size_t key_size, uint64_t id) {
        g_autofree uint8_t *key = g_malloc(key_size), *next = g_malloc(key_size);
        int r = bpf_map_get_next_key(fd, NULL, next);

        while (r >= 0) {
                memcpy(key, next, key_size);
                r = bpf_map_get_next_key(fd, key, next); /* before this one goes */
                if (is_of(key, id))
                        (void) bpf_map_delete_elem(fd, key);
        }
}

int uses_table_take(int fd, size_t key_size, size_t value_size, uint64_t id, GArray *ret) {
        g_autoptr(GByteArray) gone = g_byte_array_new();
        int r = read_all(fd, key_size, value_size, id, ret, gone);
        uint32_t n = gone->len / (uint32_t) key_size;

        if (r < 0 || (n > 0 && bpf_map_delete_batch(fd, gone->data, &n, NULL) < 0))
                drop_all(fd, key_size, id);
        return r;
}
