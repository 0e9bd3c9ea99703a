/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "exit-codes.h"
#include "model.h"
#include "objects.h"
#include "options.h"
#include "output.h"
#include "pager.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "text.h"
#include "verbs.h"

static uint64_t number_of(sd_json_variant *v, const char *key) {
        return sd_json_variant_unsigned(sd_json_variant_by_key(v, key));
}

static void add_level(Table *t, sd_json_variant *v) {
        g_autofree char *name = g_strdup_printf("Level %" PRIi64,
                                                sd_json_variant_integer(sd_json_variant_by_key(v, "level")));

        details_addf(t, name, "%" PRIu64 " pages, %s", number_of(v, "pages"),
                     strempty(json_string(v, "replacement")));
}

/* Of a file that its programs named the path is not known. */
static void add_file(Table *t, sd_json_variant *v) {
        g_autofree char *name = g_strdup_printf("Priority %" PRIi64,
                                                sd_json_variant_integer(sd_json_variant_by_key(v,
                                                                                              "priority")));
        const char *path = json_string(v, "path");

        if (!path)
                details_addf(t, name, "device %s, inode %" PRIu64, strna(json_string(v, "device")),
                             number_of(v, "inode"));
        else if (!sd_json_variant_by_key(v, "cached"))
                details_add(t, name, path);
        else
                details_addf(t, name, "%s (%" PRIu64 " pages are cached)", path, number_of(v, "cached"));
}

static void print_manager(sd_json_variant *v) {
        bool revoked = sd_json_variant_boolean(sd_json_variant_by_key(v, "revoked"));
        sd_json_variant *levels = sd_json_variant_by_key(v, "levels"),
                        *files = sd_json_variant_by_key(v, "files");
        _cleanup_free_ char *name = text_escape(json_string(v, "name") ?: "a control group that is gone");
        TerminalColor color = revoked ? COLOR_WARNING : COLOR_GOOD;
        _cleanup_(table_freep) Table *t = details_new();

        details_addf(t, "Decisions", "%" PRIu64 ", of which %" PRIu64 " were wrong",
                     number_of(v, "decisions"), number_of(v, "wrong"));
        for (size_t i = 0; i < sd_json_variant_elements(levels); i++)
                add_level(t, sd_json_variant_by_index(levels, i));
        for (size_t i = 0; i < sd_json_variant_elements(files); i++)
                add_file(t, sd_json_variant_by_index(files, i));

        printf("%s%s%s: %s%s%s\n", color_on(COLOR_BOLD), name, color_off(COLOR_BOLD), color_on(color),
               revoked ? "revoked" : "decides", color_off(color));
        details_print(t);
}

static void show(const GPtrArray *units) {
        bool first = true;

        if (arg_pager)
                pager_open();

        for (guint i = 0; i < units->len; i++) {
                sd_json_variant *managers = sd_json_variant_by_key(units->pdata[i], "managers");

                for (size_t j = 0; j < sd_json_variant_elements(managers); j++) {
                        if (!first)
                                putchar('\n');
                        first = false;
                        print_manager(sd_json_variant_by_index(managers, j));
                }
        }

        if (first)
                puts("No manager has said anything of files.");
}

int verb_files(char **names, size_t n_names) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_ptr_array_ GPtrArray *units = NULL;
        size_t unknown;
        int r;

        r = client_connect(&link);
        if (r >= 0)
                r = objects_fetch(link, &object_kind_files, names, n_names, &units, &unknown);
        if (r < 0)
                return r;

        if (!json_wanted())
                show(units);
        else {
                r = output_json_objects(units);
                if (r < 0)
                        return r;
        }

        return unknown > 0 ? EXIT_UNKNOWN : EXIT_SUCCESS;
}
