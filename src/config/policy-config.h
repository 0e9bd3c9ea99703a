/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "catalog.h"
#include "setting.h"

#define POLICY_FINGERPRINT_LENGTH 16U

/* The value of one tunable; the tunable belongs to the policy. */
typedef struct PolicyValue {
        const PolicyTunable *tunable;
        int64_t value;
} PolicyValue;

/* How one unit wants its policy: a setting after it was
 * checked against the policy object. Valid as long as that. */
typedef struct PolicyConfig {
        GArray *values;          /* of PolicyValue: those that are not the default; NULL: none */
        char **scan_threads;     /* globs; NULL: none */
        bool filter;             /* with the admission filter */
        uint32_t reject_classes; /* which threads it rejects, a bit a class; 0: as the object says */
        bool plans;              /* with the common plan_readahead(), */
        uint32_t readahead;      /* … by this, see shared/readahead-setting.h */
        /* Equal for the same object, configured the same. */
        char fingerprint[POLICY_FINGERPRINT_LENGTH + 1];
} PolicyConfig;

void policy_config_done(PolicyConfig *c);
#define _cleanup_policy_config_ _cleanup_(policy_config_done)

/* Checks all but CachePolicy= itself. -EINVAL: *ret_problem is a sentence that names the line. */
int policy_config_make(const Policy *p, const PolicySetting *s, PolicyConfig *ret, char **ret_problem);

/* Whether CacheLearning= lets what the policy learns be kept; yes if it does not say. */
bool policy_setting_wants_learning(const PolicySetting *s);

/* Whether CacheReplay= asks for that, or for something that is none of its values. */
bool policy_setting_wants_replay(const PolicySetting *s);
/* Checks that alone, which takes no policy. -EINVAL: *ret_problem is a sentence that names the line. */
int policy_setting_check_replay(const PolicySetting *s, char **ret_problem);

/* Whether CacheAdmission= asks for the filter, or for something that is none of its values. */
bool policy_setting_wants_filter(const PolicySetting *s);

/* Whether CacheReadahead= asks for another one than stock, or for something that is none of its values. */
bool policy_setting_wants_readahead(const PolicySetting *s);
