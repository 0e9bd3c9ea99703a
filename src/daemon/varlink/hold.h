/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "daemon/core/model.h"

/* The method HoldUnit. */
int hold_varlink_bind(sd_varlink_server *s);

/* The holds of a unit as an array of Hold; NULL if there are none. */
int hold_varlink_build_of_unit(const Unit *u, sd_json_variant **ret);
