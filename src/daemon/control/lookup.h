/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "context.h"

/* Answers the client about the unit; exactly one of msg and link is set. exists: false if systemd says that
 * there is no such unit, whatever is known of it here. */
typedef int (*lookup_reply_t)(Control *c, sd_bus_message *msg, sd_varlink *link, const char *unit,
                              bool exists);

typedef struct LookupArguments {
        uid_t uid;           /* who asks */
        sd_bus_message *msg;
        sd_varlink *link;
        const char *name;    /* of a unit, or an alias of one: systemd is asked if it is not known */
        bool cgroup;         /* its control group has to be known as well, for what it inherits */
        lookup_reply_t reply;
} LookupArguments;

/* Calls reply, now or later, with the unit's own name, or with the client's if nobody knows it. */
void control_lookup(Control *c, const LookupArguments *a);
