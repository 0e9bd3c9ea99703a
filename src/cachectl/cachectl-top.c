/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
static int add_scaled(Table *t, double n, double base, const char *unit) {
        static const char suffixes[] = " KMGTPE";
        size_t i = 0;

        for (; n >= base && suffixes[i + 1]; i++)
                n /= base;

        if (i == 0)
                return table_addf(t, "%.*f%s", n > 0 && n < 10 ? 1 : 0, n, unit);
        return table_addf(t, "%.*f%c%s", n < 100 ? 1 : 0, n, suffixes[i], unit);
}

static int add_rate(Table *t, const TopUnit *u, double rate) {
        return u->compared ? add_scaled(t, rate, 1000, "") : table_add(t, NULL);
}

static int add_unit(Table *t, const TopUnit *u) {
        _cleanup_free_ char *curve = top_curve(u, CURVE_WIDTH, terminal_utf8());
        int r;

        if (!curve)
                return -ENOMEM;

        r = table_add(t, u->name);
        if (r >= 0)
                r = table_add(t, u->policy);
        if (r >= 0)
                r = table_add_colored(t, state_color(u->state), u->state);
        if (r >= 0)
                r = u->counted ? add_scaled(t, u->cached, 1024, "") : table_add(t, NULL);
        if (r >= 0)
                r = add_rate(t, u, u->hit_rate);
        if (r >= 0)
                r = add_rate(t, u, u->miss_rate);
        if (r >= 0)
                r = add_rate(t, u, u->eviction_rate);
        if (r >= 0)
                r = u->permille < 0 ? table_add(t, NULL) :
                                      table_addf(t, "%d.%d%%", u->permille / 10, u->permille % 10);
        return r < 0 ? r : table_add(t, curve);
}

static int print_table(const Top *top, FILE *f, size_t width) {
        _cleanup_(table_freep) Table *t = NULL;
        int r;

        r = table_new(columns, ELEMENTSOF(columns), &t);
        for (size_t i = 0; r >= 0 && i < top->sample.n; i++)
                r = add_unit(t, top->sample.units[i]);
        if (r >= 0)
                r = table_print(t, f, arg_legend, arg_full ? SIZE_MAX : width);
        return r < 0 ? log_oom() : 0;
}

static int draw(const Top *top) {
        _cleanup_free_ char *picture = NULL;
        size_t size, rows, width;
        FILE *f;
        int r;

        f = open_memstream(&picture, &size);
        if (!f)
                return log_oom();

        screen_size(&rows, &width);
        if (arg_legend)
                fprintf(f, "%zu %s, by %s, each %.1f s%s%s; q quits\n\n",
                        top->sample.n, top->sample.n == 1 ? "unit" : "units",
                        top_order_to_string(top->order),
                        (double) top->delay / USEC_PER_SEC,
                        arg_host || arg_machine ? ", on " : "", arg_host ?: strempty(arg_machine));
        r = print_table(top, f, width);
        if (fclose(f) != 0)
                return log_oom();
        if (r < 0)
                return r;

        r = screen_draw(picture);
        return r < 0 ? log_error_errno(r, "Cannot write to the terminal: %m") : 0;
}

/* ---- without keys */

static int sleep_until(uint64_t usec) {
        const struct timespec ts = {
                .tv_sec = (time_t) (usec / USEC_PER_SEC),
                .tv_nsec = (long) (usec % USEC_PER_SEC * 1000),
        };
        int r;

        do
                r = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
        while (r == EINTR);

        return -r;
}

static int run_plain(Top *t, uint64_t n_iterations) {
        int r;

        for (uint64_t i = 0; n_iterations == 0 || i < n_iterations; i++) {
                if (i > 0) {
                        r = sleep_until(t->sample.at_usec + t->delay);
                        if (r < 0)
                                return log_error_errno(r, "Cannot wait: %m");
                        putchar('\n');
                }

                r = top_sample_take(&t->sample, t->link, t->patterns, t->n_patterns);
                if (r < 0)
                        return r;

                top_sample_sort(&t->sample, t->order);
                r = print_table(t, stdout, terminal_columns());
                if (r < 0)
                        return r;
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
