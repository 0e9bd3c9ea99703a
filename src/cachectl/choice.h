/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-json.h>

#include "table.h"

/* What CachePolicy=auto chose for a unit, and from what: the object "choice" of a unit. */

/* Adds why, and when. Errors are logged. */
int choice_add_details(sd_json_variant *choice, Table *details);
/* Prints the candidates, one a line. */
int choice_print_candidates(sd_json_variant *choice);
