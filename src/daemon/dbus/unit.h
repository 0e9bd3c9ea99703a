/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/manager.h"

int unit_bus_add(Manager *m, sd_bus *bus);
int unit_bus_path(const Unit *u, char **ret);

/* Manager.unit_changed and Manager.unit_removed: keep our objects in step. */
void unit_bus_changed(Unit *u);
void unit_bus_removed(Unit *u);

/* A flat_keyed_func_t: appends one {st} to the message given as userdata. */
int bus_append_counter(const char *key, const char *value, void *userdata);
