/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "context.h"

/* Clients that are not root's take turns, a step of sd_varlink_process() each. In the event sources of
 * sd-varlink the client that began first stays first as long as it has a call to make: one that never stops
 * would keep out all others. */
int turns_start(Varlink *v);
void turns_stop(Varlink *v);

/* Takes a client from the event loop, and gives it its turns. */
int turns_add(Varlink *v, sd_varlink *link);
void turns_remove(Varlink *v, sd_varlink *link);
