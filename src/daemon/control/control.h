/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "context.h"

/* Registers with the manager, whose changes it answers clients by. */
Control *control_new(Manager *m);
Control *control_free(Control *c);
DEFINE_TRIVIAL_CLEANUP_FUNC(Control *, control_free);

/* The system bus is there; both stay the caller's. */
void control_connect(Control *c, sd_bus *bus, SystemdWatch *watch);
/* It goes: answers those that wait for it, and ends the holds of its clients, since nobody can tell any more
 * whether they are there. */
void control_disconnect(Control *c);

/* A client of varlink is gone: forgets what it waits for, and what it holds. */
void control_client_gone(Control *c, sd_varlink *link);
