/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "config/candidates.h"
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

static const TableColumn counter_columns[] = {
        { .header = "  COUNTER" },
        { .header = "UNIT" },
        { .header = "MEANING", .flags = COLUMN_SHRINK },
};

/* The names of the tunables, "-" if there are none. */
static int add_tunable_names(Table *t, const PolicyInfo *p) {
        _cleanup_gstring_ GString *names = g_string_new(NULL);

        for (size_t i = 0; i < sd_json_variant_elements(p->tunables); i++) {
                TunableInfo tunable;
                int r;

                r = tunable_info_parse(sd_json_variant_by_index(p->tunables, i), &tunable);
                if (r < 0)
                        return r;

                g_string_append_printf(names, "%s%s", names->len > 0 ? " " : "", tunable.name);
        }

        table_add(t, empty_to_null(names->str));
        return 0;
}

static int show_list(const GPtrArray *policies) {
        _cleanup_(table_freep) Table *t = table_new(list_columns, ELEMENTSOF(list_columns));

        for (guint i = 0; i < policies->len; i++) {
                TerminalColor color;
                PolicyInfo p;
                int r;

                r = policy_info_parse(policies->pdata[i], &p);
                if (r < 0)
                        return r;

                /* What cannot be used says why in place of what it would be good for. */
                color = p.problem ? COLOR_BAD : COLOR_NONE;
                table_add_colored(t, color, p.name);
                table_add_colored(t, color, p.problem ?: p.description);
                table_add(t, p.source);
                r = add_tunable_names(t, &p);
                if (r < 0)
                        return r;
        }

        return output_table(t, "policy", "policies");
}

/* Numbers of 64 bits, with or without sign, as the daemon sent them. */
static void add_value(Table *t, sd_json_variant *v) {
        if (sd_json_variant_is_string(v))
                table_add(t, sd_json_variant_string(v));
        else if (sd_json_variant_is_unsigned(v))
                table_addf(t, "%" PRIu64, sd_json_variant_unsigned(v));
        else if (sd_json_variant_is_integer(v))
                table_addf(t, "%" PRIi64, sd_json_variant_integer(v));
        else
                table_add(t, NULL);
}

static void add_tunable(Table *t, const TunableInfo *tunable) {
        table_addf(t, "  %s", tunable->name);
        table_add(t, tunable->type);
        add_value(t, tunable->default_value);
        add_value(t, tunable->min);
        add_value(t, tunable->max);
        table_add(t, tunable->unit);
        if (tunable->source)
                table_addf(t, "%s (%s)", strempty(tunable->doc), tunable->source);
        else
                table_add(t, tunable->doc);
}

static int print_tunables(const PolicyInfo *p) {
        _cleanup_(table_freep) Table *t = table_new(tunable_columns, ELEMENTSOF(tunable_columns));

        for (size_t i = 0; i < sd_json_variant_elements(p->tunables); i++) {
                TunableInfo tunable;
                int r;

                r = tunable_info_parse(sd_json_variant_by_index(p->tunables, i), &tunable);
                if (r < 0)
                        return r;

                add_tunable(t, &tunable);
        }

        output_table_below(t);
        return 0;
}

static int print_counters(const PolicyInfo *p) {
        _cleanup_(table_freep) Table *t = table_new(counter_columns, ELEMENTSOF(counter_columns));

        for (size_t i = 0; i < sd_json_variant_elements(p->counters); i++) {
                CounterInfo counter;
                int r;

                r = counter_info_parse(sd_json_variant_by_index(p->counters, i), &counter);
                if (r < 0)
                        return r;

                table_addf(t, "  %s", counter.name);
                table_add(t, counter.unit);
                table_add(t, counter.doc);
        }

        output_table_below(t);
        return 0;
}

static int print_policy(const PolicyInfo *p) {
        _cleanup_free_ char *name = text_escape(p->name), *abilities = json_join_strings(p->abilities, " ");
        TerminalColor color = p->problem ? COLOR_BAD : COLOR_BOLD;
        _cleanup_(table_freep) Table *t = details_new();
        int r;

        details_add(t, "Description", p->description);
        details_add(t, "Source", p->source);
        details_add(t, "Object", p->path);
        details_add_colored(t, "Problem", COLOR_BAD, p->problem);
        details_add(t, "Abilities", empty_to_null(abilities));
        if (sd_json_variant_elements(p->tunables) == 0)
                details_add(t, "Tunables", "none");

        printf("%s%s%s\n", color_on(color), name, color_off(color));
        details_print(t);
        r = print_tunables(p);
        return r < 0 ? r : print_counters(p);
}

static int show_policies(const GPtrArray *policies) {
        int r;

        if (arg_pager)
                pager_open();

        for (guint i = 0; i < policies->len; i++) {
                PolicyInfo p;

                r = policy_info_parse(policies->pdata[i], &p);
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

/* ---- CachePolicy=auto, which is no policy of the daemon's list */

static const char auto_description[] =
        "The daemon chooses one of the candidates, by what each would miss of a sample of the requests";

static int auto_to_json(void) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL, *array = NULL;
        int r;

        r = sd_json_buildo(&v,
                           SD_JSON_BUILD_PAIR_STRING("name", POLICY_AUTO),
                           SD_JSON_BUILD_PAIR_STRING("description", auto_description),
                           SD_JSON_BUILD_PAIR_STRV("candidates", (char **) policy_candidates_default),
                           SD_JSON_BUILD_PAIR_REAL("margin", AUTO_MARGIN_DEFAULT));
        if (r >= 0)
                r = sd_json_variant_append_array(&array, v);
        return r < 0 ? log_error_errno(r, "Cannot build JSON: %m") : output_json(array);
}

static int show_auto(void) {
        _cleanup_(table_freep) Table *t = details_new();
        _cleanup_free_ char *candidates = g_strjoinv(" ", (char **) policy_candidates_default);

        if (json_wanted())
                return auto_to_json();

        details_add(t, "Description", auto_description);
        details_addf(t, "Candidates", "%s, and stock, unless CacheCandidates= names others", candidates);
        details_addf(t, "Margin", "a switch has to gain %g%% of all requests, unless CacheAutoMargin= says "
                     "something else", AUTO_MARGIN_DEFAULT);
        details_add(t, "State", "\"cachectl status UNIT\" shows what was chosen, and why");
        details_add(t, "Manual", "AUTO in cachebpf-policy(7)");

        printf("%s%s%s\n", color_on(COLOR_BOLD), POLICY_AUTO, color_off(COLOR_BOLD));
        details_print(t);
        return EXIT_SUCCESS;
}

int verb_policies(char **names, size_t n_names) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_ptr_array_ GPtrArray *policies = NULL;
        size_t unknown;
        int r;

        if (n_names == 1 && streq(names[0], POLICY_AUTO))
                return show_auto();

        r = client_connect(&link);
        if (r < 0)
                return r;

        r = objects_fetch(link, &object_kind_policy, names, n_names, &policies, &unknown);
        if (r < 0)
                return r;

        if (json_wanted())
                r = output_json_objects(policies);
        else
                r = n_names > 0 ? show_policies(policies) : show_list(policies);
        if (r < 0)
                return r;

        return unknown > 0 ? EXIT_UNKNOWN : EXIT_SUCCESS;
}
