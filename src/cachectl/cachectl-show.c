/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>

#include "client.h"
#include "config/setting.h"
#include "config/unit-file.h"
#include "exit-codes.h"
#include "model.h"
#include "options.h"
#include "output.h"
#include "settings.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "verbs.h"

static const TableColumn columns[] = {
        { .header = "UNIT", .flags = COLUMN_SHRINK_MID },
        { .header = "SETTING" },
        { .header = "VALUE", .flags = COLUMN_SHRINK },
        { .header = "COUNTS" },
        { .header = "BY" },
        { .header = "SOURCE", .flags = COLUMN_SHRINK_MID },
};

/* ---- lines */

SettingInfo setting_info(sd_json_variant *v) {
        return (SettingInfo) {
                .key = strempty(json_string(v, "key")),
                .value = strempty(json_string(v, "value")),
                .source = strempty(json_string(v, "source")),
                .layer = strempty(json_string(v, "layer")),
                .effective = sd_json_variant_boolean(sd_json_variant_by_key(v, "effective")),
        };
}

Table *settings_table_new(void) {
        return table_new(columns, ELEMENTSOF(columns));
}

static void add_line(Table *t, const char *unit, const SettingInfo *s) {
        table_add(t, unit);
        table_add(t, s->key);
        table_add(t, isempty(s->value) ? "(none)" : s->value);
        table_add_colored(t, s->effective ? COLOR_GOOD : COLOR_DIM, s->effective ? "yes" : "no");
        table_add(t, s->layer);
        table_add(t, s->source);
}

void settings_table_add(Table *t, const char *unit, sd_json_variant *settings) {
        const char *key;

        for (guint k = 0; (key = policy_setting_key_name(k)); k++)
                for (size_t i = sd_json_variant_elements(settings); i > 0; i--) {
                        SettingInfo s = setting_info(sd_json_variant_by_index(settings, i - 1));

                        if (streq(s.key, key))
                                add_line(t, unit, &s);
                }
}

/* ---- show */

static bool files_are_known(sd_json_variant *reply) {
        return sd_json_variant_boolean(sd_json_variant_by_key(reply, "unitFilesKnown"));
}

static int show_one(sd_varlink *link, const char *unit, Table *t, sd_json_variant **array) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *parameters = NULL, *reply = NULL;
        sd_json_variant *settings;
        int r;

        r = sd_json_buildo(&parameters, SD_JSON_BUILD_PAIR_STRING("unit", unit));
        if (r < 0)
                return log_error_errno(r, "Cannot build JSON: %m");

        r = client_call(link, CACHEBPF_VARLINK_INTERFACE ".GetUnitSettings", parameters, &reply);
        if (r < 0)
                return r;

        unit = settings_name_in_reply(unit, reply);
        settings = sd_json_variant_by_key(reply, "settings");
        if (json_wanted()) {
                r = sd_json_variant_append_arraybo(
                        array,
                        SD_JSON_BUILD_PAIR_STRING("unit", unit),
                        SD_JSON_BUILD_PAIR_VARIANT("settings", settings),
                        SD_JSON_BUILD_PAIR_BOOLEAN("unitFilesKnown", files_are_known(reply)));
                return r < 0 ? log_error_errno(r, "Cannot build JSON: %m") : 0;
        }

        if (!files_are_known(reply))
                log_notice("No files of %s were found.", unit);
        settings_table_add(t, unit, settings);
        return 0;
}

int verb_show(char **names, size_t n_names) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *array = NULL;
        _cleanup_(table_freep) Table *t = settings_table_new();
        int r, status = EXIT_SUCCESS;

        r = client_connect(&link);
        if (r >= 0)
                r = sd_json_variant_new_array(&array, NULL, 0);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n_names; i++) {
                _cleanup_free_ char *unit = unit_name_mangle(names[i]);

                r = show_one(link, unit, t, &array);
                if (r == -ESRCH) {
                        log_error("Unit \"%s\" is not known to cachebpfd, and nothing is set for it.", unit);
                        status = EXIT_UNKNOWN;
                } else if (r < 0)
                        return r;
        }

        r = json_wanted() ? output_json(array) : output_table(t, "line", "lines");
        return r < 0 ? r : status;
}
