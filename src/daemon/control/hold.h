/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "check.h"
#include "context.h"

/* Holds (daemon/core/model.h), and the clients that have to stay for them. */

typedef struct HoldArguments {
        const char *program; /* empty: the name of the process */
        const char *reason;  /* empty: none */
        pid_t pid;
        uid_t uid;
        sd_varlink *link;
        const char *bus_name;
} HoldArguments;

/* Begins a hold: the unit has the settings after the next reconcile. A failure is in the outcome. The unit's
 * name has been checked, and what the client may. */
int hold_begin(Control *c, const char *unit, char **assignments, const HoldArguments *a, ConfigOutcome *o,
               Hold **ret);
/* The configuration, and what others hold, counts again after the next reconcile. -ESRCH: the client on the
 * bus has no such hold. */
int hold_release(Control *c, uint32_t cookie, const char *bus_name);

/* A client of varlink went away, or nobody can tell any more whether those on the bus did. */
void holds_disconnected(Control *c, sd_varlink *link);
void holds_end_of_bus(Control *c);
/* The daemon ends. */
void holds_end_all(Control *c);

/* For control.c: none yet. */
GPtrArray *holders_new(void);
