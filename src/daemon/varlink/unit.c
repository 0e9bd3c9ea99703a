/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "daemon/core/unit-kernel.h"
#include "daemon/core/unit.h"
#include "hold.h"
#include "unit.h"

static int build_words(const PolicyWords *words, sd_json_variant **ret) {
        int r = 0;

        for (guint i = 0; r >= 0 && i < policy_words_count(words); i++)
                r = sd_json_variant_append_arrayb(ret,
                                                  SD_JSON_BUILD_STRING(policy_words_get(words, i)->text));

        return r;
}

int unit_varlink_build_reply(Unit *u, sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *options = NULL, *threads = NULL,
                        *admission = NULL,
                        *holds = NULL;
        _cleanup_kernel_policy_ KernelPolicy k = {};
        _cleanup_free_ char *source = NULL;
        const char *verified;
        int r;

        r = unit_source(u, &source);
        if (r >= 0)
                r = build_words(u->setting.more + POLICY_KEY_OPTIONS, &options);
        if (r >= 0)
                r = build_words(u->setting.more + POLICY_KEY_SCAN_THREADS, &threads);
        if (r >= 0)
                r = build_words(u->setting.more + POLICY_KEY_ADMISSION, &admission);
        if (r >= 0)
                r = hold_varlink_build_of_unit(u, &holds);
        if (r < 0)
                return r;
        verified = unit_read_verified(u, &k);

        return sd_json_buildo(
                ret,
                SD_JSON_BUILD_PAIR(
                        "unit",
                        SD_JSON_BUILD_OBJECT(
                                SD_JSON_BUILD_PAIR_STRING("unit", u->name),
                                VARLINK_PAIR_NULLABLE("cgroup", u->cgroup),
                                SD_JSON_BUILD_PAIR_CONDITION(u->cgroup_id != 0, "cgroupId",
                                                             SD_JSON_BUILD_UNSIGNED(u->cgroup_id)),
                                VARLINK_PAIR_NULLABLE("configured", u->setting.policy),
                                SD_JSON_BUILD_PAIR_CONDITION(!!options, "options",
                                                             SD_JSON_BUILD_VARIANT(options)),
                                SD_JSON_BUILD_PAIR_CONDITION(!!threads, "scanThreads",
                                                             SD_JSON_BUILD_VARIANT(threads)),
                                SD_JSON_BUILD_PAIR_CONDITION(!!admission, "admission",
                                                             SD_JSON_BUILD_VARIANT(admission)),
                                SD_JSON_BUILD_PAIR_CONDITION(!!holds, "holds", SD_JSON_BUILD_VARIANT(holds)),
                                VARLINK_PAIR_NULLABLE("effective", u->effective),
                                VARLINK_PAIR_NULLABLE("verified", verified),
                                SD_JSON_BUILD_PAIR_STRING("state", unit_state_to_string(u->state)),
                                VARLINK_PAIR_NULLABLE("reason", u->reason),
                                VARLINK_PAIR_NULLABLE("source", source),
                                SD_JSON_BUILD_PAIR_UNSIGNED("sinceUSec", u->since),
                                SD_JSON_BUILD_PAIR_CONDITION(k.id != 0, "policyId",
                                                             SD_JSON_BUILD_UNSIGNED(k.id)),
                                SD_JSON_BUILD_PAIR_CONDITION(!!u->link, "adopted",
                                                             SD_JSON_BUILD_BOOLEAN(u->adopted)))));
}

int unit_varlink_build(Unit *u, sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *reply = NULL;
        int r;

        r = unit_varlink_build_reply(u, &reply);
        if (r < 0)
                return r;

        *ret = sd_json_variant_ref(sd_json_variant_by_key(reply, "unit"));
        return 0;
}
