/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

/* GetUnitSettings, SetUnitSettings, ResetUnit and Reload of the varlink interface. */
int config_varlink_bind(sd_varlink_server *s);
