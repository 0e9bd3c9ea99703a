/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "table.h"

/* A line of the configuration, as GetUnitSettings tells it; the strings belong to the JSON. */
typedef struct SettingInfo {
        const char *key;
        const char *value;
        const char *source;
        const char *layer;
        bool effective;
} SettingInfo;

SettingInfo setting_info(sd_json_variant *v);

/* The name that a reply has for the unit, which may have been called by another one. */
const char *settings_name_in_reply(const char *unit, sd_json_variant *reply);

/* An array of assignments: "lfu" is short for "CachePolicy=lfu". */
int settings_build(char **words, size_t n_words, sd_json_variant **ret);

/* A table of lines, and how to fill it from an array of Setting: the strongest of each key first. */
Table *settings_table_new(void);
void settings_table_add(Table *t, const char *unit, sd_json_variant *settings);
