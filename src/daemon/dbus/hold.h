/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* Cookie, unit, settings, program, reason, process, user, since. */
#define HOLD_BUS_ARRAY "a(usasssuut)"

/* Methods of org.cachebpf1.Manager. */
int hold_bus_begin(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int hold_bus_release(sd_bus_message *msg, void *userdata, sd_bus_error *error);

/* Properties, of the manager and of a unit. */
int hold_bus_get_all(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error);
int hold_bus_get_of_unit(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *userdata, sd_bus_error *error);
