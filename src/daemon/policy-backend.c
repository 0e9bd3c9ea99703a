/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "policy-backend.h"

PolicyLink *policy_link_free(PolicyLink *link) {
        if (!link)
                return NULL;

        safe_close(link->fd);
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
