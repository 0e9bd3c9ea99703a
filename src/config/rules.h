/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "setting.h"
#include "shared/cleanup.h"

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

/* Where rules are looked for, from highest to lowest priority. */
extern const char *const policy_rule_directories[];

void policy_rules_done(PolicyRules *rules);

/* Reads "*.conf" from the directories, as conf_files_list() finds them. */
PolicyRules policy_rules_load(const char *const *dirs);

/* Finds the rule for a unit; cgroup may be NULL when it is not known. ret is untouched when none matches; of
 * several the last decides, and the lines of the others are in ret as well. Returns whether one decided. */
bool policy_rules_lookup(const PolicyRules *rules, const char *unit, const char *cgroup, PolicySetting *ret);

/* Reads one file, and complains about it as policy_rules_load() does. Returns whether there is a rule, and
 * its settings. */
bool policy_rule_check_file(const char *path, PolicySetting *ret);
