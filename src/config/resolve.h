/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "override.h"
#include "policy-config.h"
#include "rules.h"

/* Everything that may say something about a unit, from the weakest to the strongest. */
typedef struct PolicyLayers {
        const PolicyRules *rules;
        /* what its own files say; NULL: nothing is known of them */
        const PolicySetting *unit;
        const PolicySetting *overrides[_OVERRIDE_MAX]; /* NULL: nothing is set */
        /* of PolicySetting, the first one the weakest; NULL: none */
        GPtrArray *holds;
} PolicyLayers;

/* What they say together; cgroup may be NULL when it is not known. */
void policy_layers_resolve(const PolicyLayers *l, const char *unit, const char *cgroup, PolicySetting *ret);

/* Finds the policy that a setting names, and how it is to run. -EINVAL: *ret_problem is a sentence that
 * names file and line. dirs is where policies were looked for. */
int policy_setting_check(const PolicySetting *s, GPtrArray *policies, const char *const *dirs,
                         const Policy **ret_policy, PolicyConfig *ret, char **ret_problem);
