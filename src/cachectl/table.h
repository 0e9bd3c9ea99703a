/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "terminal.h"

/* Text in columns that line up. Used in two shapes: with a header for lists, and without one, a name and
 * a value a row, for the details of one object. */

typedef enum ColumnFlags {
        COLUMN_RIGHT      = 1 << 0, /* line up on the right: numbers, and the names of a block of details */
        COLUMN_SHRINK     = 1 << 1, /* may be shortened at its end if the table is wider than the terminal */
        COLUMN_SHRINK_MID = 1 << 2, /* the same, in its middle: paths, whose end matters */
} ColumnFlags;

typedef struct TableColumn {
        const char *header;
        ColumnFlags flags;
        size_t min_width;
} TableColumn;

typedef struct Table Table;

/* The columns are not copied, they must live as long as the table. */
Table *table_new(const TableColumn *columns, size_t n_columns);
Table *table_free(Table *t);
DEFINE_TRIVIAL_CLEANUP_FUNC(Table *, table_free);

/* Cells are added one after the other, row by row, and copied. NULL means "nothing there" and shows as
 * "-". */
void table_add(Table *t, const char *text);
void table_add_colored(Table *t, TerminalColor color, const char *text);
void table_addf(Table *t, const char *format, ...) _printf_(2, 3);

/* "99.9%"; a negative number means "nothing there". */
void table_add_permille(Table *t, int permille);

/* "1023", "12.3K", "4.5M": a suffix stands for a power of the base. */
void table_add_scaled(Table *t, double n, double base);

size_t table_rows(const Table *t);

/* Prints header (if wanted) and rows, in at most "columns" columns if shortening the cells that allow it
 * can do it. */
void table_print(const Table *t, FILE *f, bool header, size_t columns);
