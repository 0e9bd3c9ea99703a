/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdlib.h>

#include "client.h"
#include "format-time.h"
#include "model.h"
#include "objects.h"
#include "output.h"
#include "shared/cleanup.h"
#include "shared/log.h"
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

static int add_unit(Table *t, const UnitInfo *u) {
        _cleanup_free_ char *since = NULL;
        int r;

        if (u->since_usec != UINT64_MAX) {
                since = format_relative(u->since_usec, now_realtime_usec());
                if (!since)
                        return log_oom();
        }

        r = table_add(t, u->unit);
        if (r >= 0)
                r = table_add_colored(t, state_color(u->state), u->state);
        if (r >= 0)
                r = table_add(t, u->configured);
        if (r >= 0)
                r = table_add(t, u->effective);
        if (r >= 0)
                r = table_add_colored(t, unit_info_contradicted(u) ? COLOR_BAD : COLOR_NONE, u->verified);
        if (r >= 0)
                r = table_add(t, since);
        if (r >= 0)
                r = table_add(t, u->source);
        return r < 0 ? log_oom() : 0;
}

int verb_list(char **patterns, size_t n_patterns) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_(object_list_done) ObjectList units = {};
        _cleanup_(table_freep) Table *t = NULL;
        int r;

        r = client_connect(&link);
        if (r < 0)
                return r;

        r = objects_fetch(link, &object_kind_unit, /* names= */ NULL, 0, &units, /* ret_unknown= */ NULL);
        if (r < 0)
                return r;

        r = objects_filter(&object_kind_unit, &units, patterns, n_patterns);
        if (r < 0)
                return log_oom();

        if (json_wanted())
                return output_json_objects(&units);

        r = table_new(columns, ELEMENTSOF(columns), &t);
        if (r < 0)
                return log_oom();

        for (size_t i = 0; i < units.n; i++) {
                UnitInfo u;

                r = unit_info_parse(units.items[i], &u);
                if (r < 0)
                        return r;

                r = add_unit(t, &u);
                if (r < 0)
                        return r;
        }

        return output_table(t, "unit", "units");
}
