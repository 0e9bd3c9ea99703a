/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The whole terminal, without echo, until the end of the program:
 * however that comes, the terminal is as it was. */

/* Messages are kept back, and shown at the end. -errno (logged). */
int screen_begin(void);
void screen_end(void);

void screen_size(size_t *ret_rows, size_t *ret_columns);

/* Shows the lines of a text, as far as there is room. */
int screen_draw(const char *text);

#define SCREEN_KEY_NONE 0        /* the time is over */
#define SCREEN_KEY_REDRAW (-1)   /* the terminal has another size, or we were stopped */
#define SCREEN_KEY_END (-2)      /* there is nobody who could press one */

/* Waits for a key, until a point in time (CLOCK_MONOTONIC). */
int screen_wait_key(uint64_t until_usec);
