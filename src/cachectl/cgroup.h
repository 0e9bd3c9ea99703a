/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/macro.h"

/* A control group, found by the unit that has it or by its path. */
typedef struct Cgroup {
        char *name; /* of the unit, or the last part of the path; "root" */
        char *path; /* absolute */
        uint64_t id;
        uint32_t level; /* below the root, which is 0 */
} Cgroup;

/* "name" is a unit (without suffix: a service), or a path that begins with "/", with or without
 * /sys/fs/cgroup in front. Returns -ESRCH if there is no such unit or group, or it is not active; the reason
 * has been logged. */
int cgroup_find(const char *name, Cgroup *ret);

void cgroup_done(Cgroup *c);

/* Whether it is still there; another one of that path is not it. */
bool cgroup_is_there(const Cgroup *c);

/* The name of the policy that the kernel says it has, its own or that of a group above it; NULL: none. */
char *cgroup_policy(const Cgroup *c);

/* Whether systemd says that files of the unit have changed since it read them; false if it says nothing. */
bool unit_needs_reload(const char *unit);
