/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* acfs from within: a host on which it runs, managers that speak, pages that come and leave. */

#include "sim-test.h"

#include "acfs.bpf.c"

#define N_FOLIOS 8

static struct cachebpf_policy *p = &host.instance;

static inline int32_t number(enum advice what, unsigned level, unsigned more) {
        return ADVICE | (int32_t) what << 8 | (int32_t) (level << 4 | more);
}

static inline int32_t say_of(uint64_t id, const struct cachebpf_file *file, int32_t advice) {
        struct manager *m = manager_of(id);

        return hear(m, id, file, level_of(m, id, file), advice);
}

static inline int32_t say(uint64_t id, enum advice what, unsigned level, unsigned more) {
        struct cachebpf_file file = { .ino = 1, .dev = 1 };

        return say_of(id, &file, number(what, level, more));
}

static inline int32_t name_file(uint64_t id, uint64_t ino, unsigned level) {
        struct cachebpf_file file = { .ino = ino, .dev = 1 };

        return say_of(id, &file, number(ADVICE_SET_PRIORITY, level, 0));
}

static inline struct manager *manager(__u64 id) {
        return bpf_map_lookup_elem(&cachebpf_managers, &id);
}

static inline int64_t pages(uint64_t id, uint32_t level) {
        uint32_t i = manager(id)->slot * NR_LEVELS + level;

        return *(int64_t *) bpf_map_lookup_elem(&cachebpf_pages, &i);
}

static inline struct note *note_of(uint32_t i) {
        return (struct note *) folio(i)->data;
}

/* A host on which the policy has begun; the first folios are manager 1's, the others manager 2's. */
static inline TestHost begin_with(unsigned n, unsigned n_first) {
        TestHost h = test_host_begin(n);

        nr_managers = 0;
        others = (struct manager) { .slot = OTHERS };
        assert_int_equal(acfs_init(p), 0);
        for (unsigned i = 0; i < n; i++)
                folio(i)->manager = i < n_first ? 0 : 1;
        host.callback = CALLBACK_ADDED;
        return h;
}

static inline TestHost begin(void) {
        return begin_with(N_FOLIOS, 4);
}

static inline void come_as(uint32_t i, uint16_t accesses, uint32_t why) {
        Callback callback = host.callback;

        host.callback = CALLBACK_ADDED;
        folio(i)->cached = true;
        folio(i)->accesses = accesses;
        folio(i)->list = NO_LIST;
        acfs_added(p, folio(i), why);
        host.callback = callback;
}

/* As a miss does. */
static inline void come(uint32_t i) {
        come_as(i, 1, 0);
}

static inline void leave(uint32_t i, uint32_t why) {
        Callback callback = host.callback;

        host.callback = CALLBACK_REMOVED;
        acfs_removed(p, folio(i), why);
        host_delist(folio(i));
        folio(i)->cached = false;
        host.callback = callback;
}

static inline struct cachebpf_evict request(uint32_t n) {
        host.callback = CALLBACK_EVICT;
        return (struct cachebpf_evict) { .nr_wanted = n, .visits_left = CACHEBPF_MAX_VISITS };
}
