/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "daemon/control/context.h"

/* Our place on the system bus: our own objects, and the watch on systemd. While there is no bus the daemon
 * works with what it knows, and tries again. */
typedef struct Bus Bus;

/* Connects. failed is called each time that it cannot. */
int bus_new(Control *c, void (*failed)(void *userdata), void *userdata, Bus **ret);
Bus *bus_free(Bus *b);
DEFINE_TRIVIAL_CLEANUP_FUNC(Bus *, bus_free);

/* Once everything is known: who finds us by name, or has us started by it, sees all units. */
void bus_take_name(Bus *b);
bool bus_is_connected(const Bus *b);
