/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "cleanup.h"
#include "policy-setting.h"

/* More files than this in policies.d are a mistake, not a configuration. */
#define POLICY_RULES_MAX 4096U

/* One file of policies.d: which units, which policy. */
typedef struct PolicyRule {
        char **units;          /* globs on the unit name, NULL: any */
        char **cgroups;        /* globs on the control group path, NULL: any */
        PolicySetting setting;
} PolicyRule;

typedef struct PolicyRules {
        GPtrArray *rules;      /* of PolicyRule, sorted by file name: the last that matches wins */
        bool by_cgroup;        /* some rule looks at the control group path */
} PolicyRules;

void policy_rules_done(PolicyRules *rules);

/* Reads "*.conf" from the directories, given from highest to lowest priority: a name found first hides the
 * same name in later ones; an empty file or a link to /dev/null hides it without putting a rule in place. */
int policy_rules_load(const char *const *dirs, PolicyRules *ret);

/* Finds the rule for a unit; cgroup may be NULL when it is not known. ret is untouched when none matches.
 * Returns 1 if a rule decided, 0 if none. */
int policy_rules_lookup(const PolicyRules *rules, const char *unit, const char *cgroup, PolicySetting *ret);
