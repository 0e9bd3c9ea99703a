/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "context.h"

/* Those that are connected: they leave when the daemon ends, and root gets in whatever others do.
 *
 * sd-varlink keeps up to 16 MiB for a client that sends a call without an end, and as much for one that does
 * not read its answers, and does not tell how much that is. As soon as it adds up, clients have to go, but
 * not root's: those of the user who has the most, the latest first, and of another one only when these are
 * gone. */
int varlink_clients_start(Varlink *v);
void varlink_clients_stop(Varlink *v);

/* -EBUSY: there are too many. */
int varlink_clients_add(Varlink *v, sd_varlink *link);
void varlink_clients_remove(Varlink *v, sd_varlink *link);
