/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>

#include "unit-kernel.h"

const char *unit_read_verified(Unit *u, KernelPolicy *k) {
        const PolicyBackend *b = u->manager->backend;

        if (!u->cgroup || u->cgroup_id == 0 || b->read_policy(b->userdata, u->cgroup, u->cgroup_id, k) < 0)
                return NULL;

        /* The kernel's spelling has no '-'; show the name the user knows. */
        if (policy_kernel_name_equal(u->effective, k->name))
                return u->effective;

        return k->name ?: "none";
}

static int events_foreach(const PolicyEvents *events, flat_keyed_func_t func, void *userdata) {
        PolicyEventCounts c = policy_events_counts(events);
        const struct {
                const char *key;
                uint64_t value;
        } counters[] = {
                { "reconfigure_asked", c.asked },
                { "reconfigure_done", c.done },
                { "reconfigure_failed", c.failed },
        };

        for (size_t i = 0; i < ELEMENTSOF(counters); i++) {
                char value[DECIMAL_STR_MAX(uint64_t)];
                int r;

                (void) snprintf(value, sizeof(value), "%" PRIu64, counters[i].value);
                r = func(counters[i].key, value, userdata);
                if (r < 0)
                        return r;
        }

        return 0;
}

int unit_stat_foreach(Unit *u, flat_keyed_func_t func, void *userdata) {
        int r;

        if (!u->cgroup || u->cgroup_id == 0)
                return -ENOENT;

        r = cgroup_stat_foreach(u->manager->paths.kernel.cgroup, u->cgroup, u->cgroup_id, func, userdata);
        if (r < 0)
                return r;

        return u->events ? events_foreach(u->events, func, userdata) : 0;
}

int unit_compare(const void *a, const void *b) {
        return strcmp((*(const Unit *const *) a)->name, (*(const Unit *const *) b)->name);
}
