/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/control/lookup.h"
#include "daemon/control/request.h"

/* Methods of org.cachebpf1.Manager about settings of units. */
int config_bus_get_unit_settings(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int config_bus_set_unit_settings(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int config_bus_reset_unit(sd_bus_message *msg, void *userdata, sd_bus_error *error);
int config_bus_reload(sd_bus_message *msg, void *userdata, sd_bus_error *error);

/* The arguments "sas" that calls for changes begin with: a unit and its settings, at least one. */
int config_bus_read_settings(sd_bus_message *msg, const char **ret_unit, char ***ret_assignments,
                             sd_bus_error *error);
/* For other methods that ask for a change: who asks is filled in; answers with an error. */
int config_bus_request(sd_bus_message *msg, Control *c, const ConfigRequestArguments *arguments);
int config_bus_reply_error(sd_bus_message *msg, const ConfigReply *reply);

/* Who sent the message. */
int bus_get_subject(sd_bus_message *msg, PolkitSubject *ret);

/* For methods that ask about the unit which their only argument names. */
int lookup_bus(sd_bus_message *msg, Control *c, lookup_reply_t reply);
