/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "backend.h"

typedef struct Kernel {
        const char *btf;
        UsesWatch *watch; /* NULL: not prepared */
} Kernel;

static int kernel_prepare(void *userdata, char **ret_problem) {
        Kernel *k = userdata;

        return k->watch ? 0 : uses_watch_new(k->btf, &k->watch, ret_problem);
}

static int kernel_begin(void *userdata, uint64_t cgroup_id, unsigned level, uint64_t pages_max) {
        return uses_watch_begin(((Kernel *) userdata)->watch, cgroup_id, level, pages_max);
}

static int kernel_end(void *userdata, uint64_t cgroup_id, Uses *ret) {
        return uses_watch_end(((Kernel *) userdata)->watch, cgroup_id, ret);
}

static void kernel_done(void *userdata) {
        Kernel *k = userdata;

        uses_watch_free(k->watch);
        free(k);
}

ReplayBackend replay_kernel_backend(const char *btf) {
        Kernel *k = g_new(Kernel, 1);

        *k = (Kernel) { .btf = btf };
        return (ReplayBackend) {
                .prepare = kernel_prepare,
                .begin = kernel_begin,
                .end = kernel_end,
                .done = kernel_done,
                .userdata = k,
        };
}
