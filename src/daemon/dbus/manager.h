/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "daemon/control/context.h"

/* The object of the manager; it tells of changes by itself. */
typedef struct ManagerObject ManagerObject;

int manager_object_new(Control *c, sd_bus *bus, ManagerObject **ret);
ManagerObject *manager_object_free(ManagerObject *o);
