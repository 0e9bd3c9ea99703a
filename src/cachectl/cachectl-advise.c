/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "advice.h"
#include "config/unit-file.h"
#include "forecast.h"
#include "json-print.h"
#include "options.h"
#include "pager.h"
#include "sample.h"
#include "sample-output.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "simulate-output.h"
#include "table.h"
#include "verbs.h"

static const char *best_policy(const Simulation *s, const Advice *a) {
        return a->kind == ADVICE_CHANGE ? simulation_row_name(s, a->best) : NULL;
}

/* ---- for people */

/* Rows in the order of their misses; equal ones in that of their names. */
static size_t *sort_rows(const Sample *sample, const Simulation *s) {
        size_t *order = g_new(size_t, s->n_rows);

        for (size_t i = 0; i < s->n_rows; i++) {
                double ratio = forecast_ratio(sample, s, i, 0);
                size_t at = i;

                for (; at > 0 && forecast_ratio(sample, s, order[at - 1], 0) > ratio; at--)
                        order[at] = order[at - 1];
                order[at] = i;
        }
        return order;
}

/* To a tenth, and without a sign before 0. */
static double round_percent(double ratio) {
        return rint(1000 * ratio) / 10 + 0.0;
}

static void print_table(const Sample *sample, const Simulation *s, const Advice *a) {
        static const TableColumn columns[] = {
                { .header = "POLICY" },
                { .header = "MISSES", .flags = COLUMN_RIGHT },
                { .header = "AGAINST STOCK", .flags = COLUMN_RIGHT },
        };
        _cleanup_(table_freep) Table *t = table_new(columns, ELEMENTSOF(columns));
        g_autofree size_t *order = sort_rows(sample, s);

        for (size_t i = 0; i < s->n_rows; i++) {
                bool told = order[i] == a->stock || order[i] == a->optimum;
                double ratio = forecast_ratio(sample, s, order[i], 0);

                table_add_colored(t, told ? COLOR_BOLD : COLOR_NONE, forecast_name(s, order[i]));
                table_addf(t, "%.1f%%", 100 * ratio);
                if (order[i] == a->stock)
                        table_add(t, NULL);
                else
                        table_addf(t, "%+.1f%%", round_percent(ratio - a->stock_ratio));
        }
        table_print(t, stdout, arg_legend, SIZE_MAX);
}

static void print_what_to_do(const Sample *sample, const char *policy) {
        const char *section = sample->name ? unit_name_to_section(sample->name) : NULL;
        g_autofree char *present = advice_present(sample, policy);

        if (present)
                printf("%s\n", present);
        if (streq_ptr(sample->policy, policy))
                return;
        if (!section) { /* no unit, or none that can have a policy */
                printf("\n    CachePolicy=%s\n", policy);
                return;
        }

        printf("\n"
               "Write it with \"systemctl edit %s\", which makes /etc/systemd/system/%s.d/override.conf:\n"
               "\n"
               "    [%s]\n"
               "    CachePolicy=%s\n"
               "\n"
               "Or try it until the next boot: cachectl set %s %s\n",
               sample->name, sample->name, section, policy, sample->name, policy);
        if (!g_file_test("/sys/kernel/cachebpf", G_FILE_TEST_IS_DIR))
                printf("That needs a kernel with cachebpf, which this one is not.\n");
}

static int print(const Sample *sample, const Simulation *s, const Advice *a) {
        g_autofree char *sentence = advice_to_string(sample, s, a);

        if (arg_pager)
                pager_open();
        if (arg_legend)
                sample_print_title(sample);
        if (a->kind != ADVICE_NOTHING) {
                print_table(sample, s, a);
                putchar('\n');
        }
        printf("%s\n", sentence);
        if (best_policy(s, a))
                print_what_to_do(sample, best_policy(s, a));
        return EXIT_SUCCESS;
}

/* ---- for programs */

static struct json_object *rows_to_json(const Sample *sample, const Simulation *s) {
        struct json_object *array = json_object_new_array();

        for (size_t i = 0; i < s->n_rows - 1; i++) {
                struct json_object *o = json_object_new_object();

                json_object_object_add(o, "policy", json_object_new_string(simulation_row_name(s, i)));
                json_object_object_add(o, "miss_ratio", json_ratio(forecast_ratio(sample, s, i, 0)));
                json_object_array_add(array, o);
        }
        return array;
}

static int print_json(const Sample *sample, const Simulation *s, const Advice *a) {
        _cleanup_(json_object_putp) struct json_object *o = sample_to_json(sample);
        g_autofree char *sentence = advice_to_string(sample, s, a);
        const char *policy = best_policy(s, a);

        json_object_object_add(o, "policies", rows_to_json(sample, s));
        json_object_object_add(o, "stock", json_ratio(a->stock_ratio));
        json_object_object_add(o, "optimum", json_ratio(a->optimum_ratio));
        json_object_object_add(o, "margin", json_ratio(a->margin));
        json_object_object_add(o, "advice", json_object_new_string(advice_kind_to_string(a->kind)));
        json_object_object_add(o, "policy", policy ? json_object_new_string(policy) : NULL);
        if (a->duration_usec > 0)
                json_object_object_add(o, "duration_usec", json_object_new_uint64(a->duration_usec));
        json_object_object_add(o, "text", json_object_new_string(sentence));
        return json_print(o);
}

int verb_advise(char **arguments, size_t n_arguments) {
        _cleanup_(sample_done) Sample sample = {};
        _cleanup_(forecast_done) Simulation s = {};
        g_autofree char *policies = forecast_policies();
        Advice a;
        int r;

        r = sample_take(arguments, n_arguments, &sample);
        if (r != 0)
                return r;

        r = forecast_run(&sample, policies, &sample.pages, 1, &s);
        if (r < 0)
                return r;

        advice_find(&sample, &s, &a);
        r = json_wanted() ? print_json(&sample, &s, &a) : print(&sample, &s, &a);
        if (r >= 0 && arg_plot)
                r = sample_plot(&sample, &s, arg_plot);
        return r;
}
