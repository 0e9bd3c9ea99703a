/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "exit-codes.h"
#include "model.h"
#include "objects.h"
#include "output.h"
#include "pager.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/string-util.h"
#include "table.h"
#include "text.h"
#include "verbs.h"

static const TableColumn list_columns[] = {
        { .header = "NAME" },
        { .header = "DESCRIPTION", .flags = COLUMN_SHRINK },
        { .header = "SOURCE", .flags = COLUMN_SHRINK },
        { .header = "TUNABLES", .flags = COLUMN_SHRINK },
};

static const TableColumn tunable_columns[] = {
        { .header = "  TUNABLE" },
        { .header = "TYPE" },
        { .header = "DEFAULT", .flags = COLUMN_RIGHT },
        { .header = "MIN", .flags = COLUMN_RIGHT },
        { .header = "MAX", .flags = COLUMN_RIGHT },
        { .header = "UNIT" },
        { .header = "MEANING", .flags = COLUMN_SHRINK },
};

/* The names of the tunables, "-" if there are none. */
static int add_tunable_names(Table *t, const PolicyInfo *p) {
        _cleanup_free_ char *names = NULL;

        for (size_t i = 0; i < sd_json_variant_elements(p->tunables); i++) {
                TunableInfo tunable;
                char *longer;
                int r;

                r = tunable_info_parse(sd_json_variant_by_index(p->tunables, i), &tunable);
                if (r < 0)
                        return r;

                if (asprintf(&longer, "%s%s%s", names ?: "", names ? " " : "", tunable.name) < 0)
                        return log_oom();

                free(names);
                names = longer;
        }

        return table_add(t, names) < 0 ? log_oom() : 0;
}

static int show_list(const ObjectList *policies) {
        _cleanup_(table_freep) Table *t = NULL;
        int r;

        r = table_new(list_columns, ELEMENTSOF(list_columns), &t);
        if (r < 0)
                return log_oom();

        for (size_t i = 0; i < policies->n; i++) {
                TerminalColor color;
                PolicyInfo p;

                r = policy_info_parse(policies->items[i], &p);
                if (r < 0)
                        return r;

                /* What cannot be used says why in place of what it would be good for. */
                color = p.problem ? COLOR_BAD : COLOR_NONE;
                r = table_add_colored(t, color, p.name);
                if (r >= 0)
                        r = table_add_colored(t, color, p.problem ?: p.description);
                if (r >= 0)
                        r = table_add(t, p.source);
                if (r < 0)
                        return log_oom();

                r = add_tunable_names(t, &p);
                if (r < 0)
                        return r;
        }

        return output_table(t, "policy", "policies");
}

/* Numbers of 64 bits, with or without sign, as the daemon sent them. */
static int add_value(Table *t, sd_json_variant *v) {
        if (v && sd_json_variant_is_string(v))
                return table_add(t, sd_json_variant_string(v));
        if (v && sd_json_variant_is_unsigned(v))
                return table_addf(t, "%" PRIu64, sd_json_variant_unsigned(v));
        if (v && sd_json_variant_is_integer(v))
                return table_addf(t, "%" PRIi64, sd_json_variant_integer(v));
        return table_add(t, NULL);
}

static int add_tunable(Table *t, const TunableInfo *tunable) {
        int r;

        r = table_addf(t, "  %s", tunable->name);
        if (r >= 0)
                r = table_add(t, tunable->type);
        if (r >= 0)
                r = add_value(t, tunable->default_value);
        if (r >= 0)
                r = add_value(t, tunable->min);
        if (r >= 0)
                r = add_value(t, tunable->max);
        if (r >= 0)
                r = table_add(t, tunable->unit);
        if (r >= 0)
                r = tunable->source ? table_addf(t, "%s (%s)", tunable->doc ?: "", tunable->source) :
                                      table_add(t, tunable->doc);
        return r < 0 ? log_oom() : 0;
}

static int print_tunables(const PolicyInfo *p) {
        _cleanup_(table_freep) Table *t = NULL;
        int r;

        r = table_new(tunable_columns, ELEMENTSOF(tunable_columns), &t);
        if (r < 0)
                return log_oom();

        for (size_t i = 0; i < sd_json_variant_elements(p->tunables); i++) {
                TunableInfo tunable;

                r = tunable_info_parse(sd_json_variant_by_index(p->tunables, i), &tunable);
                if (r < 0)
                        return r;

                r = add_tunable(t, &tunable);
                if (r < 0)
                        return r;
        }

        if (table_rows(t) == 0)
                return 0;

        if (arg_legend)
                putchar('\n');

        r = table_print(t, stdout, arg_legend, arg_full ? SIZE_MAX : terminal_columns());
        return r < 0 ? log_oom() : 0;
}

static int print_policy(const PolicyInfo *p) {
        _cleanup_(table_freep) Table *t = NULL;
        _cleanup_free_ char *name = NULL, *abilities = NULL;
        TerminalColor color = p->problem ? COLOR_BAD : COLOR_BOLD;
        int r;

        name = text_escape(p->name);
        abilities = json_join_strings(p->abilities, " ");
        if (!name || !abilities)
                return log_oom();

        r = details_new(&t);
        if (r < 0)
                return r;

        r = details_add(t, "Description", p->description);
        if (r < 0)
                return r;

        r = details_add(t, "Source", p->source);
        if (r < 0)
                return r;

        r = details_add(t, "Object", p->path);
        if (r < 0)
                return r;

        r = details_add_colored(t, "Problem", COLOR_BAD, p->problem);
        if (r < 0)
                return r;

        r = details_add(t, "Abilities", empty_to_null(abilities));
        if (r < 0)
                return r;

        if (sd_json_variant_elements(p->tunables) == 0) {
                r = details_add(t, "Tunables", "none");
                if (r < 0)
                        return r;
        }

        printf("%s%s%s\n", color_on(color), name, color_off(color));

        r = output_details(t);
        if (r < 0)
                return r;

        return print_tunables(p);
}

static int show_policies(const ObjectList *policies) {
        int r;

        if (arg_pager)
                pager_open();

        for (size_t i = 0; i < policies->n; i++) {
                PolicyInfo p;

                r = policy_info_parse(policies->items[i], &p);
                if (r < 0)
                        return r;

                if (i > 0)
                        putchar('\n');

                r = print_policy(&p);
                if (r < 0)
                        return r;
        }

        return EXIT_SUCCESS;
}

int verb_policies(char **names, size_t n_names) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_(object_list_done) ObjectList policies = {};
        size_t unknown;
        int r;

        r = client_connect(&link);
        if (r < 0)
                return r;

        r = objects_fetch(link, &object_kind_policy, names, n_names, &policies, &unknown);
        if (r < 0)
                return r;

        if (json_wanted())
                r = output_json_objects(&policies);
        else
                r = n_names > 0 ? show_policies(&policies) : show_list(&policies);
        if (r < 0)
                return r;

        return unknown > 0 ? EXIT_UNKNOWN : EXIT_SUCCESS;
}
