/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "table.h"
#include "text.h"

/* A shortened column keeps at least this much: less is of no use to anybody. */
#define SHRINK_FLOOR 8U

typedef struct Cell {
        char *text; /* escaped: safe to print */
        size_t width;
        TerminalColor color;
} Cell;

struct Table {
        const TableColumn *columns;
        size_t n_columns;

        Cell *cells;
        size_t n_cells;
        size_t n_allocated;
};

int table_new(const TableColumn *columns, size_t n_columns, Table **ret) {
        Table *t;

        assert(columns);
        assert(n_columns > 0);
        assert(ret);

        t = malloc(sizeof(*t));
        if (!t)
                return -ENOMEM;

        *t = (Table) {
                .columns = columns,
                .n_columns = n_columns,
        };

        *ret = t;
        return 0;
}

Table *table_free(Table *t) {
        if (!t)
                return NULL;

        for (size_t i = 0; i < t->n_cells; i++)
                free(t->cells[i].text);
        free(t->cells);
        free(t);
        return NULL;
}

int table_add_colored(Table *t, TerminalColor color, const char *text) {
        char *escaped;

        assert(t);

        if (t->n_cells == t->n_allocated) {
                size_t n = t->n_allocated > 0 ? t->n_allocated * 2 : t->n_columns * 8;
                Cell *cells;

                cells = reallocarray(t->cells, n, sizeof(Cell));
                if (!cells)
                        return -ENOMEM;

                t->cells = cells;
                t->n_allocated = n;
        }

        escaped = text_escape(text ?: "-");
        if (!escaped)
                return -ENOMEM;

        t->cells[t->n_cells++] = (Cell) {
                .text = escaped,
                .width = text_width(escaped),
                .color = color,
        };

        return 0;
}

int table_add(Table *t, const char *text) {
        return table_add_colored(t, COLOR_NONE, text);
}

int table_addf(Table *t, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;
        int n;

        assert(t);
        assert(format);

        va_start(ap, format);
        n = vasprintf(&text, format, ap);
        va_end(ap);
        if (n < 0) {
                text = NULL;
                return -ENOMEM;
        }

        return table_add(t, text);
}

size_t table_rows(const Table *t) {
        assert(t);

        return t->n_cells / t->n_columns;
}

static bool column_shrinks(const TableColumn *c) {
        return c->flags & (COLUMN_SHRINK | COLUMN_SHRINK_MID);
}

static size_t column_floor(const TableColumn *c, bool header) {
        size_t floor = MAX(SHRINK_FLOOR, c->min_width);

        return header && c->header ? MAX(floor, text_width(c->header)) : floor;
}

/* Takes columns away, one at a time and always from the widest that still may give, so that shortened
 * columns end up about equally wide. */
static void shrink_columns(const Table *t, bool header, size_t columns, size_t *widths) {
        size_t total = t->n_columns - 1; /* the blanks between */

        for (size_t i = 0; i < t->n_columns; i++)
                total += widths[i];

        while (total > columns) {
                size_t widest = SIZE_MAX;

                for (size_t i = 0; i < t->n_columns; i++)
                        if (column_shrinks(t->columns + i) &&
                            widths[i] > column_floor(t->columns + i, header) &&
                            (widest == SIZE_MAX || widths[i] > widths[widest]))
                                widest = i;

                if (widest == SIZE_MAX)
                        return; /* it does not fit: let the terminal or the pager deal with it */

                widths[widest]--;
                total--;
        }
}

static void print_blanks(FILE *f, size_t n) {
        fprintf(f, "%*s", (int) n, "");
}

static int print_cell(
                const Table *t,
                FILE *f,
                size_t column,
                size_t width,
                const Cell *cell,
                bool underline_blanks) {

        const TableColumn *c = t->columns + column;
        _cleanup_free_ char *shortened = NULL;
        const char *text = cell->text;
        size_t w = cell->width, pad;
        bool last = column + 1 == t->n_columns, right = c->flags & COLUMN_RIGHT;

        if (w > width && column_shrinks(c)) {
                shortened = text_ellipsize(text, width, c->flags & COLUMN_SHRINK_MID ? 50 : 100);
                if (!shortened)
                        return -ENOMEM;

                text = shortened;
                w = text_width(shortened);
        }

        pad = width > w ? width - w : 0;

        if (right)
                print_blanks(f, pad);
        fprintf(f, "%s%s", color_on(cell->color), text);
        if (!underline_blanks)
                fputs(color_off(cell->color), f);
        if (!last) {
                if (!right)
                        print_blanks(f, pad);
                if (underline_blanks)
                        fputs(color_off(cell->color), f);
                fputc(' ', f);
        } else if (underline_blanks)
                fputs(color_off(cell->color), f);

        return 0;
}

int table_print(const Table *t, FILE *f, bool header, size_t columns) {
        _cleanup_free_ size_t *widths = NULL;
        int r;

        assert(t);
        assert(f);
        assert(t->n_cells % t->n_columns == 0);

        widths = calloc(t->n_columns, sizeof(size_t));
        if (!widths)
                return -ENOMEM;

        for (size_t i = 0; i < t->n_columns; i++) {
                widths[i] = t->columns[i].min_width;
                if (header && t->columns[i].header)
                        widths[i] = MAX(widths[i], text_width(t->columns[i].header));
        }
        for (size_t i = 0; i < t->n_cells; i++)
                widths[i % t->n_columns] = MAX(widths[i % t->n_columns], t->cells[i].width);

        shrink_columns(t, header, columns, widths);

        if (header) {
                for (size_t i = 0; i < t->n_columns; i++) {
                        Cell cell = {
                                .text = (char *) (t->columns[i].header ?: ""),
                                .color = COLOR_HEADER,
                        };

                        cell.width = text_width(cell.text);
                        r = print_cell(t, f, i, widths[i], &cell, /* underline_blanks= */ true);
                        if (r < 0)
                                return r;
                }
                fputc('\n', f);
        }

        for (size_t i = 0; i < t->n_cells; i++) {
                size_t column = i % t->n_columns;

                r = print_cell(t, f, column, widths[column], t->cells + i, /* underline_blanks= */ false);
                if (r < 0)
                        return r;
                if (column + 1 == t->n_columns)
                        fputc('\n', f);
        }

        return 0;
}
