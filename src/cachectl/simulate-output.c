/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "json-print.h"
#include "options.h"
#include "pager.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "sim/plot.h"
#include "simulate-output.h"
#include "table.h"
#include "text.h"

/* Share of its evictions that a policy may leave to stock reclaim without anybody being told. */
#define NOTABLE_FALLBACK 0.01

/* Negative: unknown. */
static double miss_ratio(const SimResult *result) {
        if (!result->done)
                return -1;
        return result->stats.requests > 0 ? (double) result->stats.misses / result->stats.requests : 0;
}

static double fallback_share(const SimResult *result) {
        return result->stats.evict_asked > 0 ?
                       (double) result->stats.evict_fallback / result->stats.evict_asked : 0;
}

/* ---- for people */

static void fill_table(const Simulation *s, Table *t) {
        for (size_t i = 0; i < s->n_rows; i++) {
                table_add_colored(t, s->rows[i].policy ? COLOR_NONE : COLOR_BOLD, simulation_row_name(s, i));
                for (size_t j = 0; j < s->n_sizes; j++) {
                        double ratio = miss_ratio(simulation_result(s, i, j));

                        if (ratio < 0)
                                table_add(t, NULL);
                        else
                                table_addf(t, "%.2f%%", 100 * ratio);
                }
        }
}

static void print_notes(const Simulation *s) {
        for (size_t i = 0; i < s->n_rows; i++)
                for (size_t j = 0; j < s->n_sizes; j++) {
                        double share = fallback_share(simulation_result(s, i, j));

                        if (share > NOTABLE_FALLBACK)
                                printf("%s at %s: stock reclaim chose %.1f%% of what was "
                                       "evicted, as the policy did not propose enough.\n",
                                       simulation_row_name(s, i), s->sizes[j].label, 100 * share);
                }
}

/* What is read for a policy: two rows. */
static void add_reads(const Simulation *s, size_t row, Table *t) {
        static const char *const names[] = { "reads (requests)", "read (MiB)" };

        for (size_t n = 0; n < ELEMENTSOF(names); n++) {
                table_add(t, simulation_row_name(s, row));
                table_add(t, names[n]);
                for (size_t j = 0; j < s->n_sizes; j++) {
                        const SimResult *result = simulation_result(s, row, j);

                        if (!result->done)
                                table_add(t, NULL);
                        else if (n == 0)
                                table_addf(t, "%" PRIu64, result->stats.reads);
                        else
                                table_addf(t, "%.1f",
                                           (double) result->stats.read_pages * TRACE_PAGE_SIZE / 1048576);
                }
        }
}

/* What is read, and what policies count themselves: the rest would say the same as misses do. */
static void print_counters(const Simulation *s) {
        _cleanup_free_ TableColumn *columns = g_new0(TableColumn, s->n_sizes + 2);
        _cleanup_(table_freep) Table *t = NULL;

        columns[0].header = "POLICY";
        columns[1].header = "COUNTER";
        for (size_t j = 0; j < s->n_sizes; j++)
                columns[j + 2] = (TableColumn) { .header = s->sizes[j].label, .flags = COLUMN_RIGHT };

        t = table_new(columns, s->n_sizes + 2);
        for (size_t i = 0; i < s->n_rows; i++) {
                const SimCounter *c = s->rows[i].policy ? sim_counters(s->rows[i].policy) : NULL;

                if (simulation_run(s, i, 0)->readahead)
                        add_reads(s, i, t);
                for (size_t n = 0; c && n < SIM_COUNTERS_MAX; c = c->next, n++) {
                        table_add(t, simulation_row_name(s, i));
                        if (*c->unit)
                                table_addf(t, "%s (%s)", c->name, c->unit);
                        else
                                table_add(t, c->name);
                        for (size_t j = 0; j < s->n_sizes; j++)
                                if (simulation_result(s, i, j)->done)
                                        table_addf(t, "%" PRIu64, simulation_result(s, i, j)->counters[n]);
                                else
                                        table_add(t, NULL);
                }
        }

        if (table_rows(t) == 0)
                return;
        putchar('\n');
        table_print(t, stdout, true, SIZE_MAX);
}

