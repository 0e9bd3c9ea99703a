/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "daemon/control/context.h"

typedef struct Monitor Monitor;
typedef struct Turn Turn;
typedef struct TurnUser TurnUser;

/* What methods get as userdata. */
typedef struct Varlink {
        Control *control;
        sd_varlink_server *server;
        GPtrArray *clients;              /* of sd_varlink: those that are connected, */
        GPtrArray *others;               /* and those of them that are not root's */
        GQueue *turns;                   /* of TurnUser: whose clients wait for their turns, */
        GHashTable *turn_of;             /* sd_varlink -> Turn, */
        GHashTable *turn_users;          /* of all others' clients: user -> TurnUser, */
        sd_event_source *turn_source;    /* and what gives the turns */
        sd_event_source *exit_source, *memory_source;
        size_t memory_base;              /* in use without the others, in bytes, */
        guint units_base;                /* when there were so many units */
        unsigned n_events;               /* since then */
        Monitor *monitor;
} Varlink;
