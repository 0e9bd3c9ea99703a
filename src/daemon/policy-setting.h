/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "macro.h"

/* What configuration says about one unit, and which line said it. */
typedef struct PolicySetting {
        bool set;      /* some line decided */
        char *policy;  /* as written, maybe not even a valid name; NULL: the stock policy */
        char *file;
        unsigned line;
} PolicySetting;

void policy_setting_done(PolicySetting *s);

/* Records an assignment; an empty value resets to the stock policy. */
int policy_setting_assign(PolicySetting *s, const char *value, const char *file, unsigned line);
int policy_setting_copy(PolicySetting *dest, const PolicySetting *src);
bool policy_setting_equal(const PolicySetting *a, const PolicySetting *b);

#define _cleanup_policy_setting_ _cleanup_(policy_setting_done)
