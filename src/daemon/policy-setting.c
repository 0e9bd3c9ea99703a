/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "policy-setting.h"
#include "string-util.h"

void policy_setting_done(PolicySetting *s) {
        free(s->policy);
        free(s->file);
        *s = (PolicySetting) {};
}

int policy_setting_assign(PolicySetting *s, const char *value, const char *file, unsigned line) {
        int r;

        r = free_and_strdup(&s->policy, empty_to_null(value));
        if (r < 0)
                return r;

        r = free_and_strdup(&s->file, file);
        if (r < 0)
                return r;

        s->line = line;
        s->set = true;
        return 0;
}

int policy_setting_copy(PolicySetting *dest, const PolicySetting *src) {
        if (!src->set) {
                policy_setting_done(dest);
                return 0;
        }

        return policy_setting_assign(dest, src->policy, src->file, src->line);
}

bool policy_setting_equal(const PolicySetting *a, const PolicySetting *b) {
        return a->set == b->set && a->line == b->line && streq_ptr(a->policy, b->policy) &&
                streq_ptr(a->file, b->file);
}
