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

/* The control groups of units without a policy of their own are not followed: that would be two calls to
 * systemd for each that starts or stops. Who asks for one by name still wants to know what it inherits, and
 * waits a moment for systemd's answer.
 *
 * Returns true if the reply is put off: func is called when the answer is there, whatever it is, and the
 * userdata is destroyed after that. */
typedef void (*unit_query_reply_t)(Unit *u, void *userdata);
bool systemd_watch_query(SystemdWatch *w, Unit *u, unit_query_reply_t func, void *userdata,
                         void (*destroy)(void *userdata));
