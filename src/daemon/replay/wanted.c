/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/policy-config.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "wanted.h"

/* There are slices as long as something is in them; scopes and transient services do not start again by that
 * name. */
static bool starts_again(const Unit *u) {
        return endswith(u->name, ".service") && !u->transient;
}

static bool is_asked_for_by_file(const Unit *u) {
        return policy_setting_wants_replay(&u->file_setting);
}

char *replay_why_ignored(const Unit *u) {
        char *problem = NULL;

        if (policy_setting_check_replay(&u->setting, &problem) < 0)
                return problem;
        return policy_setting_wants_replay(&u->setting) && !starts_again(u) ?
                g_strdup("it is for services that start again") : NULL;
}

bool replay_is_wanted(const Unit *u) {
        g_autofree char *problem = replay_why_ignored(u);

        return policy_setting_wants_replay(&u->setting) && !problem;
}

bool replay_is_asked_for(const Unit *u) {
        return policy_setting_wants_replay(&u->setting) && (starts_again(u) || is_asked_for_by_file(u));
}

void replay_warn_ignored(const Unit *u) {
        g_autofree char *problem = replay_why_ignored(u), *wrong = NULL;
        bool is_wrong = policy_setting_check_replay(&u->setting, &wrong) < 0;

        if (!problem || (is_wrong && u->setting.policy)) /* the policy is refused for that, which says it */
                return;
        log_full_fields(is_wrong || is_asked_for_by_file(u) ? LOG_WARNING : LOG_DEBUG, 0,
                        LOG_FIELDS(.unit = u->name), "%s: CacheReplay= is ignored: %s.", u->name, problem);
}
