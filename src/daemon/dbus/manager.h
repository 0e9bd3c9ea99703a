/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/manager.h"

int manager_bus_add(Manager *m, sd_bus *bus);

/* The numbers of units changed, or the policies. */
void manager_bus_counts_changed(Manager *m);
void manager_bus_policies_changed(Manager *m);
/* What clients hold. */
void manager_bus_holds_changed(Manager *m);
