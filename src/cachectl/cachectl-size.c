/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "advice.h"
#include "config/unit-file.h"
#include "curve.h"
#include "exit-codes.h"
#include "json-print.h"
#include "options.h"
#include "pager.h"
#include "sample.h"
#include "sample-output.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "table.h"
#include "terminal.h"
#include "verbs.h"

#define MIB 1048576.0
#define BAR 40 /* columns, for all requests */

/* Memory in all that leaves a cache of that many bytes, in MiB. */
static uint64_t memory_high(const Sample *sample, uint64_t bytes) {
        return (bytes + sample->cache.other + (1 << 20) - 1) >> 20;
}

/* ---- for people */

/* What the better of two policies misses, and after it what the other one misses more. */
static char *draw_bar(double ratio, double other) {
        const char *full = terminal_utf8() ? "█" : "#", *half = terminal_utf8() ? "░" : "-";
        GString *bar = g_string_new(NULL);
        int n = (int) (MIN(ratio, other) * BAR + 0.5), m = (int) (MAX(ratio, other) * BAR + 0.5);

        for (int i = 0; i < m; i++)
                g_string_append(bar, i < n ? full : half);
        return g_string_free(bar, FALSE);
}

static void print_curve(const Sample *sample, const Curve *c) {
        const Simulation *s = &c->simulation;
        g_autofree TableColumn *columns = g_new0(TableColumn, s->n_rows + 2);
        _cleanup_(table_freep) Table *t = NULL;

        columns[0] = (TableColumn) { .header = "CACHE", .flags = COLUMN_RIGHT };
        for (size_t i = 0; i < s->n_rows; i++)
                columns[i + 1] = (TableColumn) { .header = forecast_name(s, i), .flags = COLUMN_RIGHT };
        columns[s->n_rows + 1].header = "MISSES";

        t = table_new(columns, s->n_rows + 2);
        for (size_t j = 0; j < s->n_sizes; j++) {
                /* of stock and of what stands beside it: a policy, or nothing but the optimum */
                g_autofree char *bar = draw_bar(forecast_ratio(sample, s, 0, j),
                                                forecast_ratio(sample, s, 1, j));

                table_add_colored(t, j == CURVE_NOW ? COLOR_BOLD : COLOR_NONE, s->sizes[j].label);
                for (size_t i = 0; i < s->n_rows; i++)
                        table_addf(t, "%.1f%%", 100 * forecast_ratio(sample, s, i, j));
                if (j == CURVE_NOW)
                        table_addf(t, "%s now", bar);
                else
                        table_add(t, bar);
        }
        table_print(t, stdout, arg_legend, SIZE_MAX);
        if (arg_legend)
                printf("\n"
                       "Dark: what the better one of %s and %s misses; light: what the other misses more.\n",
                       forecast_name(s, 0), forecast_name(s, 1));
}

static void print_smallest(const Sample *sample, const Curve *c) {
        const char *section = sample->name ? unit_name_to_section(sample->name) : NULL;
        const Simulation *s = &c->simulation;

        printf("\n"
               "The smallest cache that reads at most %.0f%% more than stock does now:\n",
               100 * CURVE_TOLERANCE);
        for (size_t i = 0; i < s->n_rows - 1; i++) {
                uint64_t bytes = curve_smallest(sample, c, i);

                if (bytes == 0) {
                        printf("    %s: a larger one than now\n", forecast_name(s, i));
                        continue;
                }
                printf("    %s: %.1f MiB", forecast_name(s, i), bytes / MIB);
                if (section && !arg_size)
                        printf("; in [%s], with its other memory: MemoryHigh=%" PRIu64 "M", section,
                               memory_high(sample, bytes));
                putchar('\n');
        }
}

static int print(const Sample *sample, const Curve *c, const Advice *a) {
        if (arg_pager)
                pager_open();
        if (arg_legend)
                sample_print_title(sample);
        if (a->kind >= ADVICE_TOO_SHORT) {
                g_autofree char *sentence = advice_to_string(sample, &c->simulation, a);

                printf("%s\n", sentence);
                if (a->kind == ADVICE_NOTHING)
                        return EXIT_SUCCESS;
                putchar('\n');
        }
        print_curve(sample, c);
        print_smallest(sample, c);
        return EXIT_SUCCESS;
}

