/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fnmatch.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

static bool parse_line(char *line, RunRule *ret) {
        char *space = strchr(line, ' '), *end;

        if (!space || space == line || space[1] == 0)
                return false;

        *space = 0;
        *ret = (RunRule) {
                .pattern = space + 1,
                .done = strcmp(line, RUN_DONE) == 0,
        };
        if (ret->done)
                return true;

        ret->priority = (int) strtol(line, &end, 10);
        return *end == 0;
}

bool run_rules_parse(RunRules *rules, const char *text) {
        size_t length = strlen(text);

        rules->n_rules = 0;
        if (length >= sizeof(rules->text))
                return false;
        memcpy(rules->text, text, length + 1);

        for (char *line = rules->text, *next; line; line = next) {
                next = strchr(line, '\n');
                if (next)
                        *next++ = 0;
                if (rules->n_rules == RUN_RULES_MAX)
                        return *line == 0;
                if (parse_line(line, rules->rules + rules->n_rules))
                        rules->n_rules++;
        }

        return true;
}

RunMatch run_rules_match(const RunRules *rules, const char *path) {
        const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
        RunMatch match = {};
        locale_t before;

        /* In other locales it converts strings, and takes memory and locks. This one is always there. */
        before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t) 0));

        for (size_t i = 0; i < rules->n_rules; i++) {
                const RunRule *rule = rules->rules + i;

                if (fnmatch(rule->pattern, strchr(rule->pattern, '/') ? path : base, 0) != 0)
                        continue;
                if (rule->done)
                        match.done = true;
                else {
                        match.has_priority = true;
                        match.priority = rule->priority;
                }
        }

        (void) uselocale(before);
        return match;
}

bool run_pattern_is_valid(const char *pattern) {
        for (const char *p = pattern; *p; p++) {
                if (*p == '\\') {
                        if (*++p == 0)
                                return false;
                } else if (*p == '[') {
                        p += p[1] == '!' || p[1] == '^';
                        /* one at the beginning does not end it */
                        p = p[1] ? strchr(p + 2, ']') : NULL;
                        if (!p)
                                return false;
                }
        }

        return *pattern != 0;
}
