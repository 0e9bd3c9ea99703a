/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* org.freedesktop.LogControl1, for "systemctl service-log-level". */
int log_control_bus_add(sd_bus *bus);
