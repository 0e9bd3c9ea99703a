/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* Methods of org.cachebpf1.Manager about settings of units. */
int config_bus_get_unit_settings(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int config_bus_set_unit_settings(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int config_bus_reset_unit(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int config_bus_reload(sd_bus_message *msg, void *userdata, sd_bus_error *error);
