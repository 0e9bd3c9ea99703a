/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-json.h>

#include "table.h"

/* What CacheReplay= did for a unit (see ReplayInfo), as a line of its details. An error (logged): the daemon
 * sent what makes no sense. */
int replay_add_details(sd_json_variant *replay, Table *details);
