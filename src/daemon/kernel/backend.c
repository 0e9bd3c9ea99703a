/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "backend.h"

PolicyLink *policy_link_new(uint64_t cgroup_id, int fd) {
        PolicyLink *link = calloc(1, sizeof(PolicyLink));

        if (!link)
                return NULL;

        *link = (PolicyLink) {
                .cgroup_id = cgroup_id,
                .fd = fd,
                .events_fd = -EBADF,
                .program_fd = -EBADF,
                .counts_fd = -EBADF,
        };
        return link;
}

PolicyLink *policy_link_free(PolicyLink *link) {
        if (!link)
                return NULL;

        safe_close(link->fd);
        safe_close(link->events_fd);
        safe_close(link->program_fd);
        safe_close(link->counts_fd);
        free(link->config);
        return mfree(link);
}

void policy_kernel_name(const char *name, char ret[static POLICY_NAME_MAX + 1]) {
        size_t i;

        for (i = 0; i < POLICY_NAME_MAX && name[i]; i++)
                ret[i] = name[i] == '-' ? '_' : name[i];
        ret[i] = 0;
}

bool policy_kernel_name_equal(const char *name, const char *kernel_name) {
        char s[POLICY_NAME_MAX + 1];

        if (!name || !kernel_name)
                return false;

        policy_kernel_name(name, s);
        return streq(s, kernel_name);
}
