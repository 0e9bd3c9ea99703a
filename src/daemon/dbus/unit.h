/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "daemon/core/model.h"

int unit_bus_path(const Unit *u, char **ret);

/* An object for each managed unit; they come, change and go by themselves. */
typedef struct UnitObjects UnitObjects;

int unit_objects_new(Manager *m, sd_bus *bus, UnitObjects **ret);
UnitObjects *unit_objects_free(UnitObjects *o);

/* A flat_keyed_func_t: appends one {st} to the message given as userdata. */
int bus_append_counter(const char *key, const char *value, void *userdata);
