/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <stddef.h>
#include <string.h>

#include "model.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/string-util.h"
#include "shared/unit-state.h"

static int dispatch_number(
                const char *name,
                sd_json_variant *variant,
                sd_json_dispatch_flags_t flags,
                void *userdata) {

        uint64_t *n = ASSERT_PTR(userdata);

        if (sd_json_variant_is_null(variant))
                return 0;

        return sd_json_dispatch_uint64(name, variant, flags, n);
}

static int dispatch_ratio(
                const char *name,
                sd_json_variant *variant,
                sd_json_dispatch_flags_t flags,
                void *userdata) {

        double *ratio = ASSERT_PTR(userdata);

        if (sd_json_variant_is_null(variant))
                return 0;

        return sd_json_dispatch_double(name, variant, flags, ratio);
}

static int dispatch(
                sd_json_variant *v,
                const sd_json_dispatch_field *table,
                const char *what,
                void *userdata) {

        const char *bad_field = NULL;
        int r;

        r = sd_json_dispatch_full(v, table, /* bad= */ NULL, SD_JSON_ALLOW_EXTENSIONS, userdata, &bad_field);
        if (r < 0 && bad_field)
                return log_error_errno(r, "cachebpfd sent a %s with an unusable field \"%s\".",
                                       what, bad_field);
        if (r < 0)
                return log_error_errno(r, "cachebpfd sent an unusable %s: %m", what);
        return 0;
}

#define ANY_TYPE _SD_JSON_VARIANT_TYPE_INVALID

#define FIELD(type, json_name, member, json_type, callback, flags) \
        { json_name, json_type, callback, offsetof(type, member), flags }
#define STRING(type, json_name, member, flags) \
        FIELD(type, json_name, member, ANY_TYPE, sd_json_dispatch_const_string, flags)
#define NUMBER(type, json_name, member) \
        FIELD(type, json_name, member, ANY_TYPE, dispatch_number, 0)
#define ARRAY(type, json_name, member) \
        FIELD(type, json_name, member, \
              SD_JSON_VARIANT_ARRAY, sd_json_dispatch_variant_noref, SD_JSON_NULLABLE)
#define OBJECT(type, json_name, member) \
        FIELD(type, json_name, member, \
              SD_JSON_VARIANT_OBJECT, sd_json_dispatch_variant_noref, SD_JSON_NULLABLE)
#define ANYTHING(type, json_name, member) \
        FIELD(type, json_name, member, ANY_TYPE, sd_json_dispatch_variant_noref, 0)

int unit_info_parse(sd_json_variant *v, UnitInfo *ret) {
        static const sd_json_dispatch_field table[] = {
                STRING(UnitInfo, "unit", unit, SD_JSON_MANDATORY),
                STRING(UnitInfo, "cgroup", cgroup, 0),
                NUMBER(UnitInfo, "cgroupId", cgroup_id),
                STRING(UnitInfo, "configured", configured, 0),
                ARRAY(UnitInfo, "options", options),
                ARRAY(UnitInfo, "scanThreads", scan_threads),
                ARRAY(UnitInfo, "admission", admission),
                STRING(UnitInfo, "readahead", readahead, 0),
                OBJECT(UnitInfo, "replay", replay),
                ARRAY(UnitInfo, "revoked", revoked),
                ARRAY(UnitInfo, "holds", holds),
                STRING(UnitInfo, "effective", effective, 0),
                STRING(UnitInfo, "verified", verified, 0),
                OBJECT(UnitInfo, "choice", choice),
                STRING(UnitInfo, "state", state, SD_JSON_MANDATORY),
                STRING(UnitInfo, "reason", reason, 0),
                STRING(UnitInfo, "source", source, 0),
                NUMBER(UnitInfo, "sinceUSec", since_usec),
                NUMBER(UnitInfo, "policyId", policy_id),
                FIELD(UnitInfo, "adopted", adopted, ANY_TYPE, sd_json_dispatch_tristate, 0),
                {},
        };

        assert(ret);

        *ret = (UnitInfo) {
                .cgroup_id = UINT64_MAX,
                .since_usec = UINT64_MAX,
                .policy_id = UINT64_MAX,
                .adopted = -1,
        };
        return dispatch(v, table, "unit", ret);
}

