/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "manager.h"
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

int unit_stat_foreach(Unit *u, flat_keyed_func_t func, void *userdata) {
        if (!u->cgroup || u->cgroup_id == 0)
                return -ENOENT;

        return cgroup_stat_foreach(u->manager->paths.kernel.cgroup, u->cgroup, u->cgroup_id, func, userdata);
}

int unit_compare(const void *a, const void *b) {
        return strcmp((*(const Unit *const *) a)->name, (*(const Unit *const *) b)->name);
}
