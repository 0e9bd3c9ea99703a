/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "shared/bpf-log.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "uses-table.h"
#include "uses.h"

#include "uses.skel.h"

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
        g_clear_pointer(&w->levels, g_hash_table_unref);
        return mfree(w);
}

/* libbpf has one error for a tracepoint that is not there and for type information that is not. */
static char *describe(int error) {
        g_autofree char *cause = bpf_log_cause();

        return g_strdup_printf("%s%s%s", error == -ESRCH ?
                                       "the kernel lacks tracepoints, Linux 6.12 and later have them" :
                                       strerror(abs(error)),
                               cause ? ": " : "", strempty(cause));
}

int uses_watch_new(const char *btf, UsesWatch **ret, char **ret_problem) {
        _cleanup_(uses_watch_freep) UsesWatch *w = g_new0(UsesWatch, 1);
        int r;

        if (access(btf, R_OK) < 0) {
                r = -errno;
                *ret_problem = g_strdup_printf("the kernel has no type information (BTF) in '%s': %s; build "
                                               "it with CONFIG_DEBUG_INFO_BTF=y", btf, strerror(-r));
                return r;
        }

        w->levels = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        bpf_log_setup();
        bpf_log_reset();
        w->bpf = uses_bpf__open();
        r = w->bpf ? 0 : -errno;
        if (r >= 0) {
                w->bpf->rodata->daemon_tgid = getpid();
                r = uses_bpf__load(w->bpf);
        }
        if (r < 0) {
                *ret_problem = describe(r);
                return r;
        }

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
        if (g_hash_table_size(w->levels) >= USES_UNITS_MAX)
                return -EUSERS;

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

static int take(struct bpf_map *map, uint64_t id, GArray *ret) {
        return uses_table_take(bpf_map__fd(map), bpf_map__key_size(map), bpf_map__value_size(map), id, ret);
}

int uses_watch_end(UsesWatch *w, uint64_t cgroup_id, Uses *ret) {
        _cleanup_uses_ Uses u = {
                .files = g_array_new(FALSE, FALSE, sizeof(UsedFile)),
                .chunks = g_array_new(FALSE, FALSE, sizeof(UsedChunk)),
        };
        struct uses_unit unit;
        int r, k;

        if (bpf_map__lookup_elem(w->bpf->maps.units, &cgroup_id, sizeof(cgroup_id), &unit, sizeof(unit),
                                 0) >= 0)
                u.n_lost = unit.n_lost;
        remove_unit(w, cgroup_id);

        r = take(w->bpf->maps.files, cgroup_id, u.files);
        k = take(w->bpf->maps.chunks, cgroup_id, u.chunks); /* in any case, so that none is left */
        if (r < 0 || k < 0)
                return r < 0 ? r : k;

        *ret = TAKE_STRUCT(u);
        return 0;
}
