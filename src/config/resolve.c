/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "resolve.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"

/* The stock policy with the admission filter, or with readahead of another kind, is a policy object too: one
 * that does nothing else. */
static void choose_noop(PolicySetting *s) {
        if (s->policy)
                return;
        if (policy_setting_wants_filter(s))
                policy_setting_imply(s, "noop", policy_words_get(s->more + POLICY_KEY_ADMISSION, 0));
        else if (policy_setting_wants_readahead(s))
                policy_setting_imply(s, "noop", policy_words_get(s->more + POLICY_KEY_READAHEAD, 0));
}

void policy_layers_resolve(const PolicyLayers *l, const char *unit, const char *cgroup, PolicySetting *ret) {
        PolicySetting s = {};

        if (l->rules)
                (void) policy_rules_lookup(l->rules, unit, cgroup, &s);
        if (l->unit)
                policy_setting_overlay(&s, l->unit);
        for (OverrideKind k = 0; k < _OVERRIDE_MAX; k++)
                if (l->overrides[k])
                        policy_setting_overlay(&s, l->overrides[k]);
        for (guint i = 0; l->holds && i < l->holds->len; i++)
                policy_setting_overlay(&s, l->holds->pdata[i]);

        choose_noop(&s);
        *ret = s;
}

int policy_setting_check(const PolicySetting *s, GPtrArray *policies, const char *const *dirs,
                         const Policy **ret_policy, PolicyConfig *ret, char **ret_problem) {
        const Policy *p = policies_find(policies, s->policy);

        if (p && !p->problem) {
                *ret_policy = p;
                return policy_config_make(p, s, ret, ret_problem);
        }

        if (!policy_name_is_valid(s->policy))
                *ret_problem = g_strdup_printf("'%s' (" SOURCE_FORMAT ") is not a policy name (at most %u "
                                               "letters, digits, '-' and '_')",
                                               s->policy, SOURCE_ARGUMENTS(s->file, s->line),
                                               POLICY_NAME_MAX);
        else if (!p) {
                g_autofree char *list = g_strjoinv(", ", (char **) dirs);

                *ret_problem = g_strdup_printf("unknown policy '%s' (" SOURCE_FORMAT "): "
                                               "no %s" POLICY_OBJECT_SUFFIX " in %s; 'cachectl policies' "
                                               "lists what there is",
                                               s->policy, SOURCE_ARGUMENTS(s->file, s->line), s->policy,
                                               list);
        } else
                *ret_problem = g_strdup_printf("policy '%s' (" SOURCE_FORMAT ") cannot be used: %s",
                                               s->policy, SOURCE_ARGUMENTS(s->file, s->line), p->problem);
        return -EINVAL;
}
