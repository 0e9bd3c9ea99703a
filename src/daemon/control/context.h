/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "daemon/core/model.h"
#include "daemon/learning/learning.h"
#include "daemon/replay/replay.h"
#include "daemon/systemd/watch.h"

/* What clients may do to the daemon, whatever bus they come by. */
typedef struct Control {
        Manager *manager;
        Learning *learning;             /* NULL: nothing is kept */
        Replay *replay;                 /* so is nothing that services read */

        /* NULL: there is no system bus now. */
        sd_bus *bus;
        SystemdWatch *watch;

        GPtrArray *holders;             /* of Holder, owned; the oldest first */
        uint32_t last_cookie;           /* of a hold */
        GHashTable *pending;            /* set of Pending: requests that wait for something */
        GPtrArray *callers;             /* on D-Bus, not known yet (dbus/caller.c) */
        GPtrArray *problems;            /* while clients wait for a reload: what was wrong, strings */
} Control;
