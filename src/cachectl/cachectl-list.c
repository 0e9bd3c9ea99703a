/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>

#include "client.h"
#include "format-time.h"
#include "model.h"
#include "objects.h"
#include "output.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "table.h"
#include "verbs.h"

static const TableColumn columns[] = {
        { .header = "UNIT", .flags = COLUMN_SHRINK_MID },
        { .header = "STATE" },
        { .header = "CONFIGURED" },
        { .header = "EFFECTIVE" },
        { .header = "VERIFIED" },
        { .header = "SINCE" },
        { .header = "SOURCE", .flags = COLUMN_SHRINK_MID },
};

static void add_unit(Table *t, const UnitInfo *u) {
        _cleanup_free_ char *since = NULL, *policy = unit_info_policy(u);

        if (u->since_usec != UINT64_MAX)
                since = format_relative(u->since_usec, g_get_real_time());

        table_add(t, u->unit);
        table_add_colored(t, state_color(u->state), u->state);
        table_add(t, u->configured);
        table_add(t, policy);
        table_add_colored(t, unit_info_contradicted(u) ? COLOR_BAD : COLOR_NONE, u->verified);
        table_add(t, since);
        table_add(t, u->source);
}

int verb_list(char **patterns, size_t n_patterns) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_ptr_array_ GPtrArray *units = NULL;
        _cleanup_(table_freep) Table *t = NULL;
        int r;

        r = client_connect(&link);
        if (r < 0)
                return r;

        r = objects_fetch_matching(link, &object_kind_unit, patterns, n_patterns, &units);
        if (r < 0)
                return r;

        if (json_wanted())
                return output_json_objects(units);

        t = table_new(columns, ELEMENTSOF(columns));
        for (guint i = 0; i < units->len; i++) {
                UnitInfo u;

                r = unit_info_parse(units->pdata[i], &u);
                if (r < 0)
                        return r;

                add_unit(t, &u);
        }

        return output_table(t, "unit", "units");
}