/* Belady's is always there, as the last row. */
static void print_limits(const Simulation *s) {
        printf("\nThe optimum is that of Belady%s.\n", s->readahead ? ", which reads nothing ahead" : "");
        for (size_t i = 0; i < s->n_rows - 1; i++)
                if (!s->rows[i].policy)
                        printf("%s knows from the beginning which pages are used most, and keeps these.\n",
                               simulation_row_name(s, i));
}

int simulation_print(const Simulation *s, const char *path) {
        _cleanup_free_ TableColumn *columns = NULL;
        _cleanup_(table_freep) Table *t = NULL;
        _cleanup_free_ char *name = text_escape(path);

        assert(s);

        columns = g_new0(TableColumn, s->n_sizes + 1);
        columns[0].header = "POLICY";
        for (size_t j = 0; j < s->n_sizes; j++)
                columns[j + 1] = (TableColumn) { .header = s->sizes[j].label, .flags = COLUMN_RIGHT };

        t = table_new(columns, s->n_sizes + 1);
        fill_table(s, t);

        if (arg_pager)
                pager_open();

        if (arg_legend)
                printf("%s: misses of %" PRIu64 " requests for %" PRIu32 " pages (%.1f MiB), "
                       "by cache size\n\n", name,
                       simulation_result(s, s->n_rows - 1, 0)->stats.requests, s->trace->n_objects,
                       (double) s->trace->n_objects * TRACE_PAGE_SIZE / 1048576);
        table_print(t, stdout, arg_legend, SIZE_MAX);
        if (arg_legend) {
                print_limits(s);
                print_notes(s);
                print_counters(s);
        }
        return EXIT_SUCCESS;
}

/* ---- for programs */

static const struct {
        const char *name;
        size_t offset;
} counters[] = {
        { "requests", offsetof(SimStats, requests) },
        { "misses", offsetof(SimStats, misses) },
        { "cold_misses", offsetof(SimStats, cold_misses) },
        { "readahead", offsetof(SimStats, readahead) },
        { "added", offsetof(SimStats, added) },
        { "refaults", offsetof(SimStats, refaults) },
        { "evicted", offsetof(SimStats, evicted) },
        { "removed_truncate", offsetof(SimStats, truncated) },
        { "evict_calls", offsetof(SimStats, evict_calls) },
        { "evict_asked", offsetof(SimStats, evict_asked) },
        { "evict_proposed", offsetof(SimStats, evict_proposed) },
        { "evict_fallback", offsetof(SimStats, evict_fallback) },
        { "reject_stale", offsetof(SimStats, rejected) },
        { "admit_asked", offsetof(SimStats, admit_asked) },
        { "admit_rejected", offsetof(SimStats, admit_rejected) },
        { "reconfigurations", offsetof(SimStats, reconfigurations) },
};

static bool has_managers(const Simulation *s) {
        return s->trace->manager_names[1];
}

static struct json_object *managers_to_json(const Simulation *s, const SimResult *result) {
        struct json_object *o = json_object_new_object();

        for (size_t i = 1; i <= TRACE_MAX_MANAGERS && s->trace->manager_names[i]; i++) {
                struct json_object *counts = json_object_new_object();

                json_object_object_add(counts, "requests",
                                       json_object_new_uint64(result->stats.managers[i].requests));
                json_object_object_add(counts, "misses",
                                       json_object_new_uint64(result->stats.managers[i].misses));
                json_object_object_add(o, s->trace->manager_names[i], counts);
        }
        return o;
}

static struct json_object *counters_to_json(const SimPolicy *policy, const SimResult *result) {
        struct json_object *o = json_object_new_object();
        const SimCounter *c = sim_counters(policy);

        for (size_t n = 0; c && n < SIM_COUNTERS_MAX; c = c->next, n++)
                json_object_object_add(o, c->name, json_object_new_uint64(result->counters[n]));
        return o;
}

static struct json_object *result_to_json(const Simulation *s, size_t row, size_t size) {
        const SimResult *result = simulation_result(s, row, size);
        const SimRun *run = simulation_run(s, row, size);
        struct json_object *o = json_object_new_object();

        json_object_object_add(o, "policy", json_object_new_string(simulation_row_name(s, row)));
        json_object_object_add(o, "size", json_object_new_string(s->sizes[size].label));
        json_object_object_add(o, "pages", json_object_new_uint64(run->capacity));
        json_object_object_add(o, "batch", run->policy ? json_object_new_uint64(run->batch) : NULL);
        if (!result->done) {
                json_object_object_add(o, "error", json_object_new_string(result->message));
                return o;
        }

