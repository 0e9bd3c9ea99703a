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

/* query.c: has the watch know a unit that systemd has loaded, by its own name: what its files say, also if
 * it is not active, and with cgroup its control group, also if it has no policy. The control groups of such
 * units are not followed: that would be two calls to systemd for each that starts or stops.
 *
 * Returns true if that has to be asked for; func is called when the answer is there, whatever it is, unless
 * that is cancelled before. */
bool systemd_query(SystemdWatch *w, const char *unit, bool cgroup, void (*func)(void *userdata),
                   void *userdata);
void systemd_query_cancel(SystemdWatch *w, void *userdata);
