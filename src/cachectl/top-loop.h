/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What "top" shows, again and again. The functions get "userdata". */
typedef struct TopView {
        /* Takes another sample. Errors are logged. */
        int (*take)(void *userdata);
        /* Sorts by what the key stands for from now on; false if it stands for nothing. */
        bool (*obey)(void *userdata, char key);
        /* "3 units, by unit" */
        void (*print_title)(void *userdata, FILE *f);
        void (*print_table)(void *userdata, FILE *f, size_t columns);
        void *userdata;
} TopView;

/* Checks --batch and --delay=: an exit status (logged), or 0. */
int top_check_options(void);

/* Whether tables are printed one after the other: so it was wanted, or there is no terminal. */
bool top_is_plain(void);

/* Microseconds between two updates, as the command line has it. */
uint64_t top_delay(void);

/* Shows the view until the user quits, or as often as the command line says. Returns the exit status, or
 * -errno (logged). */
int top_loop(const TopView *view);
