/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Columns a string takes on a terminal: wide characters count two, combining ones none. Invalid bytes
 * count one. */
size_t text_width(const char *s);

/* A copy that is safe to print on a terminal: control and format characters (escape sequences, line
 * breaks, bidirectional overrides) and bytes that are not UTF-8 become \xNN. Whatever another process
 * told us goes through this. */
char *text_escape(const char *s);

/* A copy of at most "width" columns. "percent" of what is kept stands before the ellipsis: 100 cuts the
 * end, 50 the middle. The ellipsis is … where the locale can show it and ... elsewhere. */
char *text_ellipsize(const char *s, size_t width, unsigned percent);
