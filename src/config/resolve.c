/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "resolve.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

/* The stock policy with the admission filter is a policy object too: one that does nothing else. */
static int choose_filter(PolicySetting *s) {
        if (s->policy || !policy_setting_wants_filter(s))
                return 0;

        return policy_setting_imply(s, "noop", policy_words_get(s->more + POLICY_KEY_ADMISSION, 0));
}

int policy_layers_resolve(const PolicyLayers *l, const char *unit, const char *cgroup, PolicySetting *ret) {
        _cleanup_policy_setting_ PolicySetting s = {};
        int r = 0;

        if (l->rules)
                r = policy_rules_lookup(l->rules, unit, cgroup, &s);
        if (r >= 0 && l->unit)
                r = policy_setting_overlay(&s, l->unit);
        for (OverrideKind k = 0; r >= 0 && k < _OVERRIDE_MAX; k++)
                if (l->overrides[k])
                        r = policy_setting_overlay(&s, l->overrides[k]);
        for (guint i = 0; r >= 0 && l->holds && i < l->holds->len; i++)
                r = policy_setting_overlay(&s, l->holds->pdata[i]);
        if (r >= 0)
                r = choose_filter(&s);
        if (r < 0)
                return r;

        *ret = s;
        s = (PolicySetting) {};
        return 0;
}

int policy_setting_check(const PolicySetting *s, GPtrArray *policies, const char *const *dirs,
                         const Policy **ret_policy, PolicyConfig *ret, char **ret_problem) {
        const Policy *p = policies_find(policies, s->policy);
        int r;

        if (!policy_name_is_valid(s->policy))
                r = asprintf(ret_problem,
                             "'%s' (" SOURCE_FORMAT ") is not a policy name (at most %u letters, digits, "
                             "'-' and '_')",
                             s->policy, SOURCE_ARGUMENTS(s->file, s->line), POLICY_NAME_MAX);
        else if (!p) {
                _cleanup_free_ char *list = g_strjoinv(", ", (char **) dirs);

                r = asprintf(ret_problem, "unknown policy '%s' (" SOURCE_FORMAT "): "
                             "no %s" POLICY_OBJECT_SUFFIX " in %s",
                             s->policy, SOURCE_ARGUMENTS(s->file, s->line), s->policy, list);
        } else if (p->problem)
                r = asprintf(ret_problem, "policy '%s' (" SOURCE_FORMAT ") cannot be used: %s",
                             s->policy, SOURCE_ARGUMENTS(s->file, s->line), p->problem);
        else {
                r = policy_config_make(p, s, ret, ret_problem);
                if (r >= 0)
                        *ret_policy = p;
                return r;
        }

        return r < 0 ? -ENOMEM : -EINVAL;
}
