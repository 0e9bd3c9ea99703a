/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cache-size.h"
#include "options.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/readahead-setting.h"
#include "shared/string-util.h"
#include "sim/readahead.h"
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
        free(s->readahead);
        if (s->advice)
                g_array_unref(s->advice);
        free(s->runs);
        free(s->results);
        *s = (Simulation) {};
}

/* ---- the trace */

int simulation_read_trace(const char *path, Trace **ret) {
        _cleanup_(trace_options_done) TraceOptions options = TRACE_OPTIONS_DEFAULT;
        TraceFormat format = TRACE_FORMAT_AUTO;
        _cleanup_free_ char *error = NULL;
        int r;

        if (arg_format) {
                r = trace_format_parse(arg_format, &format, &options, &error);
                if (r < 0)
                        return log_error_errno(r, "%s", error);
        }

        r = trace_read(path, format, &options, ret, &error);
        if (r == -ENOMEM)
                return log_oom();
        if (r < 0)
                return log_error_errno(EINVAL, "%s", error ?: path);
        return 0;
}

/* ---- sizes */

static int setup_sizes(Simulation *s) {
        _cleanup_strv_free_ char **texts = g_strsplit(arg_size ?: DEFAULT_SIZES, ",", -1);
        bool given = arg_size;

        s->sizes = g_new0(SimulationSize, g_strv_length(texts));
        for (char **text = texts; *text; text++) {
                int r;

                /* a default that is too small for a tiny trace is nobody's mistake */
                if (!given && cache_size_pages(*text, s->trace->n_objects) < 1)
                        continue;
                r = cache_size_parse(*text, s->trace->n_objects, &s->sizes[s->n_sizes].pages);
                if (r < 0)
                        return r;
                s->sizes[s->n_sizes++].label = g_strdup(*text);
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

/* ---- readahead */

static int setup_readahead(Simulation *s) {
        if (arg_readahead)
                return log_error_errno(EINVAL, "Option --readahead= needs a value here.");
        if (!arg_windows)
                return 0;

        s->readahead = g_new0(uint32_t, 1);
        if (readahead_setting_from_string(arg_windows, TRACE_PAGE_SIZE, s->readahead) < 0)
                return log_error_errno(EINVAL,
                                       "Option --readahead= takes stock, off, adaptive, or a multiple of 4K "
                                       "up to 2M, not \"%s\".", arg_windows);
        return 0;
}

/* Of what is read where, pages without files say nothing. */
static int check_readahead(const Simulation *s, const char *path) {
        if (!s->readahead || s->trace->has_files)
                return 0;
        return log_error_errno(EINVAL,
                               "Option --readahead= needs a trace with pages of files; %s has only keys.",
                               path);
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

void simulation_setup_runs(Simulation *s) {
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
                        .readahead = row->policy ? s->readahead : NULL,
                        .settings = s->settings,
                        .n_settings = s->n_settings,
                        .advice = s->advice ? (const SimAdvice *) s->advice->data : NULL,
                        .n_advice = s->advice ? s->advice->len : 0,
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
                r = setup_readahead(s);
        if (r >= 0)
                r = simulation_setup_policies(s, arg_policy ?: "all");
        if (r >= 0)
                r = setup_settings(s);
        if (r >= 0)
                r = simulation_read_trace(path, &s->trace);
        if (r >= 0)
                r = check_readahead(s, path);
        if (r >= 0)
                r = setup_sizes(s);
        if (r >= 0)
                r = check_learned(s);
        if (r >= 0)
                r = simulation_setup_managers(s);
        if (r >= 0)
                simulation_setup_runs(s);
        return r;
}

/* ---- running */

/* Says which runs have failed; returns how many. */
static int report_failures(const Simulation *s) {
        int n = 0;

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

int simulation_execute(Simulation *s) {
        int r;

        assert(s);

        r = sim_run_all(s->trace, s->runs, s->n_rows * s->n_sizes, /* n_parallel= */ 0, s->results);
        return r < 0 ? log_error_errno(r, "Cannot run the simulation: %m") : report_failures(s);
}
