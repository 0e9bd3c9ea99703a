/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "config.h"
#include "exit-codes.h"
#include "model.h"
#include "options.h"
#include "output.h"
#include "pager.h"
#include "remote.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "verbs.h"

static const char *const group_titles[_VERB_GROUP_MAX] = {
        [VERB_GROUP_LOOK] = "Look",
        [VERB_GROUP_CHANGE] = "Change",
        [VERB_GROUP_WATCH] = "Watch",
        [VERB_GROUP_TRY] = "Choose and write policies",
};

/* All on one screen: what only some verbs have is in their own help. */
static void print_overview(void) {
        printf("cachectl [OPTIONS...] [VERB] [ARGUMENTS...]\n"
               "%sShow and set the page cache eviction policies of systemd units.%s\n",
               color_on(COLOR_BOLD), color_off(COLOR_BOLD));

        for (size_t i = 0; i < n_verbs; i++) {
                if (i == 0 || verbs[i].group != verbs[i - 1].group)
                        printf("\n%s:\n", group_titles[verbs[i].group]);
                printf("  %-11s %-15s %s%s\n", verbs[i].name, verbs[i].arguments, verbs[i].summary,
                       i == 0 ? " (default)" : "");
        }

        printf("\nOptions of most verbs:\n");
        options_print_help(OPTIONS_SHARED);
        printf("\n\"cachectl VERB --help\" shows all options of a verb, cachectl(1) the details.\n");
}

static void print_verb(const Verb *verb) {
        printf("cachectl [OPTIONS...] %s%s%s\n"
               "\n"
               "%s\n"
               "Options:\n",
               verb->name, *verb->arguments ? " " : "", verb->arguments, verb->details);
        options_print_help(verb->options & ~OPTIONS_SHARED);
        options_print_help((OPTION_HELP | verb->options) & OPTIONS_SHARED);
        printf("\nSee cachectl(1) for the details.\n");
}

int show_help(const Verb *verb) {
        if (arg_pager)
                pager_open();

        if (verb)
                print_verb(verb);
        else
                print_overview();

        return EXIT_SUCCESS;
}

int verb_help(char **arguments, size_t n_arguments) {
        const Verb *verb = NULL;

        if (n_arguments > 0) {
                verb = verb_find(arguments[0]);
                if (!verb) {
                        log_error("Unknown verb \"%s\"; \"cachectl help\" lists the verbs.", arguments[0]);
                        return EXIT_USAGE;
                }
        }

        return show_help(verb);
}

int show_version(void) {
        printf("cachectl %s\n", PROJECT_VERSION);
        return EXIT_SUCCESS;
}

/* The version of the daemon, NULL if it does not run: no error here. */
static int daemon_version(sd_json_variant **ret_status, const char **ret_version) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        int r;

        *ret_status = NULL;
        *ret_version = NULL;

        /* That there is no daemon elsewhere, or no way there, is one. */
        if (remote_wanted()) {
                r = client_connect(&link);
                if (r < 0)
                        return r;
        } else if (client_connect_quiet(&link) < 0)
                return 0;

        r = client_call(link, CACHEBPF_VARLINK_INTERFACE ".GetStatus", NULL, ret_status);
        if (r < 0)
                return r;

        *ret_version = json_string(*ret_status, "version");
        return 0;
}

int verb_version(char **arguments, size_t n_arguments) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *status = NULL, *v = NULL;
        const char *version;
        int r;

        r = daemon_version(&status, &version);
        if (r < 0)
                return r;

        if (!json_wanted()) {
                printf("cachectl  %s\n"
                       "cachebpfd %s\n", PROJECT_VERSION, version ?: "not running");
                return EXIT_SUCCESS;
        }

        r = sd_json_buildo(&v,
                           SD_JSON_BUILD_PAIR_STRING("client", PROJECT_VERSION),
                           SD_JSON_BUILD_PAIR_STRING("daemon", version));
        if (r < 0)
                return log_error_errno(r, "Cannot build JSON: %m");

        return output_json(v);
}
