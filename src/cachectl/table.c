/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <glib.h>
#include <stdarg.h>
#include <stdint.h>

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
        GArray *cells; /* row by row, the first one is the header */
};

static void cell_clear(void *cell) {
        free(((Cell *) cell)->text);
}

static const Cell *cell_at(const Table *t, size_t i) {
        return &g_array_index(t->cells, Cell, i);
}

Table *table_new(const TableColumn *columns, size_t n_columns) {
        Table *t = g_new(Table, 1);

        assert(columns);
        assert(n_columns > 0);

        *t = (Table) {
                .columns = columns,
                .n_columns = n_columns,
                .cells = g_array_new(FALSE, FALSE, sizeof(Cell)),
        };
        g_array_set_clear_func(t->cells, cell_clear);

        for (size_t i = 0; i < n_columns; i++)
                table_add_colored(t, COLOR_HEADER, columns[i].header ?: "");

        return t;
}

Table *table_free(Table *t) {
        if (t)
                g_array_unref(t->cells);
        return mfree(t);
}

void table_add_colored(Table *t, TerminalColor color, const char *text) {
        Cell cell = { .color = color };

        assert(t);

        cell.text = text_escape(text ?: "-");
        cell.width = text_width(cell.text);
        g_array_append_val(t->cells, cell);
}

void table_add(Table *t, const char *text) {
        table_add_colored(t, COLOR_NONE, text);
}

void table_addf(Table *t, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;

        assert(format);

        va_start(ap, format);
        text = g_strdup_vprintf(format, ap);
        va_end(ap);

        table_add(t, text);
}

void table_add_scaled(Table *t, double n, double base) {
        static const char suffixes[] = " KMGTPE";
        size_t i = 0;

        for (; n >= base && suffixes[i + 1]; i++)
                n /= base;

        if (i == 0)
                table_addf(t, "%.*f", n > 0 && n < 10 ? 1 : 0, n);
        else
                table_addf(t, "%.*f%c", n < 100 ? 1 : 0, n, suffixes[i]);
}

void table_add_permille(Table *t, int permille) {
        if (permille < 0)
                table_add(t, NULL);
        else
                table_addf(t, "%d.%d%%", permille / 10, permille % 10);
}

size_t table_rows(const Table *t) {
        assert(t);

        return t->cells->len / t->n_columns - 1;
}

static bool column_shrinks(const TableColumn *c) {
        return c->flags & (COLUMN_SHRINK | COLUMN_SHRINK_MID);
}

static size_t column_floor(const Table *t, size_t column, bool header) {
        size_t floor = MAX(SHRINK_FLOOR, t->columns[column].min_width);

        return header ? MAX(floor, cell_at(t, column)->width) : floor;
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
                            widths[i] > column_floor(t, i, header) &&
                            (widest == SIZE_MAX || widths[i] > widths[widest]))
                                widest = i;

                if (widest == SIZE_MAX)
                        return; /* it does not fit: let the terminal or the pager deal with it */

                widths[widest]--;
                total--;
        }
}

static void print_cell(const Table *t, FILE *f, size_t column, size_t width, const Cell *cell) {
        const TableColumn *c = t->columns + column;
        bool last = column + 1 == t->n_columns, right = c->flags & COLUMN_RIGHT;
        _cleanup_free_ char *shortened = NULL;
        size_t w = cell->width, pad, behind, underlined;

        if (w > width && column_shrinks(c)) {
                shortened = text_ellipsize(cell->text, width, c->flags & COLUMN_SHRINK_MID ? 50 : 100);
                w = text_width(shortened);
        }

        pad = width > w ? width - w : 0;
        behind = right || last ? 0 : pad;
        underlined = cell->color == COLOR_HEADER ? behind : 0;

        fprintf(f, "%*s%s%s", (int) (right ? pad : 0), "", color_on(cell->color), shortened ?: cell->text);
        fprintf(f, "%*s%s", (int) underlined, "", color_off(cell->color));
        fprintf(f, "%*s%c", (int) (behind - underlined), "", last ? '\n' : ' ');
}

void table_print(const Table *t, FILE *f, bool header, size_t columns) {
        _cleanup_free_ size_t *widths = NULL;
        size_t first;

        assert(t);
        assert(f);
        assert(t->cells->len % t->n_columns == 0);

        widths = g_new(size_t, t->n_columns);
        first = header ? 0 : t->n_columns;

        for (size_t i = 0; i < t->n_columns; i++)
                widths[i] = t->columns[i].min_width;
        for (size_t i = first; i < t->cells->len; i++)
                widths[i % t->n_columns] = MAX(widths[i % t->n_columns], cell_at(t, i)->width);

        shrink_columns(t, header, columns, widths);

        for (size_t i = first; i < t->cells->len; i++)
                print_cell(t, f, i % t->n_columns, widths[i % t->n_columns], cell_at(t, i));
}
