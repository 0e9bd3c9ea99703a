/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "daemon/core/manager.h"

/* Those that are connected, so that the daemon can end without them. */
int varlink_clients_start(Manager *m);
void varlink_clients_stop(Manager *m);

void varlink_clients_add(Manager *m, sd_varlink *link);
void varlink_clients_remove(Manager *m, sd_varlink *link);
