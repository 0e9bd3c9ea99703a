/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "backend.h"

static int kernel_prepare(void *userdata) {
        UsesWatch **w = userdata;

        return *w ? 0 : uses_watch_new(w);
}

static int kernel_begin(void *userdata, uint64_t cgroup_id, unsigned level, uint64_t pages_max) {
        return uses_watch_begin(*(UsesWatch **) userdata, cgroup_id, level, pages_max);
}

static int kernel_end(void *userdata, uint64_t cgroup_id, Uses *ret) {
        return uses_watch_end(*(UsesWatch **) userdata, cgroup_id, ret);
}

static void kernel_done(void *userdata) {
        UsesWatch **w = userdata;

        uses_watch_free(*w);
        free(w);
}

ReplayBackend replay_kernel_backend(void) {
        return (ReplayBackend) {
                .prepare = kernel_prepare,
                .begin = kernel_begin,
                .end = kernel_end,
                .done = kernel_done,
                .userdata = g_new0(UsesWatch *, 1),
        };
}
