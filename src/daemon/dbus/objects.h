/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "daemon/control/context.h"

#define BUS_NAME "org.cachebpf1"
#define BUS_PATH "/org/cachebpf1"
#define BUS_INTERFACE_MANAGER "org.cachebpf1.Manager"
#define BUS_INTERFACE_UNIT "org.cachebpf1.Unit"
#define BUS_ERROR_NO_SUCH_UNIT "org.cachebpf1.NoSuchUnit"
#define BUS_ERROR_CANNOT_STORE "org.cachebpf1.CannotStore"
#define BUS_ERROR_NO_SUCH_HOLD "org.cachebpf1.NoSuchHold"
#define BUS_ERROR_NO_SUCH_THREAD "org.cachebpf1.NoSuchThread"

/* The object of the manager; it tells of changes by itself. */
typedef struct ManagerObject ManagerObject;

int manager_object_new(Control *c, sd_bus *bus, ManagerObject **ret);
ManagerObject *manager_object_free(ManagerObject *o);
/* Those whose names the bus does not tell any more, since the connection ends. */
void bus_forget_callers(Control *c);

/* An object for each managed unit; they come, change and go by themselves. */
typedef struct UnitObjects UnitObjects;

int unit_objects_new(Manager *m, sd_bus *bus, UnitObjects **ret);
UnitObjects *unit_objects_free(UnitObjects *o);

int unit_bus_path(const Unit *u, char **ret);

/* org.freedesktop.LogControl1, for "systemctl service-log-level". */
int log_control_bus_add(sd_bus *bus);
