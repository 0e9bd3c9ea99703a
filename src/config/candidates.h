/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "policy-config.h"

/* CachePolicy=auto: the policies that the daemon chooses from, each with options of its own. It is no policy
 * object: what runs is one of the candidates. */

#define POLICY_AUTO "auto"
/* The kernel's own policy, as a candidate. It runs as "noop": the kernel samples only where a policy is. */
#define CANDIDATE_STOCK "stock"
#define CANDIDATE_STOCK_POLICY "noop"
#define CANDIDATES_MAX 16U

/* What a switch has to gain, in points of percent of all requests, if CacheAutoMargin= does not say. */
#define AUTO_MARGIN_DEFAULT 0.5

typedef struct PolicyCandidate {
        char *name;            /* for people: "s3fifo small_percent=20" */
        char *policy;          /* "stock", or a policy's name */
        char **options;        /* NAME=VALUE; not NULL */
        PolicySetting setting; /* what the unit has while it runs */
} PolicyCandidate;

typedef struct PolicyCandidates {
        GPtrArray *list;       /* of PolicyCandidate; the first one is the stock policy */
        guint first;           /* what runs until there are figures */
        double margin;         /* in points of percent */
} PolicyCandidates;

void policy_candidates_done(PolicyCandidates *c);
#define _cleanup_policy_candidates_ _cleanup_(policy_candidates_done)

/* Those that there are beside the stock policy if CacheCandidates= is empty; NULL at the end. */
extern const char *const policy_candidates_default[];

bool policy_setting_is_auto(const PolicySetting *s);

/* The candidates of a setting with CachePolicy=auto. Each is checked as a setting of its own. -EINVAL:
 * *ret_problem is a sentence that names file and line. Of the default ones those are left out that there
 * are not, or that cannot be used; dirs is where policies were looked for. */
int policy_candidates_make(const PolicySetting *s, GPtrArray *policies, const char *const *dirs,
                           PolicyCandidates *ret, char **ret_problem);

/* Whether they are the same, in the same order, and would run in the same way. */
bool policy_candidates_equal(const PolicyCandidates *a, const PolicyCandidates *b);

/* Checks a setting as policy_setting_check() does, or all of its candidates. */
int policy_setting_check_all(const PolicySetting *s, GPtrArray *policies, const char *const *dirs,
                             char **ret_problem);
