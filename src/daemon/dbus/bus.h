/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/manager.h"

#define BUS_NAME "org.cachebpf1"
#define BUS_PATH "/org/cachebpf1"
#define BUS_INTERFACE_MANAGER "org.cachebpf1.Manager"
#define BUS_INTERFACE_UNIT "org.cachebpf1.Unit"
#define BUS_ERROR_NO_SUCH_UNIT "org.cachebpf1.NoSuchUnit"
#define BUS_ERROR_CANNOT_STORE "org.cachebpf1.CannotStore"
#define BUS_ERROR_NO_SUCH_HOLD "org.cachebpf1.NoSuchHold"
#define BUS_ERROR_NO_SUCH_THREAD "org.cachebpf1.NoSuchThread"

/* Connects to the system bus: our own objects and the watch on systemd. While there is no bus the daemon
 * goes on with what it knows, and tries again. */
int manager_bus_connect(Manager *m);
void manager_bus_disconnect(Manager *m);
/* Once everything is known: who finds us by name, or has us started by it, sees all units. */
void manager_bus_take_name(Manager *m);
