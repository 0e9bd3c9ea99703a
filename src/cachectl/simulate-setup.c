/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "sim/trace-options.h"
#include "simulate-setup.h"

#define DEFAULT_SIZES "1%,10%,30%"

void simulation_done(Simulation *s) {
        assert(s);

        trace_free(s->trace);
        free(s->rows);
        for (size_t i = 0; i < s->n_sizes; i++)
                free(s->sizes[i].label);
        free(s->sizes);
        free(s->settings);
        if (s->advice)
                g_array_unref(s->advice);
        free(s->runs);
        free(s->results);
        *s = (Simulation) {};
}

/* ---- the trace */

static int setup_trace(Simulation *s, const char *path) {
        _cleanup_(trace_options_done) TraceOptions options = TRACE_OPTIONS_DEFAULT;
        TraceFormat format = TRACE_FORMAT_AUTO;
        _cleanup_free_ char *error = NULL;
        int r;

        if (arg_format) {
                r = trace_format_parse(arg_format, &format, &options, &error);
                if (r < 0)
                        return log_error_errno(r, "%s", error);
        }

        r = trace_read(path, format, &options, &s->trace, &error);
        if (r == -ENOMEM)
                return log_oom();
        if (r < 0)
                return log_error_errno(EINVAL, "%s", error ?: path);
        return 0;
}

/* ---- policies */

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

static int setup_policies(Simulation *s) {
        _cleanup_strv_free_ char **names = g_strsplit(arg_policy ?: "all", ",", -1);
        size_t n = _SIM_LIMIT_MAX;
        int r;

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

/* ---- sizes */

/* "10%" is a share of the pages of the trace, "64M" bytes.
 * Returns pages, rounded down; negative: malformed. */
static double parse_size(const char *text, uint32_t n_objects) {
        static const char units[] = "KMGT";
        double value, factor = 1.0 / TRACE_PAGE_SIZE;
        const char *unit;
        char *end;

        /* "inf", "0x10" and signs are numbers for strtod() */
        if (!g_ascii_isdigit(text[0]) || strspn(text, "0123456789.") + 1 < strlen(text))
                return -1;
        value = g_ascii_strtod(text, &end);
        if (streq(end, "%"))
                factor = n_objects / 100.0;
        else if (*end) {
                unit = strchr(units, *end);
                if (!unit || end[1])
                        return -1;
                for (const char *u = units; u <= unit; u++)
                        factor *= 1024;
        }
        return floor(value * factor + 1e-9);
}

static int setup_size(Simulation *s, const char *text) {
        double pages = parse_size(text, s->trace->n_objects);
        SimulationSize *size = s->sizes + s->n_sizes;

        if (pages < 0)
                return log_error_errno(EINVAL,
                                       "Option --size=: \"%s\" is no size; "
                                       "it can be a percentage of the pages in the "
                                       "trace (10%%), or bytes (64M, with K, M, G or T).", text);
        if (pages < 1)
                return log_error_errno(EINVAL, "Option --size=: \"%s\" is less than one page of %u bytes%s.",
                                       text, TRACE_PAGE_SIZE,
                                       endswith(text, "%") ? ", of those in the trace" : "");
        if (pages > UINT32_MAX)
                return log_error_errno(EINVAL, "Option --size=: \"%s\" is more than %" PRIu32 " pages.",
                                       text, UINT32_MAX);

        size->label = g_strdup(text);
        size->pages = pages;
        s->n_sizes++;
        return 0;
}

static int setup_sizes(Simulation *s) {
        _cleanup_strv_free_ char **texts = g_strsplit(arg_size ?: DEFAULT_SIZES, ",", -1);
        bool given = arg_size;

        s->sizes = g_new0(SimulationSize, g_strv_length(texts));
        for (char **text = texts; *text; text++) {
                int r;

                /* a default that is too small for a tiny trace is nobody's mistake */
                if (!given && parse_size(*text, s->trace->n_objects) < 1)
                        continue;
                r = setup_size(s, *text);
                if (r < 0)
                        return r;
        }
        if (s->n_sizes == 0)
                return log_error_errno(EINVAL, given ? "Option --size= names no size." :
                                       "The trace is too small for sizes in percent; use --size=.");
        return 0;
}

static int setup_batch(Simulation *s) {
        uint64_t batch = CACHEBPF_BATCH;

        if (arg_plain)
                return log_error_errno(EINVAL, "Option --batch= needs a number of pages here.");
        if (arg_batch && (safe_atou64(arg_batch, &batch) < 0 || batch < 1 || batch > CACHEBPF_BATCH))
                return log_error_errno(EINVAL,
                                       "Option --batch= takes a number of pages from 1 to %i, not \"%s\".",
                                       CACHEBPF_BATCH, arg_batch);
        s->batch = batch;
        return 0;
}

/* ---- tunables */

static int check_setting(const SimPolicy *policy, const SimTunable *t, const char *value, int64_t *ret) {
        int64_t min, max;

        sim_tunable_range(t, &min, &max);
        if (safe_atoi64(value, ret) < 0 || *ret < min || *ret > max)
                return log_error_errno(EINVAL,
                                       "Option --option=: %s of %s is a number from %" PRIi64 " to %" PRIi64
                                       " (%s), not \"%s\".", t->name, policy->name, min, max, t->unit,
                                       value);
        return 0;
}

/* "NAME=VALUE" is for all policies that have such a tunable, "POLICY.NAME=VALUE" for one. */
static int setup_setting(Simulation *s, const char *text) {
        const char *equals = strchr(text, '='), *dot = memchr(text, '.', equals ? equals - text : 0);
        _cleanup_free_ char *only = NULL, *name = NULL;
        bool found = false;

        if (!equals)
                return log_error_errno(EINVAL, "Option --option= takes NAME=VALUE, not \"%s\".", text);
        only = dot ? g_strndup(text, dot - text) : NULL;
        name = dot ? g_strndup(dot + 1, equals - dot - 1) : g_strndup(text, equals - text);
        for (size_t i = 0; i < s->n_rows; i++) {
                const SimPolicy *policy = s->rows[i].policy;
                const SimTunable *t;
                int64_t value;
                int r;

                if (!policy || (only && policy != sim_policy_find(only)))
                        continue;
                t = sim_tunable_find(policy, name);
                if (!t)
                        continue;

                r = check_setting(policy, t, equals + 1, &value);
                if (r < 0)
                        return r;
                s->settings[s->n_settings++] = (SimSetting) { .tunable = t, .value = value };
                found = true;
        }

        if (!found)
                return log_error_errno(EINVAL,
                                       "Option --option=: of what is simulated, no policy %s%shas a tunable "
                                       "\"%s\"; see \"cachectl policies\".",
                                       strempty(only), only ? " " : "", name);
        return 0;
}

static int setup_settings(Simulation *s) {
        int r = 0;

        s->settings = g_new0(SimSetting, g_slist_length(arg_options) * s->n_rows);
        for (GSList *o = arg_options; r >= 0 && o; o = o->next)
                r = setup_setting(s, o->data);
        return r;
}

/* ---- runs */

/* Of several runs, which would be the one that is kept? */
static int check_learned(const Simulation *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_rows; i++)
                n += s->rows[i].policy != NULL;
        if (!arg_learned || (n == 1 && s->n_sizes == 1))
                return 0;
        return log_error_errno(EINVAL, "Option --learned= needs --policy= and --size= with one of each.");
}