int choice_info_parse(sd_json_variant *v, ChoiceInfo *ret) {
        static const sd_json_dispatch_field table[] = {
                STRING(ChoiceInfo, "chosen", chosen, SD_JSON_MANDATORY),
                ARRAY(ChoiceInfo, "candidates", candidates),
                STRING(ChoiceInfo, "verdict", verdict, 0),
                NUMBER(ChoiceInfo, "switches", switches),
                STRING(ChoiceInfo, "switchReason", switch_reason, 0),
                NUMBER(ChoiceInfo, "switchedUSec", switched_usec),
                {},
        };

        assert(ret);

        *ret = (ChoiceInfo) { .switches = UINT64_MAX, .switched_usec = UINT64_MAX };
        return dispatch(v, table, "choice", ret);
}

int candidate_info_parse(sd_json_variant *v, CandidateInfo *ret) {
        static const sd_json_dispatch_field table[] = {
                STRING(CandidateInfo, "name", name, SD_JSON_MANDATORY),
                FIELD(CandidateInfo, "missRatio", miss_ratio, ANY_TYPE, dispatch_ratio, 0),
                NUMBER(CandidateInfo, "banned", banned),
                FIELD(CandidateInfo, "out", out, ANY_TYPE, sd_json_dispatch_tristate, 0),
                {},
        };

        assert(ret);

        *ret = (CandidateInfo) { .miss_ratio = -1, .banned = UINT64_MAX, .out = -1 };
        return dispatch(v, table, "candidate", ret);
}

int replay_info_parse(sd_json_variant *v, ReplayInfo *ret) {
        static const sd_json_dispatch_field table[] = {
                NUMBER(ReplayInfo, "recordingUntilUSec", recording_until_usec),
                NUMBER(ReplayInfo, "recordedUSec", recorded_usec),
                NUMBER(ReplayInfo, "recordedBytes", recorded_bytes),
                NUMBER(ReplayInfo, "recordedRanges", recorded_ranges),
                NUMBER(ReplayInfo, "readUSec", read_usec),
                NUMBER(ReplayInfo, "readBytes", read_bytes),
                NUMBER(ReplayInfo, "readRanges", read_ranges),
                STRING(ReplayInfo, "reason", reason, 0),
                {},
        };

        assert(ret);

        *ret = (ReplayInfo) {
                .recording_until_usec = UINT64_MAX,
                .recorded_usec = UINT64_MAX,
                .read_usec = UINT64_MAX,
        };
        return dispatch(v, table, "replay", ret);
}

int hold_info_parse(sd_json_variant *v, HoldInfo *ret) {
        static const sd_json_dispatch_field table[] = {
                ARRAY(HoldInfo, "settings", settings),
                STRING(HoldInfo, "program", program, SD_JSON_MANDATORY),
                STRING(HoldInfo, "reason", reason, 0),
                NUMBER(HoldInfo, "process", process),
                NUMBER(HoldInfo, "sinceUSec", since_usec),
                {},
        };

        assert(ret);

        *ret = (HoldInfo) {
                .process = UINT64_MAX,
                .since_usec = UINT64_MAX,
        };
        return dispatch(v, table, "hold", ret);
}

char *unit_info_policy(const UnitInfo *u) {
        const char *chosen;

        assert(u);

        chosen = json_string(u->choice, "chosen");
        return !u->effective ? NULL :
               chosen        ? g_strdup_printf("auto (%s)", chosen) :
                               g_strdup(u->effective);
}

bool unit_info_contradicted(const UnitInfo *u) {
        assert(u);

        /* Without a policy of its own, a unit shows that of a unit above it. */
        return u->verified && u->effective && !streq(u->verified, u->effective);
}

bool unit_info_in_effect(const UnitInfo *u) {
        assert(u);

        return unit_state_from_string(u->state) == UNIT_ATTACHED &&
               u->effective && u->verified && streq(u->effective, u->verified);
}

