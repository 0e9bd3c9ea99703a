/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "shared/bpf-log.h"
#include "shared/cleanup.h"
#include "uses.h"

#include "uses.skel.h"

/* For one call into the kernel. It gives the entries of a bucket of the hash at once: there must not be
 * more of them than this. */
#define ENTRIES_AT_ONCE 1024U

struct UsesWatch {
        struct uses_bpf *bpf;
        unsigned n_units[USES_LEVELS_MAX]; /* that are watched, by level */
        GHashTable *levels;                /* id of a control group that is watched -> its level */
};

void uses_done(Uses *u) {
        if (u->files)
                g_array_unref(u->files);
        if (u->chunks)
                g_array_unref(u->chunks);
        *u = (Uses) {};
}

UsesWatch *uses_watch_free(UsesWatch *w) {
        if (!w)
                return NULL;

        uses_bpf__destroy(w->bpf);
        g_hash_table_unref(w->levels);
        return mfree(w);
}

int uses_watch_new(UsesWatch **ret) {
        _cleanup_(uses_watch_freep) UsesWatch *w = g_new0(UsesWatch, 1);

        w->levels = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        bpf_log_setup();
        bpf_log_reset();
        w->bpf = uses_bpf__open();
        if (!w->bpf)
                return -errno;
        w->bpf->rodata->daemon_tgid = getpid();
        if (uses_bpf__load(w->bpf) < 0)
                return errno == ESRCH ? -EOPNOTSUPP : -errno;

        *ret = TAKE_PTR(w);
        return 0;
}

/* ---- who is watched */

static unsigned remove_unit(UsesWatch *w, uint64_t id) {
        unsigned level = GPOINTER_TO_UINT(g_hash_table_lookup(w->levels, &id));

        (void) bpf_map__delete_elem(w->bpf->maps.units, &id, sizeof(id), 0);
        if (g_hash_table_remove(w->levels, &id) && --w->n_units[level] == 0)
                w->bpf->bss->levels &= ~(1U << level);
        if (g_hash_table_size(w->levels) == 0)
                uses_bpf__detach(w->bpf);
        return level;
}

int uses_watch_begin(UsesWatch *w, uint64_t cgroup_id, unsigned level, uint64_t pages_max) {
        const struct uses_unit unit = { .pages_max = pages_max };
        int r;

        if (level == 0 || level >= USES_LEVELS_MAX)
                return -ERANGE;

        r = bpf_map__update_elem(w->bpf->maps.units, &cgroup_id, sizeof(cgroup_id), &unit, sizeof(unit),
                                 BPF_NOEXIST);
        if (r < 0)
                return r;

        g_hash_table_insert(w->levels, g_memdup2(&cgroup_id, sizeof(cgroup_id)), GUINT_TO_POINTER(level));
        w->n_units[level]++;
        w->bpf->bss->levels |= 1U << level;
        r = g_hash_table_size(w->levels) == 1 ? uses_bpf__attach(w->bpf) : 0;
        if (r < 0)
                remove_unit(w, cgroup_id);
        return r;
}

/* ---- what was used */

static_assert(sizeof(UsedFile) == sizeof(struct uses_file_key) + sizeof(struct uses_file), "no gap");
static_assert(sizeof(UsedChunk) == sizeof(struct uses_chunk_key) + sizeof(struct uses_chunk), "no gap");

/* Takes those entries out of a map whose keys begin with the id. */
static int take(struct bpf_map *map, uint64_t id, GArray *ret) {
        size_t key_size = bpf_map__key_size(map), value_size = bpf_map__value_size(map);
        g_autofree uint8_t *keys = g_malloc_n(ENTRIES_AT_ONCE, key_size),
                           *values = g_malloc_n(ENTRIES_AT_ONCE, value_size);
        g_autoptr(GByteArray) gone = g_byte_array_new();
        uint32_t position, n;
        bool begun = false;
        int r;

        do {
                n = ENTRIES_AT_ONCE;
                r = bpf_map_lookup_batch(bpf_map__fd(map), begun ? &position : NULL, &position, keys,
                                         values, &n, NULL);
                if (r < 0 && r != -ENOENT) /* that is the end, maybe with the last ones */
                        return r;
                begun = true;
                for (uint32_t i = 0; i < n; i++) {
                        const uint8_t *key = keys + i * key_size;

                        if (memcmp(key, &id, sizeof(id)) != 0)
                                continue;
                        g_byte_array_append(gone, key, (guint) key_size);
                        g_array_set_size(ret, ret->len + 1);
                        memcpy(ret->data + (ret->len - 1) * (key_size + value_size), key, key_size);
                        memcpy(ret->data + (ret->len - 1) * (key_size + value_size) + key_size,
                               values + i * value_size, value_size);
                }
        } while (r >= 0);

        n = gone->len / (uint32_t) key_size;
        return n > 0 ? bpf_map_delete_batch(bpf_map__fd(map), gone->data, &n, NULL) : 0;
}

int uses_watch_end(UsesWatch *w, uint64_t cgroup_id, Uses *ret) {
        _cleanup_uses_ Uses u = {
                .files = g_array_new(FALSE, FALSE, sizeof(UsedFile)),
                .chunks = g_array_new(FALSE, FALSE, sizeof(UsedChunk)),
        };
        struct uses_unit unit;
        int r;

        if (bpf_map__lookup_elem(w->bpf->maps.units, &cgroup_id, sizeof(cgroup_id), &unit, sizeof(unit),
                                 0) >= 0)
                u.n_lost = unit.n_lost;
        remove_unit(w, cgroup_id);

        r = take(w->bpf->maps.files, cgroup_id, u.files);
        if (r >= 0)
                r = take(w->bpf->maps.chunks, cgroup_id, u.chunks);
        if (r < 0)
                return r;

        *ret = TAKE_STRUCT(u);
        return 0;
}
