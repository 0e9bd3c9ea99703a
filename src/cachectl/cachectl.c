/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "exit-codes.h"
#include "options.h"
#include "pager.h"
#include "shared/log.h"
#include "terminal.h"
#include "verbs.h"

/* An option that does nothing for a verb is refused: whoever gave it expects it to do something. */
static int check_options(const Verb *verb, OptionMask used) {
        OptionMask excess = used & ~(verb->options | OPTION_HELP | OPTION_VERSION);

        for (OptionMask option = 1; option <= excess; option <<= 1)
                if (excess & option && !option_is_among(option, verb->options))
                        return log_error_errno(EINVAL, "Option %s means nothing for \"%s\"; "
                                               "see \"cachectl help %s\".",
                                               option_name(option), verb->name, verb->name);

        return 0;
}

static int run(int argc, char *argv[]) {
        const Verb *verb = verbs;
        OptionMask used;
        size_t n;
        int r;

        r = options_parse(argc, argv, &used);
        if (r < 0)
                return EXIT_USAGE;
        if (r > 0)
                return EXIT_SUCCESS;

        if (arg_version)
                return show_version();

        if (optind < argc) {
                verb = verb_find(argv[optind]);
                if (!verb) {
                        log_error("Unknown verb \"%s\"; \"cachectl help\" lists the verbs.", argv[optind]);
                        return EXIT_USAGE;
                }
                optind++;
        } else if (arg_help)
                return show_help(/* verb= */ NULL);

        if (arg_help)
                return show_help(verb);

        if (check_options(verb, used) < 0)
                return EXIT_USAGE;

        n = (size_t) (argc - optind);
        if (n < verb->min_arguments) {
                log_error("\"%s\" needs %s; see \"cachectl help %s\".", verb->name, verb->arguments,
                          verb->name);
                return EXIT_USAGE;
        }
        if (n > verb->max_arguments) {
                log_error("\"%s\" is one argument too many for \"%s\"; see \"cachectl help %s\".",
                          argv[optind + (int) verb->max_arguments], verb->name, verb->name);
                return EXIT_USAGE;
        }

        return verb->run(argv + optind, n);
}

int main(int argc, char *argv[]) {
        int r, k;

        terminal_init();

        r = run(argc, argv);
        agent_close();

        k = pager_close();
        if (k < 0)
                r = log_error_errno(k, "Cannot write the output: %m");

        return r < 0 ? EXIT_FAILURE : r;
}
