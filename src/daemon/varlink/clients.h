/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "context.h"

/* Those that are connected, so that the daemon can end without them. */
int varlink_clients_start(Varlink *v);
void varlink_clients_stop(Varlink *v);

void varlink_clients_add(Varlink *v, sd_varlink *link);
void varlink_clients_remove(Varlink *v, sd_varlink *link);
