/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>

#include "exit-codes.h"
#include "options.h"
#include "shared/log.h"
#include "simulate-output.h"
#include "simulate-setup.h"
#include "verbs.h"

int verb_simulate(char **arguments, size_t n_arguments) {
        _cleanup_(simulation_done) Simulation s = {};
        int n_failed, r;

        if (n_arguments == 0) {
                log_error("\"simulate\" needs a trace; see \"cachectl help simulate\".");
                return EXIT_USAGE;
        }

        r = simulation_check_plot(arg_plot);
        if (r < 0)
                return r;

        r = simulation_setup(&s, arguments[0]);
        if (r == -EINVAL)
                return EXIT_USAGE;
        if (r < 0)
                return r;

        n_failed = simulation_execute(&s);
        if (n_failed < 0)
                return n_failed;

        r = json_wanted() ? simulation_print_json(&s, arguments[0]) : simulation_print(&s, arguments[0]);
        if (r >= 0 && arg_plot)
                r = simulation_plot(&s, arguments[0], arg_plot);
        return r < 0 || n_failed == 0 ? r : EXIT_FAILURE;
}
