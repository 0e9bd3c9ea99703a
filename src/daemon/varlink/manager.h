/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

/* ListUnits, GetStats, ListPolicies and GetStatus. */
int manager_varlink_bind(sd_varlink_server *s);
