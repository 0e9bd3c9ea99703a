/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "daemon/core/manager.h"

/* The method Monitor: all units at first, then every change, to any number of clients. */
int monitor_varlink_bind(sd_varlink_server *s, Manager *m);
/* A client went away, of whatever method. */
void monitor_varlink_disconnected(Manager *m, sd_varlink *link);
/* No client is told anything any more. */
void monitor_varlink_stop(Manager *m);

/* Manager.unit_changed and Manager.unit_removed: clients hear of it soon, and of several changes at once. */
void monitor_unit_changed(Unit *u);
