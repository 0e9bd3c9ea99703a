/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What standard output can show. Everything is decided on the first question and remembered, so that an
 * answer does not change when the pager takes the place of the terminal; ask (terminal_init()) before
 * that happens. */

typedef enum TerminalColor {
        COLOR_NONE,
        COLOR_GOOD,
        COLOR_WARNING,
        COLOR_BAD,
        COLOR_DIM,
        COLOR_BOLD,
        COLOR_HEADER,
        _COLOR_MAX,
} TerminalColor;

void terminal_init(void);

/* Standard output is a terminal that a person looks at. */
bool terminal_interactive(void);

/* Colours are wanted: $SYSTEMD_COLORS, else $NO_COLOR, else a terminal that is not dumb. */
bool terminal_colors(void);

/* The locale can show more than ASCII. */
bool terminal_utf8(void);

/* Columns of the terminal, SIZE_MAX when the output goes somewhere without an edge. */
size_t terminal_columns(void);

/* The escape sequences of a colour, "" when colours are off. */
const char *color_on(TerminalColor color);
const char *color_off(TerminalColor color);
