/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "daemon/core/model.h"

/* Keeps the manager's units in step with systemd's, over a bus connection. Everything is
 * asynchronous; signals are only hints that make it ask again. */
typedef struct SystemdWatch SystemdWatch;

int systemd_watch_new(Manager *m, sd_bus *bus, SystemdWatch **ret);
SystemdWatch *systemd_watch_free(SystemdWatch *w);
DEFINE_TRIVIAL_CLEANUP_FUNC(SystemdWatch *, systemd_watch_free);
