/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "context.h"

/* Users that are not root take turns, and of each user the clients, a step of sd_varlink_process() each. In
 * the event sources of sd-varlink the client that began first stays first as long as it has a call to make:
 * one that never stops would keep out all others. */
int turns_start(Varlink *v);
void turns_stop(Varlink *v);

/* Takes a client from the event loop, and gives it its turns. */
int turns_add(Varlink *v, sd_varlink *link, uid_t uid);
void turns_remove(Varlink *v, sd_varlink *link);
