/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which policies are simulated: --policy=. */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "simulate-setup.h"

static char *list_policies(void) {
        GString *names = g_string_new(NULL);

        for (const SimPolicy *p = sim_policies(); p; p = p->next)
                g_string_append_printf(names, "%s ", p->name);
        g_string_append_printf(names, "all, %s", sim_limit_to_string(SIM_LIMIT_STATIC));
        return g_string_free(names, FALSE);
}

static void add_row(Simulation *s, SimulationRow row) {
        for (size_t i = 0; i < s->n_rows; i++)
                if (s->rows[i].policy == row.policy && s->rows[i].limit == row.limit)
                        return;
        s->rows[s->n_rows++] = row;
}

/* A file, not one of those that are here. */
static bool is_file(const char *name) {
        return strchr(name, '/');
}

static int load_policies(char **names) {
        for (; *names; names++) {
                _cleanup_free_ char *error = NULL;
                const SimPolicy *policy;
                int r;

                if (!is_file(*names))
                        continue;

                r = sim_policy_load(*names, &policy, &error);
                if (r < 0)
                        return log_error_errno(EINVAL, "Option --policy=: %s.", error);
        }

        return 0;
}

static bool is_limit(const char *name) {
        for (SimLimit l = 0; l < _SIM_LIMIT_MAX; l++)
                if (streq(name, sim_limit_to_string(l)))
                        return true;
        return false;
}

static int add_policies(Simulation *s, const char *name) {
        _cleanup_free_ char *known = NULL, *error = NULL;
        const SimPolicy *policy;

        if (is_limit(name)) /* they come last */
                return 0;
        if (streq(name, "all")) {
                for (const SimPolicy *p = sim_policies(); p; p = p->next)
                        add_row(s, (SimulationRow) { .policy = p });
                return 0;
        }

        policy = sim_policy_find(name);
        if (policy || (is_file(name) && sim_policy_load(name, &policy, &error) >= 0)) {
                add_row(s, (SimulationRow) { .policy = policy });
                return 0;
        }

        known = list_policies();
        return log_error_errno(EINVAL, "Option --policy=: unknown policy \"%s\"; the simulator has %s, and "
                                      "loads a file if there is a slash in its name.", name, known);
}

int simulation_setup_policies(Simulation *s, const char *list) {
        _cleanup_strv_free_ char **names = g_strsplit(list, ",", -1);
        size_t n = _SIM_LIMIT_MAX;
        int r;

        assert(s);
        assert(list);

        r = load_policies(names);
        if (r < 0)
                return r;

        for (const SimPolicy *p = sim_policies(); p; p = p->next)
                n++;
        s->rows = g_new0(SimulationRow, n);

        if (!*names)
                return log_error_errno(EINVAL, "Option --policy= names no policy.");
        for (char **name = names; *name; name++) {
                r = add_policies(s, *name);
                if (r < 0)
                        return r;
        }

        if (g_strv_contains((const char *const *) names, sim_limit_to_string(SIM_LIMIT_STATIC)))
                add_row(s, (SimulationRow) { .limit = SIM_LIMIT_STATIC });
        add_row(s, (SimulationRow) { .limit = SIM_LIMIT_BELADY });
        return 0;
}
