/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "by-process.h"
#include "client.h"
#include "exit-codes.h"
#include "model.h"
#include "options.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "table.h"
#include "terminal.h"
#include "top-loop.h"
#include "top-sample.h"
#include "verbs.h"

#define CURVE_WIDTH 16U

typedef struct Top {
        TopSample sample;
        TopOrder order;
        char **patterns;
        size_t n_patterns;
        sd_varlink *link;
} Top;

static void top_done(Top *t) {
        top_sample_done(&t->sample);
        sd_varlink_flush_close_unref(t->link);
}

static const TableColumn columns[] = {
        { .header = "UNIT", .flags = COLUMN_SHRINK_MID },
        { .header = "POLICY" },
        { .header = "STATE" },
        { .header = "CACHED", .flags = COLUMN_RIGHT, .min_width = 7 },
        { .header = "HITS/s", .flags = COLUMN_RIGHT, .min_width = 7 },
        { .header = "MISSES/s", .flags = COLUMN_RIGHT },
        { .header = "EVICTED/s", .flags = COLUMN_RIGHT },
        { .header = "HIT%", .flags = COLUMN_RIGHT, .min_width = 6 },
        { .header = "HIT RATIO UNTIL NOW", .min_width = CURVE_WIDTH },
};

static void add_rate(Table *t, const TopUnit *u, double rate) {
        if (u->compared)
                table_add_scaled(t, rate, 1000);
        else
                table_add(t, NULL);
}

static void add_unit(Table *t, const TopUnit *u) {
        _cleanup_free_ char *curve = top_curve(u, CURVE_WIDTH, terminal_utf8());

        table_add(t, u->name);
        table_add(t, u->shown ?: u->policy);
        table_add_colored(t, state_color(u->state), u->state);
        if (u->counted)
                table_add_scaled(t, u->cached, 1024);
        else
                table_add(t, NULL);
        add_rate(t, u, u->hit_rate);
        add_rate(t, u, u->miss_rate);
        add_rate(t, u, u->eviction_rate);
        table_add_permille(t, u->permille);
        table_add(t, curve);
}

/* ---- the view */

static int take(void *userdata) {
        Top *t = userdata;

        return top_sample_take(&t->sample, t->link, t->patterns, t->n_patterns);
}

static bool obey(void *userdata, char key) {
        TopOrder order = top_order_from_key(key);
        Top *t = userdata;

        if (order == _TOP_ORDER_INVALID)
                return false;

        t->order = order;
        return true;
}

static void print_title(void *userdata, FILE *f) {
        const Top *t = userdata;
        guint n = t->sample.units->len;

        fprintf(f, "%u %s, by %s", n, n == 1 ? "unit" : "units", top_order_to_string(t->order));
}

static void print_table(void *userdata, FILE *f, size_t width) {
        _cleanup_(table_freep) Table *table = table_new(columns, ELEMENTSOF(columns));
        Top *t = userdata;

        top_sample_sort(&t->sample, t->order);
        for (guint i = 0; i < t->sample.units->len; i++)
                add_unit(table, t->sample.units->pdata[i]);
        table_print(table, f, arg_legend, arg_full ? SIZE_MAX : width);
}

static int top_units(char **patterns, size_t n_patterns) {
        _cleanup_(top_done) Top t = {
                .order = TOP_BY_UNIT,
                .patterns = patterns,
                .n_patterns = n_patterns,
        };
        int r;

        if (arg_sort) {
                t.order = top_order_from_string(arg_sort);
                if (t.order == _TOP_ORDER_INVALID) {
                        log_error("Option --sort= takes unit, policy, cached, "
                                  "hits, misses, ratio or evictions, not \"%s\".", arg_sort);
                        return EXIT_USAGE;
                }
        }

        r = client_connect(&t.link);
        if (r < 0)
                return r;

        return top_loop(&(TopView) {
                .take = take,
                .obey = obey,
                .print_title = print_title,
                .print_table = print_table,
                .userdata = &t,
        });
}

int verb_top(char **patterns, size_t n_patterns) {
        bool by_process;
        int r;

        r = top_check_options();
        if (r == 0)
                r = by_process_wanted(&by_process);
        if (r != 0)
                return r;

        return by_process ? top_processes(patterns, n_patterns) : top_units(patterns, n_patterns);
}
