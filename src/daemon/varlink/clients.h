/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "context.h"

/* Those that are connected: they leave when the daemon ends, and root gets in whatever others do.
 *
 * sd-varlink keeps up to 16 MiB for a client that sends a call without an end, and as much for one that does
 * not read its answers. As soon as that adds up, clients have to go, one by one: the latest of the user who
 * has the most, unless that is root. */
int varlink_clients_start(Varlink *v);
void varlink_clients_stop(Varlink *v);

/* -EBUSY: there are too many. */
int varlink_clients_add(Varlink *v, sd_varlink *link);
void varlink_clients_remove(Varlink *v, sd_varlink *link);
