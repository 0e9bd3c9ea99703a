/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-json.h>

#include "daemon/core/model.h"

/* A member that is left out when there is none. */
#define VARLINK_PAIR_NULLABLE(name, s) \
        SD_JSON_BUILD_PAIR_CONDITION(!!(s), name, SD_JSON_BUILD_STRING(s))

#define VARLINK_PAIR_NULLABLE_VARIANT(name, v) \
        SD_JSON_BUILD_PAIR_CONDITION(!!(v), name, SD_JSON_BUILD_VARIANT(v))

/* A unit as ListUnits shows it. */
int unit_varlink_build(Unit *u, sd_json_variant **ret);
/* As the only member, "unit", of a reply. */
int unit_varlink_build_reply(Unit *u, sd_json_variant **ret);
/* files.c: its managers, see ListFiles. */
int files_varlink_build(Unit *u, bool files, sd_json_variant **ret);
/* The holds of a unit as an array of Hold; NULL if there are none. */
int unit_varlink_build_holds(const Unit *u, sd_json_variant **ret);