/* ---- for programs */

static struct json_object *sizes_to_json(const Sample *sample, const Curve *c) {
        struct json_object *array = json_object_new_array();
        const Simulation *s = &c->simulation;

        for (size_t j = 0; j < s->n_sizes; j++) {
                struct json_object *o = json_object_new_object(), *ratios = json_object_new_object();

                json_object_object_add(o, "cache_bytes",
                                       json_object_new_uint64((uint64_t) c->pages[j] * TRACE_PAGE_SIZE));
                for (size_t i = 0; i < s->n_rows; i++)
                        json_object_object_add(ratios, simulation_row_name(s, i),
                                               json_ratio(forecast_ratio(sample, s, i, j)));
                json_object_object_add(o, "miss_ratios", ratios);
                json_object_array_add(array, o);
        }
        return array;
}

static struct json_object *smallest_to_json(const Sample *sample, const Curve *c) {
        struct json_object *array = json_object_new_array();
        const Simulation *s = &c->simulation;

        for (size_t i = 0; i < s->n_rows - 1; i++) {
                uint64_t bytes = curve_smallest(sample, c, i);
                struct json_object *o;

                if (bytes == 0)
                        continue;
                o = json_object_new_object();
                json_object_object_add(o, "policy", json_object_new_string(simulation_row_name(s, i)));
                json_object_object_add(o, "cache_bytes", json_object_new_uint64(bytes));
                if (!arg_size)
                        json_object_object_add(o, "memory_high_bytes",
                                               json_object_new_uint64(memory_high(sample, bytes) << 20));
                json_object_array_add(array, o);
        }
        return array;
}

static int print_json(const Sample *sample, const Curve *c, const Advice *a) {
        _cleanup_(json_object_putp) struct json_object *o = sample_to_json(sample);

        json_object_object_add(o, "too_short", json_object_new_boolean(a->kind >= ADVICE_TOO_SHORT));
        json_object_object_add(o, "sizes", sizes_to_json(sample, c));
        json_object_object_add(o, "smallest", smallest_to_json(sample, c));
        return json_print(o);
}

/* ---- what is simulated */

/* Stock, and what --policy= names, or else what is best at the present size. */
static int find_policies(const Sample *sample, Advice *ret_advice, char **ret) {
        g_autofree char *list = arg_policy ? g_strconcat(FORECAST_STOCK, ",", arg_policy, NULL) :
                                             forecast_policies();
        _cleanup_(forecast_done) Simulation s = {};
        int r;

        r = forecast_run(sample, list, &sample->pages, 1, &s);
        if (r < 0)
                return r;

        advice_find(sample, &s, ret_advice);
        if (arg_policy)
                *ret = g_steal_pointer(&list);
        else
                *ret = g_strconcat(FORECAST_STOCK, ",", simulation_row_name(&s, ret_advice->best), NULL);
        return 0;
}

/* Before a minute is recorded. */
static int check_policies(void) {
        _cleanup_(simulation_done) Simulation s = {};

        return arg_policy ? simulation_setup_policies(&s, arg_policy) : 0;
}

int verb_size(char **arguments, size_t n_arguments) {
        _cleanup_(sample_done) Sample sample = {};
        _cleanup_(curve_done) Curve curve = {};
        g_autofree char *policies = NULL;
        Advice a;
        int r;

        r = check_policies();
        if (r < 0)
                return r == -EINVAL ? EXIT_USAGE : r;

        r = sample_take(arguments, n_arguments, &sample);
        if (r != 0)
                return r;

        r = find_policies(&sample, &a, &policies);
        if (r >= 0)
                r = curve_make(&sample, policies, &curve);
        if (r < 0)
                return r;

        r = json_wanted() ? print_json(&sample, &curve, &a) : print(&sample, &curve, &a);
        if (r >= 0 && arg_plot)
                r = sample_plot(&sample, &curve.simulation, arg_plot);
        return r;
}
