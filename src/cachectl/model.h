/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-json.h>

#include "terminal.h"

/* The daemon's replies as C structures. The strings belong to the JSON they were read from and live as
 * long as that. A number that is absent is UINT64_MAX, a string that is absent is NULL. What a newer
 * daemon adds is skipped. */

typedef struct UnitInfo {
        const char *unit;
        const char *cgroup;
        uint64_t cgroup_id;
        const char *configured; /* what the files say */
        sd_json_variant *options; /* borrowed, as the following: how they want it */
        sd_json_variant *scan_threads;
        sd_json_variant *admission;
        const char *readahead;
        sd_json_variant *replay; /* an object, see ReplayInfo; NULL: nothing asks for that */
        sd_json_variant *revoked;
        sd_json_variant *holds; /* an array of objects, see HoldInfo */
        const char *effective;  /* what the daemon attached, or found attached */
        const char *verified;   /* what the kernel says now */
        sd_json_variant *choice; /* an object, see ChoiceInfo; NULL: the daemon does not choose */
        const char *state;
        const char *reason;
        const char *source; /* FILE:LINE of the setting */
        uint64_t since_usec;
        uint64_t policy_id;
        int adopted; /* tristate */
} UnitInfo;

/* What CachePolicy=auto chose. */
typedef struct ChoiceInfo {
        const char *chosen;
        sd_json_variant *candidates; /* borrowed: an array of objects, see CandidateInfo */
        const char *verdict;
        uint64_t switches;
        const char *switch_reason;
        uint64_t switched_usec;
} ChoiceInfo;

typedef struct CandidateInfo {
        const char *name;
        double miss_ratio; /* from 0 to 1; negative: not known */
        uint64_t banned;   /* for so many windows */
        int out;           /* tristate */
} CandidateInfo;

int choice_info_parse(sd_json_variant *v, ChoiceInfo *ret);
int candidate_info_parse(sd_json_variant *v, CandidateInfo *ret);

/* What CacheReplay= did. */
typedef struct ReplayInfo {
        uint64_t recording_until_usec;
        uint64_t recorded_usec;
        uint64_t recorded_bytes;
        uint64_t recorded_ranges;
        uint64_t read_usec;
        uint64_t read_bytes;
        uint64_t read_ranges;
        const char *reason; /* why it did not do all of it */
} ReplayInfo;

int replay_info_parse(sd_json_variant *v, ReplayInfo *ret);

typedef struct HoldInfo {
        sd_json_variant *settings; /* borrowed */
        const char *program;
        const char *reason;
        uint64_t process;
        uint64_t since_usec;
} HoldInfo;

int hold_info_parse(sd_json_variant *v, HoldInfo *ret);

int unit_info_parse(sd_json_variant *v, UnitInfo *ret);

/* The policy as people are to see it, such as "auto (mru)"; NULL: none is attached. To be freed. */
char *unit_info_policy(const UnitInfo *u);

/* The kernel confirms that what is configured runs. */
bool unit_info_in_effect(const UnitInfo *u);

/* The kernel names another policy than the daemon believes, or none. */
bool unit_info_contradicted(const UnitInfo *u);

TerminalColor state_color(const char *state);
const char *state_glyph(const char *state);

typedef struct StatsInfo {
        const char *unit;
        const char *policy;
        sd_json_variant *counters; /* borrowed, as the following */
        sd_json_variant *declared; /* by the policy: what those with POLICY_COUNTER_PREFIX mean */
} StatsInfo;

int stats_info_parse(sd_json_variant *v, StatsInfo *ret);

typedef struct CounterInfo {
        const char *name;
        const char *unit;
        const char *doc;
} CounterInfo;

int counter_info_parse(sd_json_variant *v, CounterInfo *ret);

/* UINT64_MAX if this kernel does not count that. */
uint64_t stats_info_counter(const StatsInfo *s, const char *name);

/* The sum of all counters whose name starts with "prefix". */
uint64_t stats_info_sum(const StatsInfo *s, const char *prefix);

/* Hits of all accesses in 1/10 percent; negative if there was no access yet or accesses are not counted. */
int hit_permille(uint64_t hits, uint64_t misses);
int stats_info_hit_permille(const StatsInfo *s);

typedef struct ManagerInfo {
        const char *version;
        bool kernel_support;
        const char *kernel_reason;
        uint64_t kernel_abi;
        sd_json_variant *kernel_features; /* borrowed, as the following */
        sd_json_variant *kernel_stat;
        uint64_t units_configured;
        uint64_t units_attached;
        uint64_t units_failed;
        sd_json_variant *policy_directories;
} ManagerInfo;

int manager_info_parse(sd_json_variant *v, ManagerInfo *ret);

typedef struct PolicyInfo {
        const char *name;
        const char *description;
        const char *source; /* the paper or program the algorithm comes from */
        const char *path;
        const char *problem; /* why it cannot be used */
        sd_json_variant *abilities;
        sd_json_variant *tunables;
        sd_json_variant *counters;
} PolicyInfo;

int policy_info_parse(sd_json_variant *v, PolicyInfo *ret);

typedef struct TunableInfo {
        const char *name;
        const char *type;
        sd_json_variant *default_value; /* integers of 64 bits, signed and unsigned: kept as they came */
        sd_json_variant *min;
        sd_json_variant *max;
        const char *unit;
        const char *doc;
        const char *source; /* of the default, if it is not the policy's */
} TunableInfo;

int tunable_info_parse(sd_json_variant *v, TunableInfo *ret);

typedef struct ThreadInfo {
        uint64_t thread;
        const char *name;
        const char *class; /* NULL: it was given none */
} ThreadInfo;

int thread_info_parse(sd_json_variant *v, ThreadInfo *ret);

/* The string that is a member of an object; NULL if there is none, or it is something else. */
const char *json_string(sd_json_variant *object, const char *key);

/* Finds the next counter in an object of numbers, from *i on, and moves *i behind it; false at the end. */
bool json_next_counter(sd_json_variant *counters, size_t *i, const char **ret_name, uint64_t *ret_value);

/* The elements of an array of strings, joined. */
char *json_join_strings(sd_json_variant *array, const char *separator);