        json_object_object_add(o, "miss_ratio", json_ratio(miss_ratio(result)));
        for (size_t i = 0; i < ELEMENTSOF(counters); i++) {
                const uint64_t *value =
                        (const uint64_t *) ((const char *) &result->stats + counters[i].offset);

                json_object_object_add(o, counters[i].name, json_object_new_uint64(*value));
        }
        if (run->readahead) {
                json_object_object_add(o, "reads", json_object_new_uint64(result->stats.reads));
                json_object_object_add(o, "read_bytes",
                                       json_object_new_uint64(result->stats.read_pages * TRACE_PAGE_SIZE));
        }
        if (run->policy)
                json_object_object_add(o, "counters", counters_to_json(run->policy, result));
        json_object_object_add(o, "ns", json_object_new_uint64(result->ns));
        if (has_managers(s) && run->policy)
                json_object_object_add(o, "managers", managers_to_json(s, result));
        return o;
}

int simulation_print_json(const Simulation *s, const char *path) {
        _cleanup_(json_object_putp) struct json_object *o = json_object_new_object();
        struct json_object *results = json_object_new_array();
        _cleanup_free_ char *name = g_utf8_make_valid(path, -1);

        assert(s);

        json_object_object_add(o, "trace", json_object_new_string(name));
        json_object_object_add(o, "requests", json_object_new_uint64(s->trace->n_requests));
        json_object_object_add(o, "pages", json_object_new_uint64(s->trace->n_objects));
        for (size_t i = 0; i < s->n_rows; i++)
                for (size_t j = 0; j < s->n_sizes; j++)
                        json_object_array_add(results, result_to_json(s, i, j));
        json_object_object_add(o, "results", results);

        return json_print(o);
}

/* ---- for both */

int simulation_draw(const Simulation *s, const char *title, const char *const *names, const double *ratios,
                    const char *path) {
        _cleanup_free_ PlotSeries *series = NULL;
        _cleanup_free_ PlotSize *sizes = NULL;
        int r;

        assert(s);
        assert(ratios);

        sizes = g_new(PlotSize, s->n_sizes);
        for (size_t j = 0; j < s->n_sizes; j++)
                sizes[j] = (PlotSize) { .label = s->sizes[j].label, .pages = s->sizes[j].pages };

        series = g_new(PlotSeries, s->n_rows);
        for (size_t i = 0; i < s->n_rows; i++)
                series[i] = (PlotSeries) {
                        .name = names[i],
                        .optimum = i == s->n_rows - 1,
                        .ratios = ratios + i * s->n_sizes,
                };

        r = plot_write(&(Plot) {
                               .title = title,
                               .sizes = sizes,
                               .n_sizes = s->n_sizes,
                               .series = series,
                               .n_series = s->n_rows,
                       }, path);
        if (r < 0)
                return log_error_errno(r, "Cannot write %s: %m", path);
        return EXIT_SUCCESS;
}

int simulation_check_plot(const char *plot_path) {
        g_autofree char *directory = NULL;

        if (!plot_path)
                return 0;

        directory = g_path_get_dirname(plot_path);
        if (g_file_test(plot_path, G_FILE_TEST_IS_DIR))
                errno = EISDIR;
        else if (access(plot_path, W_OK) >= 0 || (errno == ENOENT && access(directory, W_OK | X_OK) >= 0))
                return 0;
        return log_error_errno(errno, "Cannot write %s: %m", plot_path);
}

int simulation_plot(const Simulation *s, const char *path, const char *plot_path) {
        _cleanup_free_ const char **names = g_new(const char *, s->n_rows);
        _cleanup_free_ double *ratios = g_new(double, s->n_rows * s->n_sizes);
        _cleanup_free_ char *title = text_escape(path);

        for (size_t i = 0; i < s->n_rows; i++) {
                names[i] = simulation_row_name(s, i);
                for (size_t j = 0; j < s->n_sizes; j++)
                        ratios[i * s->n_sizes + j] = miss_ratio(simulation_result(s, i, j));
        }
        return simulation_draw(s, title, names, ratios, plot_path);
}
