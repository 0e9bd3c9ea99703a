/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#include "json-print.h"
#include "options.h"
#include "pager.h"
#include "terminal.h"

struct json_object *json_ratio(double ratio) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];

        /* not %.17g, which is what JSON-C would print */
        (void) g_ascii_formatd(text, sizeof(text), "%.6f", ratio);
        return json_object_new_double_s(ratio, text);
}

int json_print(struct json_object *o) {
        int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

        assert(o);

        if (arg_json & SD_JSON_FORMAT_PRETTY)
                flags |= JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
        if (arg_pager)
                pager_open();
        if (terminal_colors())
                flags |= JSON_C_TO_STRING_COLOR;
        printf("%s\n", json_object_to_json_string_ext(o, flags));
        return EXIT_SUCCESS;
}