static void setup_runs(Simulation *s) {
        size_t n = s->n_rows * s->n_sizes;

        s->runs = g_new(SimRun, n);
        s->results = g_new0(SimResult, n);
        for (size_t i = 0; i < n; i++) {
                uint32_t capacity = s->sizes[i % s->n_sizes].pages;
                const SimulationRow *row = s->rows + i / s->n_sizes;

                s->runs[i] = (SimRun) {
                        .policy = row->policy,
                        .limit = row->limit,
                        .capacity = capacity,
                        .batch = sim_clamp_batch(s->batch, capacity),
                        .admission = arg_admission,
                        .learned = row->policy ? arg_learned : NULL,
                        .settings = s->settings,
                        .n_settings = s->n_settings,
                        .advice = (const SimAdvice *) s->advice->data,
                        .n_advice = s->advice->len,
                };
        }
}

int simulation_setup(Simulation *s, const char *path) {
        int r;

        assert(s);
        assert(path);

        /* what takes long, and what needs it, at last */
        r = setup_batch(s);
        if (r >= 0)
                r = setup_policies(s);
        if (r >= 0)
                r = setup_settings(s);
        if (r >= 0)
                r = setup_trace(s, path);
        if (r >= 0)
                r = setup_sizes(s);
        if (r >= 0)
                r = check_learned(s);
        if (r >= 0)
                r = simulation_setup_managers(s);
        if (r >= 0)
                setup_runs(s);
        return r;
}
