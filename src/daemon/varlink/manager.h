/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-json.h>

#include "daemon/core/manager.h"

/* Serves org.cachebpf.Manager on the socket PID 1 passes, or on our own if there is none. */
int manager_varlink_start(Manager *m);
void manager_varlink_stop(Manager *m);

/* To be bound by who serves other sets of methods (tests). */
void manager_varlink_on_disconnect(sd_varlink_server *s, sd_varlink *link, void *userdata);

/* A unit as ListUnits shows it. */
int manager_varlink_build_unit(Unit *u, sd_json_variant **ret);
