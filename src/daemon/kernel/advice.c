/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <bpf/bpf.h>

#include "advice.h"
#include "config/cache-files.h"
#include "shared/cleanup.h"
#include "shared/log.h"

/* As bpf/lib/advice.bpf.h numbers them. */
#define ADVICE 0x43420000
enum {
        ADVICE_SET_PRIORITY = 1,
        ADVICE_SET_REPLACEMENT = 3,
};

/* Another thread of the manager may just be the first one to speak. */
#define ATTEMPTS_MAX 100U

/* As bpf/lib/managers.bpf.h has them. */
typedef struct ManagerRecord {
        uint32_t slot;
        uint32_t lists;
        uint32_t mru;
        uint32_t n_files;
        uint16_t revoked;
        uint16_t penalty;
        uint32_t n_recent;
        uint32_t n_recent_wrong;
        uint8_t inherits;
        uint8_t unit;
        uint16_t paid;
        uint64_t n_decisions;
        uint64_t n_wrong;
        int16_t owes;
        uint16_t n_kept;
        uint32_t stayed;
        int64_t missed_at;
} ManagerRecord;

typedef struct PriorityKey {
        PolicyFile file;
        uint64_t manager;
} PriorityKey;

typedef struct Speech {
        uint64_t manager;
        PolicyFile file;
        int32_t advice;
        uint32_t unused;
} Speech;

static_assert(sizeof(ManagerRecord) == 64 && sizeof(PriorityKey) == 24 && sizeof(Speech) == 32,
              "they are as the policy has them");

/* ---- speaking */

static int say(int program_fd, const Speech *speech) {
        Speech context = *speech;
        LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &context, .ctx_size_in = sizeof(context));
        int r = -EAGAIN;

        for (unsigned i = 0; i < ATTEMPTS_MAX && r == -EAGAIN; i++) {
                r = bpf_prog_test_run_opts(program_fd, &opts);
                if (r >= 0)
                        r = MIN((int) opts.retval, 0);
        }

        return r;
}

static int32_t number(unsigned what, int level, bool more) {
        return ADVICE | what << 8 | (unsigned) (level - CACHE_LEVEL_MIN) << 4 | more;
}

int advice_set_level(int program_fd, uint64_t manager, const PolicyFile *file, int level) {
        return say(program_fd, &(const Speech) {
                                       .manager = manager,
                                       .file = *file,
                                       .advice = number(ADVICE_SET_PRIORITY, level, false),
                               });
}

int advice_set_replacement(int program_fd, uint64_t manager, int level, bool mru) {
        return say(program_fd, &(const Speech) {
                                       .manager = manager,
                                       .advice = number(ADVICE_SET_REPLACEMENT, level, mru),
                               });
}

/* ---- listening */

/* Whether the map is what its name says: the kernel writes as much as it thinks. */
static bool map_fits(int fd, enum bpf_map_type type, size_t key_size, size_t value_size) {
        struct bpf_map_info info = {};
        uint32_t size = sizeof(info);

        return bpf_map_get_info_by_fd(fd, &info, &size) >= 0 && info.type == type &&
                info.key_size == key_size && info.value_size == value_size;
}

static void read_pages(int fd, uint32_t slot, PolicyManager *m) {
        for (uint32_t i = 0; i < CACHE_LEVELS; i++) {
                uint32_t key = slot * CACHE_LEVELS + i;
                int64_t n;

                /* It may be below zero for a moment. */
                if (bpf_map_lookup_elem(fd, &key, &n) >= 0)
                        m->pages[i] = MAX(n, 0);
        }
}

int advice_read_managers(int managers_fd, int pages_fd, GArray *ret) {
        uint64_t id, *previous = NULL;
        unsigned n = 0;

        if (!map_fits(managers_fd, BPF_MAP_TYPE_HASH, sizeof(id), sizeof(ManagerRecord)) ||
            !map_fits(pages_fd, BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(uint64_t)))
                return -EMEDIUMTYPE;

        /* One that goes meanwhile has the kernel begin again. */
        for (; n++ < 2 * MANAGERS_MAX && bpf_map_get_next_key(managers_fd, previous, &id) >= 0;
             previous = &id) {
                PolicyManager m = { .id = id };
                ManagerRecord record;

                if (bpf_map_lookup_elem(managers_fd, &id, &record) < 0 || record.slot >= MANAGERS_MAX)
                        continue;

                m.mru = record.mru;
                m.revoked = record.revoked;
                m.n_files = record.n_files;
                m.n_decisions = record.n_decisions;
                m.n_wrong = record.n_wrong;
                read_pages(pages_fd, record.slot, &m);
                g_array_append_val(ret, m);
        }

        return 0;
}

int advice_read_levels(int priorities_fd, GArray *ret) {
        PriorityKey key, *previous = NULL;
        unsigned n = 0;

        if (!map_fits(priorities_fd, BPF_MAP_TYPE_HASH, sizeof(key), sizeof(uint32_t)))
                return -EMEDIUMTYPE;

        for (; n++ < 2 * MANAGERS_MAX * MANAGER_FILES_MAX &&
               bpf_map_get_next_key(priorities_fd, previous, &key) >= 0;
             previous = &key) {
                PolicyFileLevel l = { .manager = key.manager, .file = key.file };
                uint32_t level;

                if (bpf_map_lookup_elem(priorities_fd, &key, &level) < 0 || level >= CACHE_LEVELS)
                        continue;

                l.level = (int) level + CACHE_LEVEL_MIN;
                g_array_append_val(ret, l);
        }

        return 0;
}

/* ---- from one policy to the next */

void advice_repeat(GArray *managers, GArray *levels, int program_fd) {
        unsigned n = 0;

        for (guint i = 0; i < managers->len; i++) {
                const PolicyManager *m = &g_array_index(managers, PolicyManager, i);

                for (unsigned level = 0; level < CACHE_LEVELS; level++)
                        if (m->mru >> level & 1)
                                n += advice_set_replacement(program_fd, m->id, (int) level + CACHE_LEVEL_MIN,
                                                            true) < 0;
        }

        for (guint i = 0; i < levels->len; i++) {
                const PolicyFileLevel *l = &g_array_index(levels, PolicyFileLevel, i);

                n += advice_set_level(program_fd, l->manager, &l->file, l->level) < 0;
        }

        if (n > 0)
                log_debug("Of what managers said to the policy before, %u things are lost.", n);
}
