/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>

#include "exit-codes.h"
#include "options.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/string-util.h"
#include "terminal.h"
#include "top-loop.h"
#include "top-screen.h"

#define DEFAULT_DELAY (1 * USEC_PER_SEC)
#define MIN_DELAY (100 * USEC_PER_MSEC)
#define MAX_DELAY (3600 * USEC_PER_SEC)

typedef struct Loop {
        const TopView *view;
        uint64_t delay;
        uint64_t n_iterations; /* 0: without end */
        uint64_t at_usec; /* the last sample, CLOCK_MONOTONIC */
} Loop;

int top_check_options(void) {
        if (arg_batch) {
                log_error("Option --batch takes no value here.");
                return EXIT_USAGE;
        }
        if (top_delay() < MIN_DELAY || top_delay() > MAX_DELAY) {
                log_error("Option --delay= takes a time from 100ms to 1h here.");
                return EXIT_USAGE;
        }

        return 0;
}

bool top_is_plain(void) {
        return arg_plain || !terminal_interactive();
}

uint64_t top_delay(void) {
        return arg_delay == UINT64_MAX ? DEFAULT_DELAY : arg_delay;
}

static int take(Loop *l) {
        int r;

        r = l->view->take(l->view->userdata);
        l->at_usec = (uint64_t) g_get_monotonic_time();
        return r;
}

static int draw(const Loop *l) {
        _cleanup_free_ char *picture = NULL;
        size_t size, rows, width;
        FILE *f;
        int r;

        f = open_memstream(&picture, &size);
        if (!f)
                return log_oom();

        screen_size(&rows, &width);
        if (arg_legend) {
                l->view->print_title(l->view->userdata, f);
                fprintf(f, ", each %.1f s%s%s; q quits\n\n", (double) l->delay / USEC_PER_SEC,
                        arg_host || arg_machine ? ", on " : "", arg_host ?: strempty(arg_machine));
        }
        l->view->print_table(l->view->userdata, f, width);
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

static int run_plain(Loop *l) {
        int r;

        for (uint64_t i = 0; l->n_iterations == 0 || i < l->n_iterations; i++) {
                if (i > 0) {
                        sleep_until(l->at_usec + l->delay);
                        putchar('\n');
                }

                r = take(l);
                if (r < 0)
                        return r;

                l->view->print_table(l->view->userdata, stdout, terminal_columns());
                if (fflush(stdout) != 0)
                        return log_error_errno(errno, "Cannot write the output: %m");
        }

        return EXIT_SUCCESS;
}

/* ---- with keys */

/* Returns true to go on. */
static bool obey(Loop *l, int key, bool *ret_again) {
        if (key == 'q' || key == SCREEN_KEY_END)
                return false;

        if (key > 0 && l->view->obey(l->view->userdata, (char) key))
                return true;

        if (key == '+')
                l->delay = MIN(l->delay < USEC_PER_SEC ? l->delay + MIN_DELAY : l->delay + USEC_PER_SEC,
                               MAX_DELAY);
        else if (key == '-')
                l->delay = MAX(l->delay <= USEC_PER_SEC ? l->delay - MIN(l->delay, MIN_DELAY) :
                                                          l->delay - USEC_PER_SEC, MIN_DELAY);
        else
                *ret_again = key == ' ';

        return true;
}

static int run_screen(Loop *l) {
        int r, key;

        r = screen_begin();
        if (r < 0)
                return r;

        for (uint64_t i = 0; l->n_iterations == 0 || i < l->n_iterations; i++) {
                bool again = false;

                r = take(l);
                if (r < 0)
                        return r;

                do {
                        r = draw(l);
                        if (r < 0)
                                return r;

                        key = screen_wait_key(l->at_usec + l->delay);
                        if (!obey(l, key, &again))
                                return EXIT_SUCCESS;
                } while (key != SCREEN_KEY_NONE && !again);
        }

        return EXIT_SUCCESS;
}

int top_loop(const TopView *view) {
        bool plain = top_is_plain();
        Loop l = {
                .view = view,
                .delay = top_delay(),
                .n_iterations = arg_iterations != UINT64_MAX ? arg_iterations :
                                plain && !arg_plain ? 1 : 0,
        };

        return plain ? run_plain(&l) : run_screen(&l);
}
