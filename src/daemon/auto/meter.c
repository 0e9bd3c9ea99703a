/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <unistd.h>

#include "meter.h"
#include "shared/meminfo.h"
#include "shared/string-util.h"

static int add_counter(const char *key, const char *value, void *userdata) {
        Meter *m = userdata;
        uint64_t n;

        if (safe_atou64(value, &n) < 0)
                return 0;

        if (streq(key, "hits") || streq(key, "misses"))
                m->requests += n;
        if (streq(key, "misses"))
                m->misses = n;
        else if (streq(key, "managed_pages"))
                m->n_cached = n;
        return 0;
}

int meter_read(const Unit *u, Meter *ret) {
        Meter m = {};
        int r;

        if (!u->cgroup || u->cgroup_id == 0)
                return -ENOENT;

        r = cgroup_stat_foreach(u->manager->paths.kernel.cgroup, u->cgroup, u->cgroup_id, add_counter, &m);
        if (r >= 0)
                *ret = m;
        return r;
}

uint64_t meter_read_capacity(const Unit *u, const Meter *m) {
        uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE), room, available;

        if (!u->cgroup)
                return m->n_cached;
        room = cgroup_read_room(u->manager->paths.kernel.cgroup, u->cgroup);
        if (room == UINT64_MAX)
                return m->n_cached;
        /* of which what it has cached is a part */
        available = meminfo_read_available("/proc/meminfo") / page;
        return MAX(MIN(m->n_cached + room / page, available), m->n_cached);
}
