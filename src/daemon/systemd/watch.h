/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/manager.h"

/* Keeps the manager's units in step with systemd's, over the manager's bus connection. Everything is
 * asynchronous; signals are only hints that make it ask again. */
int systemd_watch_new(Manager *m, SystemdWatch **ret);
SystemdWatch *systemd_watch_free(SystemdWatch *w);

/* Asks for all units and all their files again. */
void systemd_watch_rescan(SystemdWatch *w);

/* The unit is about to be freed. */
void systemd_watch_forget(SystemdWatch *w, Unit *u);
