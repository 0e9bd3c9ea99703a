/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

/* The method HoldUnit. */
int hold_varlink_bind(sd_varlink_server *s);
