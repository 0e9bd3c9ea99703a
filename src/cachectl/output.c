/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <glib.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "output.h"
#include "pager.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"

/* The longest name of a detail, its colon, and two blanks before it. */
#define DETAIL_NAME_WIDTH 14

int output_json(sd_json_variant *v) {
        sd_json_format_flags_t flags = arg_json;
        int r;

        if (arg_pager)
                pager_open();

        if (terminal_colors()) {
                /* libsystemd decides by itself which colours there are, and sees the pager's pipe by now. */
                (void) setenv("SYSTEMD_COLORS", "16", /* overwrite= */ false);
                flags |= SD_JSON_FORMAT_COLOR;
        }

        r = sd_json_variant_dump(v, flags, stdout, /* prefix= */ NULL);
        if (r < 0)
                return log_error_errno(r, "Cannot write JSON: %m");

        return EXIT_SUCCESS;
}

int output_json_objects(const GPtrArray *objects) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *array = NULL;
        int r;

        r = objects_to_json(objects, &array);
        if (r < 0)
                return log_error_errno(r, "Cannot build JSON: %m");

        return output_json(array);
}

int output_table(const Table *t, const char *one, const char *many) {
        assert(t);
        assert(one);
        assert(many);

        if (arg_pager)
                pager_open();

        if (table_rows(t) > 0 || !arg_legend)
                table_print(t, stdout, arg_legend, arg_full ? SIZE_MAX : terminal_columns());

        if (arg_legend)
                printf("%s%zu %s listed.\n",
                       table_rows(t) > 0 ? "\n" : "", table_rows(t), table_rows(t) == 1 ? one : many);

        return EXIT_SUCCESS;
}

void output_table_below(const Table *t) {
        if (table_rows(t) == 0)
                return;

        if (arg_legend)
                putchar('\n');

        table_print(t, stdout, arg_legend, arg_full ? SIZE_MAX : terminal_columns());
}

Table *details_new(void) {
        static const TableColumn columns[] = {
                { .flags = COLUMN_RIGHT, .min_width = DETAIL_NAME_WIDTH },
                {},
        };

        return table_new(columns, ELEMENTSOF(columns));
}

void details_add_colored(Table *t, const char *name, TerminalColor color, const char *value) {
        assert(name);

        if (!value)
                return;

        table_addf(t, "%s:", name);
        table_add_colored(t, color, value);
}

void details_add(Table *t, const char *name, const char *value) {
        details_add_colored(t, name, COLOR_NONE, value);
}

void details_addf(Table *t, const char *name, const char *format, ...) {
        _cleanup_free_ char *value = NULL;
        va_list ap;

        va_start(ap, format);
        value = g_strdup_vprintf(format, ap);
        va_end(ap);

        details_add(t, name, value);
}

void details_print(const Table *t) {
        table_print(t, stdout, /* header= */ false, SIZE_MAX);
}
