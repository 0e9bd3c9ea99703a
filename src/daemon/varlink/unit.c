/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "daemon/core/choice.h"
#include "daemon/core/unit.h"
#include "unit.h"

/* ---- holds */

static int append_hold(const Hold *h, sd_json_variant **array) {
        g_auto(GStrv) settings = policy_setting_get_assignments(&h->setting);

        return sd_json_variant_append_arraybo(
                array,
                SD_JSON_BUILD_PAIR_UNSIGNED("cookie", h->cookie),
                SD_JSON_BUILD_PAIR_STRV("settings", settings),
                SD_JSON_BUILD_PAIR_STRING("program", h->program),
                VARLINK_PAIR_NULLABLE("reason", h->reason),
                SD_JSON_BUILD_PAIR_UNSIGNED("process", h->pid),
                SD_JSON_BUILD_PAIR_UNSIGNED("user", h->uid),
                SD_JSON_BUILD_PAIR_UNSIGNED("sinceUSec", h->since));
}

int unit_varlink_build_holds(const Unit *u, sd_json_variant **ret) {
        GPtrArray *holds = u->manager->holds;
        int r = 0;

        for (guint i = 0; r >= 0 && i < holds->len; i++) {
                const Hold *h = holds->pdata[i];

                if (streq(h->unit, u->name))
                        r = append_hold(h, ret);
        }

        return r;
}

/* ---- what CachePolicy=auto chose */

static int append_candidate(const PolicyCandidate *c, const CandidateFigures *f, sd_json_variant **array) {
        return sd_json_variant_append_arraybo(
                array,
                SD_JSON_BUILD_PAIR_STRING("name", c->name),
                SD_JSON_BUILD_PAIR_CONDITION(f->known, "missRatio", SD_JSON_BUILD_REAL(f->miss_ratio)),
                SD_JSON_BUILD_PAIR_CONDITION(f->banned > 0, "banned", SD_JSON_BUILD_UNSIGNED(f->banned)),
                SD_JSON_BUILD_PAIR_CONDITION(f->out, "out", SD_JSON_BUILD_BOOLEAN(true)));
}

static int build_choice(const Unit *u, sd_json_variant **ret) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *candidates = NULL;
        const UnitChoice *c = u->choice;
        int r = 0;

        if (!c)
                return 0;

        for (guint i = 0; r >= 0 && i < c->candidates.list->len; i++)
                r = append_candidate(c->candidates.list->pdata[i], c->figures + i, &candidates);
        if (r < 0)
                return r;

        return sd_json_buildo(
                ret,
                SD_JSON_BUILD_PAIR_STRING("chosen", unit_chosen_name(u)),
                SD_JSON_BUILD_PAIR_VARIANT("candidates", candidates),
                VARLINK_PAIR_NULLABLE("verdict", c->verdict),
                SD_JSON_BUILD_PAIR_UNSIGNED("switches", c->n_switches),
                VARLINK_PAIR_NULLABLE("switchReason", c->because),
                SD_JSON_BUILD_PAIR_CONDITION(c->switched_at > 0, "switchedUSec",
                                             SD_JSON_BUILD_UNSIGNED(c->switched_at)));
}

/* ---- what CacheReplay= did */

#define NONZERO(name, n) SD_JSON_BUILD_PAIR_CONDITION((n) > 0, name, SD_JSON_BUILD_UNSIGNED(n))

static int build_replay(const UnitReplay *x, sd_json_variant **ret) {
        bool recorded = x && x->recorded_at > 0, read = x && x->read_at > 0;

        if (!x || !x->known) /* soon it is */
                return 0;

        return sd_json_buildo(
                ret,
                NONZERO("recordingUntilUSec", x->recording_until),
                NONZERO("recordedUSec", x->recorded_at),
                SD_JSON_BUILD_PAIR_CONDITION(recorded, "recordedBytes",
                                             SD_JSON_BUILD_UNSIGNED(x->recorded_bytes)),
                SD_JSON_BUILD_PAIR_CONDITION(recorded, "recordedRanges",
                                             SD_JSON_BUILD_UNSIGNED(x->recorded_ranges)),
                NONZERO("readUSec", x->read_at),
                SD_JSON_BUILD_PAIR_CONDITION(read, "readBytes", SD_JSON_BUILD_UNSIGNED(x->read_bytes)),
                SD_JSON_BUILD_PAIR_CONDITION(read, "readRanges", SD_JSON_BUILD_UNSIGNED(x->read_ranges)),
                SD_JSON_BUILD_PAIR_UNSIGNED("readBytesTotal", x->read_bytes_total),
                VARLINK_PAIR_NULLABLE("reason", x->reason));
}

/* ---- units */

#define NULLABLE_STRV(name, l) SD_JSON_BUILD_PAIR_CONDITION(!!(l)[0], name, SD_JSON_BUILD_STRV(l))

int unit_varlink_build_reply(Unit *u, sd_json_variant **ret) {
        g_autofree char **options = policy_words_get_texts(u->setting.more + POLICY_KEY_OPTIONS),
                **threads = policy_words_get_texts(u->setting.more + POLICY_KEY_SCAN_THREADS),
                **admission = policy_words_get_texts(u->setting.more + POLICY_KEY_ADMISSION);
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *holds = NULL, *choice = NULL, *replay = NULL;
        _cleanup_kernel_policy_ KernelPolicy k = {};
        g_autofree char *source = unit_source(u),
                *readahead = policy_setting_get_value(&u->setting, POLICY_KEY_READAHEAD + 1);
        char **revoked = u->revoked ? (char **) u->revoked->pdata : NULL;
        const char *verified;
        int r;

        r = unit_varlink_build_holds(u, &holds);
        if (r >= 0)
                r = build_choice(u, &choice);
        if (r >= 0)
                r = build_replay(u->replay, &replay);
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
                                NULLABLE_STRV("options", options),
                                NULLABLE_STRV("scanThreads", threads),
                                NULLABLE_STRV("admission", admission),
                                VARLINK_PAIR_NULLABLE("readahead", empty_to_null(readahead)),
                                VARLINK_PAIR_NULLABLE_VARIANT("replay", replay),
                                VARLINK_PAIR_NULLABLE_VARIANT("holds", holds),
                                VARLINK_PAIR_NULLABLE("effective", u->effective),
                                VARLINK_PAIR_NULLABLE_VARIANT("choice", choice),
                                VARLINK_PAIR_NULLABLE("verified", verified),
                                SD_JSON_BUILD_PAIR_CONDITION(!!u->revoked, "revoked",
                                                             SD_JSON_BUILD_STRV(revoked)),
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
