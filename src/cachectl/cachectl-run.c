/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a command, and says for it what it does not say itself: how levels are replaced now, and which files
 * have which priority by a library that it loads. Asks nobody but the kernel. */

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <unistd.h>

#include "advice-options.h"
#include "config.h"
#include "exit-codes.h"
#include "lib/cachebpf.h"
#include "options.h"
#include "run/rules.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "verbs.h"

#define LIBRARY PKGLIBDIR "/libcachebpf-run.so"

static int add_rule(GString *rules, const char *option, const char *what, const char *pattern) {
        if (!run_pattern_is_valid(pattern) || strchr(pattern, '\n'))
                return log_error_errno(EINVAL,
                                       "Option --%s=: \"%s\" is no pattern: it is empty, has more than one "
                                       "line, or an open bracket or backslash.", option, pattern);

        if (rules->len > 0)
                g_string_append_c(rules, '\n');
        g_string_append_printf(rules, "%s %s", what, pattern);
        return 0;
}

static int add_files(GString *rules) {
        for (GSList *l = arg_files; l; l = l->next) {
                _cleanup_free_ char *pattern = NULL;
                char what[DECIMAL_STR_MAX(int)];
                int priority, r;

                r = parse_files_option(l->data, &pattern, &priority);
                if (r < 0)
                        return r;
                (void) snprintf(what, sizeof(what), "%i", priority);
                r = add_rule(rules, "files", what, pattern);
                if (r < 0)
                        return r;
        }

        for (GSList *l = arg_done_with; l; l = l->next) {
                int r = add_rule(rules, "done-with", RUN_DONE, l->data);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* One "cachectl run" in another: what is said here comes behind, and so is stronger. */
static int set_environment(const GString *rules) {
        const char *library = getenv("CACHEBPF_RUN_LIBRARY") ?: LIBRARY;
        const char *before = getenv("LD_PRELOAD"), *rules_before = getenv(RUN_ENVIRONMENT);
        g_autofree char *all = NULL, *libraries = NULL;
        g_autofree RunRules *parsed = g_new(RunRules, 1);
        g_auto(GStrv) names = g_strsplit_set(before ?: "", ": ", -1); /* as ld.so does */

        if (rules->len == 0)
                return 0;

        all = isempty(rules_before) ? g_strdup(rules->str) : g_strjoin("\n", rules_before, rules->str, NULL);
        if (!run_rules_parse(parsed, all))
                return log_error_errno(E2BIG, "There are too many patterns: at most %u, of %u bytes.",
                                       RUN_RULES_MAX, RUN_TEXT_MAX);
        if (strpbrk(library, ": "))
                return log_error_errno(EINVAL, "Cannot make programs load \"%s\": for ld.so the name ends "
                                               "before the colon or blank.", library);
        if (access(library, R_OK) < 0)
                return log_error_errno(errno, "Cannot make programs load \"%s\": %m", library);

        if (isempty(before))
                libraries = g_strdup(library);
        else if (g_strv_contains((const char *const *) names, library))
                libraries = g_strdup(before);
        else
                libraries = g_strjoin(":", before, library, NULL);

        if (setenv(RUN_ENVIRONMENT, all, true) < 0 || setenv("LD_PRELOAD", libraries, true) < 0)
                return log_error_errno(errno, "Cannot set the environment: %m");

        return 0;
}

typedef struct Level {
        int level;
        bool mru;
} Level;

static int parse_levels(GArray *levels) {
        for (GSList *l = arg_levels; l; l = l->next) {
                Level level;
                int r = parse_level_option(l->data, &level.level, &level.mru);
                if (r < 0)
                        return r;
                g_array_append_val(levels, level);
        }

        return 0;
}

/* That nobody listens is no reason not to run the command. */
static void set_levels(const GArray *levels) {
        enum cachebpf_replacement replacement;
        int r;

        r = cachebpf_get_replacement(CACHEBPF_PRIORITY_DEFAULT, &replacement);
        for (size_t i = 0; r >= 0 && i < levels->len; i++) {
                const Level *l = &g_array_index(levels, Level, i);

                r = cachebpf_set_replacement(l->level, l->mru ? CACHEBPF_REPLACEMENT_MRU :
                                                                CACHEBPF_REPLACEMENT_LRU);
        }

        if (r >= 0 || arg_quiet)
                return;
        if (r == -EOPNOTSUPP)
                log_warning("Nobody listens to what is said of files: the control group of this process has "
                            "no policy that does, such as acfs.");
        else
                log_warning_errno(r, "Cannot say what is to be said of levels: %m");
}

int verb_run(char **arguments, size_t n_arguments) {
        g_autoptr(GArray) levels = g_array_new(FALSE, FALSE, sizeof(Level));
        g_autoptr(GString) rules = g_string_new(NULL);
        int r;

        if (n_arguments == 0 || n_arguments != n_arg_command) {
                log_error("\"run\" needs a command, behind \"--\"; see \"cachectl help run\".");
                return EXIT_USAGE;
        }
        if (!arg_files && !arg_levels && !arg_done_with) {
                log_error("\"run\" needs --files=, --level= or --done-with=; see \"cachectl help run\".");
                return EXIT_USAGE;
        }

        if (add_files(rules) < 0 || parse_levels(levels) < 0)
                return EXIT_USAGE;
        if (set_environment(rules) < 0)
                return EXIT_NOT_STARTED;
        set_levels(levels);

        (void) execvp(arguments[0], arguments);
        r = log_error_errno(errno, "Cannot run \"%s\": %m", arguments[0]);
        return r == -ENOENT ? EXIT_NO_COMMAND : EXIT_CANNOT_EXECUTE;
}
