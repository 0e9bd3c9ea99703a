/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "exit-codes.h"
#include "model.h"
#include "options.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/string-util.h"
#include "table.h"
#include "terminal.h"
#include "top-sample.h"
#include "top-screen.h"
#include "verbs.h"

#define DEFAULT_DELAY (1 * USEC_PER_SEC)
#define MIN_DELAY (100 * USEC_PER_MSEC)
#define MAX_DELAY (3600 * USEC_PER_SEC)
#define CURVE_WIDTH 16U

typedef struct Top {
        TopSample sample;
        TopOrder order;
        uint64_t delay;
        char **patterns;
        size_t n_patterns;
        sd_varlink *link;
} Top;

static void top_done(Top *t) {
        top_sample_done(&t->sample);
        sd_varlink_flush_close_unref(t->link);
}

/* ---- the picture */

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

/* 1023, 12.3K, 4.5M */
static void add_scaled(Table *t, double n, double base) {
        static const char suffixes[] = " KMGTPE";
        size_t i = 0;

        for (; n >= base && suffixes[i + 1]; i++)
                n /= base;

        if (i == 0)
                table_addf(t, "%.*f", n > 0 && n < 10 ? 1 : 0, n);
        else
                table_addf(t, "%.*f%c", n < 100 ? 1 : 0, n, suffixes[i]);
}

static void add_rate(Table *t, const TopUnit *u, double rate) {
        if (u->compared)
                add_scaled(t, rate, 1000);
        else
                table_add(t, NULL);
}

static void add_unit(Table *t, const TopUnit *u) {
        _cleanup_free_ char *curve = top_curve(u, CURVE_WIDTH, terminal_utf8());

        table_add(t, u->name);
        table_add(t, u->policy);
        table_add_colored(t, state_color(u->state), u->state);
        if (u->counted)
                add_scaled(t, u->cached, 1024);
        else
                table_add(t, NULL);
        add_rate(t, u, u->hit_rate);
        add_rate(t, u, u->miss_rate);
        add_rate(t, u, u->eviction_rate);
        table_add_permille(t, u->permille);
        table_add(t, curve);
}

static void print_table(const Top *top, FILE *f, size_t width) {
        _cleanup_(table_freep) Table *t = table_new(columns, ELEMENTSOF(columns));

        for (guint i = 0; i < top->sample.units->len; i++)
                add_unit(t, top->sample.units->pdata[i]);
        table_print(t, f, arg_legend, arg_full ? SIZE_MAX : width);
}

static int draw(const Top *top) {
        _cleanup_free_ char *picture = NULL;
        size_t size, rows, width;
        guint n = top->sample.units->len;
        FILE *f;
        int r;

        f = open_memstream(&picture, &size);
        if (!f)
                return log_oom();

        screen_size(&rows, &width);
        if (arg_legend)
                fprintf(f, "%u %s, by %s, each %.1f s%s%s; q quits\n\n", n, n == 1 ? "unit" : "units",
                        top_order_to_string(top->order), (double) top->delay / USEC_PER_SEC,
                        arg_host || arg_machine ? ", on " : "", arg_host ?: strempty(arg_machine));
        print_table(top, f, width);
        if (fclose(f) != 0)
                return log_oom();

        r = screen_draw(picture);
        return r < 0 ? log_error_errno(r, "Cannot write to the terminal: %m") : 0;
}

/* ---- without keys */

static void sleep_until(uint64_t usec) {
        uint64_t now = (uint64_t) g_get_monotonic_time();

        if (now < usec)
                g_usleep(usec - now);
}

static int run_plain(Top *t, uint64_t n_iterations) {
        int r;

        for (uint64_t i = 0; n_iterations == 0 || i < n_iterations; i++) {
                if (i > 0) {
                        sleep_until(t->sample.at_usec + t->delay);
                        putchar('\n');
                }

                r = top_sample_take(&t->sample, t->link, t->patterns, t->n_patterns);
                if (r < 0)
                        return r;

                top_sample_sort(&t->sample, t->order);
                print_table(t, stdout, terminal_columns());
                if (fflush(stdout) != 0)
                        return log_error_errno(errno, "Cannot write the output: %m");
        }

        return EXIT_SUCCESS;
}

/* ---- with keys */

/* Returns true to go on. */
static bool obey(Top *t, int key, bool *ret_again) {
        TopOrder order = key > 0 ? top_order_from_key((char) key) : _TOP_ORDER_INVALID;

        if (key == 'q' || key == SCREEN_KEY_END)
                return false;

        if (order != _TOP_ORDER_INVALID)
                t->order = order;
        else if (key == '+')
                t->delay = MIN(t->delay < USEC_PER_SEC ? t->delay + MIN_DELAY : t->delay + USEC_PER_SEC,
                               MAX_DELAY);
        else if (key == '-')
                t->delay = MAX(t->delay <= USEC_PER_SEC ? t->delay - MIN(t->delay, MIN_DELAY) :
                                                          t->delay - USEC_PER_SEC, MIN_DELAY);
        else
                *ret_again = key == ' ';

        return true;
}

static int run_screen(Top *t, uint64_t n_iterations) {
        int r, key;

        r = screen_begin();
        if (r < 0)
                return r;

        for (uint64_t i = 0; n_iterations == 0 || i < n_iterations; i++) {
                bool again = false;

                r = top_sample_take(&t->sample, t->link, t->patterns, t->n_patterns);
                if (r < 0)
                        return r;

                do {
                        top_sample_sort(&t->sample, t->order);
                        r = draw(t);
                        if (r < 0)
                                return r;

                        key = screen_wait_key(t->sample.at_usec + t->delay);
                        if (!obey(t, key, &again))
                                return EXIT_SUCCESS;
                } while (key != SCREEN_KEY_NONE && !again);
        }

        return EXIT_SUCCESS;
}

int verb_top(char **patterns, size_t n_patterns) {
        bool plain = arg_plain || !terminal_interactive();
        uint64_t n_iterations = arg_iterations != UINT64_MAX ? arg_iterations : plain && !arg_plain ? 1 : 0;
        _cleanup_(top_done) Top t = {
                .order = TOP_BY_UNIT,
                .delay = arg_delay == UINT64_MAX ? DEFAULT_DELAY : arg_delay,
                .patterns = patterns,
                .n_patterns = n_patterns,
        };
        int r;

        if (arg_batch) {
                log_error("Option --batch takes no value here.");
                return EXIT_USAGE;
        }
        if (t.delay < MIN_DELAY || t.delay > MAX_DELAY) {
                log_error("Option --delay= takes a time from 100ms to 1h here.");
                return EXIT_USAGE;
        }
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

        return plain ? run_plain(&t, n_iterations) : run_screen(&t, n_iterations);
}
