/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>

#include "exit-codes.h"
#include "options.h"
#include "shared/log.h"
#include "simulate-output.h"
#include "simulate-setup.h"
#include "verbs.h"

/* Says which runs have failed; returns how many. */
static size_t report_failures(const Simulation *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_rows; i++)
                for (size_t j = 0; j < s->n_sizes; j++) {
                        const SimResult *result = simulation_result(s, i, j);

                        if (result->done)
                                continue;
                        log_error("Policy %s at %s: %s.", simulation_row_name(s, i), s->sizes[j].label,
                                  result->message);
                        n++;
                }
        return n;
}

int verb_simulate(char **arguments, size_t n_arguments) {
        _cleanup_(simulation_done) Simulation s = {};
        size_t n_failed;
        int r;

        if (n_arguments == 0) {
                log_error("\"simulate\" needs a trace; see \"cachectl help simulate\".");
                return EXIT_USAGE;
        }

        r = simulation_setup(&s, arguments[0]);
        if (r == -EINVAL)
                return EXIT_USAGE;
        if (r < 0)
                return r;

        r = sim_run_all(s.trace, s.runs, s.n_rows * s.n_sizes, /* n_parallel= */ 0, s.results);
        if (r < 0)
                return log_error_errno(r, "Cannot run the simulation: %m");

        n_failed = report_failures(&s);
        r = json_wanted() ? simulation_print_json(&s, arguments[0]) : simulation_print(&s, arguments[0]);
        if (r >= 0 && arg_plot)
                r = simulation_plot(&s, arguments[0], arg_plot);
        return r < 0 || n_failed == 0 ? r : EXIT_FAILURE;
}