/* How the states look. The glyphs are those systemctl uses for states of that kind. */
static const struct {
        TerminalColor color;
        const char *utf8;
        const char *ascii;
} looks[] = {
        [UNIT_UNCONFIGURED] = { COLOR_DIM,     "○", "o" },
        [UNIT_INACTIVE]     = { COLOR_DIM,     "○", "o" },
        [UNIT_PENDING]      = { COLOR_WARNING, "↻", "~" },
        [UNIT_ATTACHED]     = { COLOR_GOOD,    "●", "*" },
        [UNIT_FAILED]       = { COLOR_BAD,     "×", "x" },
        [UNIT_LOST]         = { COLOR_BAD,     "×", "x" },
        [UNIT_UNSUPPORTED]  = { COLOR_WARNING, "○", "o" },
};

static_assert(ELEMENTSOF(looks) == _UNIT_STATE_MAX, "each unit state needs its looks");

TerminalColor state_color(const char *state) {
        UnitState s = unit_state_from_string(state);

        return s >= 0 ? looks[s].color : COLOR_NONE;
}

const char *state_glyph(const char *state) {
        UnitState s = unit_state_from_string(state);

        if (s < 0)
                return "?"; /* of a newer daemon */

        return terminal_utf8() ? looks[s].utf8 : looks[s].ascii;
}

int stats_info_parse(sd_json_variant *v, StatsInfo *ret) {
        static const sd_json_dispatch_field table[] = {
                STRING(StatsInfo, "unit", unit, SD_JSON_MANDATORY),
                STRING(StatsInfo, "policy", policy, 0),
                OBJECT(StatsInfo, "counters", counters),
                ARRAY(StatsInfo, "declared", declared),
                {},
        };

        assert(ret);

        *ret = (StatsInfo) {};
        return dispatch(v, table, "set of counters", ret);
}

int counter_info_parse(sd_json_variant *v, CounterInfo *ret) {
        static const sd_json_dispatch_field table[] = {
                STRING(CounterInfo, "name", name, SD_JSON_MANDATORY),
                STRING(CounterInfo, "unit", unit, 0),
                STRING(CounterInfo, "doc", doc, 0),
                {},
        };

        assert(ret);

        *ret = (CounterInfo) {};
        return dispatch(v, table, "counter", ret);
}

uint64_t stats_info_counter(const StatsInfo *s, const char *name) {
        sd_json_variant *v;

        assert(s);
        assert(name);

        v = sd_json_variant_by_key(s->counters, name);
        return v && sd_json_variant_is_unsigned(v) ? sd_json_variant_unsigned(v) : UINT64_MAX;
}

uint64_t stats_info_sum(const StatsInfo *s, const char *prefix) {
        uint64_t value, sum = 0;
        const char *name;
        bool any = false;

        assert(s);
        assert(prefix);

        for (size_t i = 0; json_next_counter(s->counters, &i, &name, &value);)
                if (startswith(name, prefix)) {
                        sum += value;
                        any = true;
                }

        return any ? sum : UINT64_MAX;
}

int hit_permille(uint64_t hits, uint64_t misses) {
        if (hits + misses == 0)
                return -ENODATA;

        return (int) ((long double) hits * 1000 / ((long double) hits + misses));
}

int stats_info_hit_permille(const StatsInfo *s) {
        uint64_t hits, misses;

        assert(s);

        hits = stats_info_counter(s, "hits");
        misses = stats_info_counter(s, "misses");
        if (hits == UINT64_MAX || misses == UINT64_MAX)
                return -ENODATA;

        return hit_permille(hits, misses);
}

