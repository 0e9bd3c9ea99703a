/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What "cachectl run" was told of files, on its way to the library that it has programs load. */

/* The variable of the environment: a line for each rule, "PRIORITY PATTERN", or "done PATTERN". */
#define RUN_ENVIRONMENT "CACHEBPF_RUN"
#define RUN_DONE "done"

#define RUN_RULES_MAX 64U
#define RUN_TEXT_MAX 16384U

typedef struct RunRule {
        const char *pattern;
        int priority;
        bool done;
} RunRule;

typedef struct RunRules {
        char text[RUN_TEXT_MAX];
        RunRule rules[RUN_RULES_MAX];
        size_t n_rules;
} RunRules;

/* What the rules say of a file. */
typedef struct RunMatch {
        bool has_priority;
        int priority;
        bool done; /* give back what is read */
} RunMatch;

/* Lines that are no rules are passed over. False if it is more than there is room for. */
bool run_rules_parse(RunRules *rules, const char *text);

/* Of several rules that match the last one counts. A pattern with a slash is about the path as it is given,
 * others are about its last part. May be called wherever open() may, for instance in a signal handler. */
RunMatch run_rules_match(const RunRules *rules, const char *path);

/* Whether it is what it seems to be: brackets are closed, and something follows a backslash. */
bool run_pattern_is_valid(const char *pattern);
