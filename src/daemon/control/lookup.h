/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "context.h"

/* Answers the client about the unit, which need not be known; exactly one of msg and link is set. */
typedef int (*lookup_reply_t)(Control *c, sd_bus_message *msg, sd_varlink *link, const char *unit);

/* A client asks about a unit. If the name is not that of a known unit it may be an alias: systemd is asked
 * first. Calls reply, now or later, with the unit's own name, or with the client's if nobody knows it. */
int control_lookup(Control *c, uid_t uid, sd_bus_message *msg, sd_varlink *link, const char *name,
                   lookup_reply_t reply);
