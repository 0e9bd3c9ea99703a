/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <inttypes.h>

#include "choice.h"
#include "format-time.h"
#include "model.h"
#include "output.h"
#include "shared/string-util.h"

static const TableColumn columns[] = {
        { .header = "  CANDIDATE" },
        { .header = "MISSES", .flags = COLUMN_RIGHT },
        { .header = "NOTE" },
};

int choice_add_details(sd_json_variant *choice, Table *details) {
        _cleanup_free_ char *when = NULL;
        ChoiceInfo c;
        int r;

        r = choice_info_parse(choice, &c);
        if (r < 0)
                return r;

        if (c.switched_usec != UINT64_MAX)
                when = format_relative(c.switched_usec, g_get_real_time());

        details_add(details, "Window", c.verdict ?: "none is over yet");
        if (c.switch_reason)
                details_addf(details, "Switch", "%s; %s, %" PRIu64 " so far", c.switch_reason, strna(when),
                             c.switches == UINT64_MAX ? 1 : c.switches);
        return 0;
}

static void add_candidate(Table *t, const CandidateInfo *c, bool chosen) {
        table_addf(t, "  %s", c->name);
        if (c->miss_ratio < 0)
                table_add(t, NULL);
        else
                table_addf(t, "%.1f%%", c->miss_ratio * 100);

        if (c->out > 0)
                table_add_colored(t, COLOR_BAD, "the kernel does not take it");
        else if (c->banned != UINT64_MAX && c->banned > 0) {
                _cleanup_free_ char *note = g_strdup_printf("banned for %" PRIu64 " window%s", c->banned,
                                                            c->banned == 1 ? "" : "s");

                table_add_colored(t, COLOR_WARNING, note);
        } else
                table_add(t, chosen ? "chosen" : "");
}

int choice_print_candidates(sd_json_variant *choice) {
        _cleanup_(table_freep) Table *t = table_new(columns, ELEMENTSOF(columns));
        ChoiceInfo c;
        int r;

        r = choice_info_parse(choice, &c);
        if (r < 0)
                return r;

        for (size_t i = 0; i < sd_json_variant_elements(c.candidates); i++) {
                CandidateInfo x;

                r = candidate_info_parse(sd_json_variant_by_index(c.candidates, i), &x);
                if (r < 0)
                        return r;
                add_candidate(t, &x, streq(x.name, c.chosen));
        }

        output_table_below(t);
        return 0;
}
