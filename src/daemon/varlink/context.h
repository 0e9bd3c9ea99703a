/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-varlink.h>

#include "daemon/control/context.h"

typedef struct Monitor Monitor;

/* What methods get as userdata. */
typedef struct Varlink {
        Control *control;
        sd_varlink_server *server;
        GPtrArray *clients;              /* of sd_varlink: those that are connected */
        sd_event_source *clients_source;
        Monitor *monitor;
} Varlink;