int manager_info_parse(sd_json_variant *v, ManagerInfo *ret) {
        static const sd_json_dispatch_field table[] = {
                STRING(ManagerInfo, "version", version, SD_JSON_MANDATORY),
                FIELD(ManagerInfo, "kernelSupport", kernel_support,
                      SD_JSON_VARIANT_BOOLEAN, sd_json_dispatch_stdbool, SD_JSON_MANDATORY),
                STRING(ManagerInfo, "kernelReason", kernel_reason, 0),
                NUMBER(ManagerInfo, "kernelAbi", kernel_abi),
                ARRAY(ManagerInfo, "kernelFeatures", kernel_features),
                OBJECT(ManagerInfo, "kernelStat", kernel_stat),
                NUMBER(ManagerInfo, "unitsConfigured", units_configured),
                NUMBER(ManagerInfo, "unitsAttached", units_attached),
                NUMBER(ManagerInfo, "unitsFailed", units_failed),
                ARRAY(ManagerInfo, "policyDirectories", policy_directories),
                {},
        };

        assert(ret);

        *ret = (ManagerInfo) {
                .kernel_abi = UINT64_MAX,
                .units_configured = UINT64_MAX,
                .units_attached = UINT64_MAX,
                .units_failed = UINT64_MAX,
        };
        return dispatch(v, table, "status", ret);
}

int policy_info_parse(sd_json_variant *v, PolicyInfo *ret) {
        static const sd_json_dispatch_field table[] = {
                STRING(PolicyInfo, "name", name, SD_JSON_MANDATORY),
                STRING(PolicyInfo, "description", description, 0),
                STRING(PolicyInfo, "source", source, 0),
                STRING(PolicyInfo, "path", path, 0),
                STRING(PolicyInfo, "problem", problem, 0),
                ARRAY(PolicyInfo, "abilities", abilities),
                ARRAY(PolicyInfo, "tunables", tunables),
                ARRAY(PolicyInfo, "counters", counters),
                {},
        };

        assert(ret);

        *ret = (PolicyInfo) {};
        return dispatch(v, table, "policy", ret);
}

int tunable_info_parse(sd_json_variant *v, TunableInfo *ret) {
        static const sd_json_dispatch_field table[] = {
                STRING(TunableInfo, "name", name, SD_JSON_MANDATORY),
                STRING(TunableInfo, "type", type, 0),
                ANYTHING(TunableInfo, "default", default_value),
                ANYTHING(TunableInfo, "min", min),
                ANYTHING(TunableInfo, "max", max),
                STRING(TunableInfo, "unit", unit, 0),
                STRING(TunableInfo, "doc", doc, 0),
                STRING(TunableInfo, "source", source, 0),
                {},
        };

        assert(ret);

        *ret = (TunableInfo) {};
        return dispatch(v, table, "tunable", ret);
}

int thread_info_parse(sd_json_variant *v, ThreadInfo *ret) {
        static const sd_json_dispatch_field table[] = {
                NUMBER(ThreadInfo, "thread", thread),
                STRING(ThreadInfo, "name", name, 0),
                STRING(ThreadInfo, "class", class, 0),
                {},
        };

        assert(ret);

        *ret = (ThreadInfo) { .thread = UINT64_MAX };
        return dispatch(v, table, "thread", ret);
}

const char *json_string(sd_json_variant *object, const char *key) {
        return sd_json_variant_string(sd_json_variant_by_key(object, key));
}

bool json_next_counter(sd_json_variant *counters, size_t *i, const char **ret_name, uint64_t *ret_value) {
        sd_json_variant *value;

        /* An object is a row of names and values in turn. */
        for (; *i + 1 < sd_json_variant_elements(counters); *i += 2) {
                value = sd_json_variant_by_index(counters, *i + 1);
                if (!sd_json_variant_is_unsigned(value))
                        continue;

                *ret_name = sd_json_variant_string(sd_json_variant_by_index(counters, *i));
                *ret_value = sd_json_variant_unsigned(value);
                *i += 2;
                return true;
        }

        return false;
}

char *json_join_strings(sd_json_variant *array, const char *separator) {
        GString *text = g_string_new(NULL);

        for (size_t i = 0; i < sd_json_variant_elements(array); i++) {
                sd_json_variant *e = sd_json_variant_by_index(array, i);

                if (sd_json_variant_is_string(e))
                        g_string_append_printf(text, "%s%s", text->len > 0 ? separator : "",
                                               sd_json_variant_string(e));
        }

        return g_string_free(text, FALSE);
}
