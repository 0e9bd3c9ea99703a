/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "manager.h"

/* The half of the watcher that asks about single units; private to systemd-watch.c and systemd-fetch.c. */

#define SYSTEMD_SERVICE "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER_INTERFACE "org.freedesktop.systemd1.Manager"
#define SYSTEMD_UNIT_INTERFACE "org.freedesktop.systemd1.Unit"
#define SYSTEMD_WATCH_MATCHES 5

struct SystemdWatch {
        Manager *manager;
        sd_bus_slot *match_slots[SYSTEMD_WATCH_MATCHES];
        sd_bus_slot *list_slot;
        sd_event_source *rescan_source;

        bool reloading;      /* systemd reads its configuration: what it says now does not last */
        bool listed;
        bool incomplete;     /* some answer was an error */

        GQueue queue;        /* of Unit, waiting for their turn to be asked about */
        unsigned n_in_flight;
};

/* Asks, soon, for the unit's files or its control group, or both. The unit becomes dirty with the answer. */
void systemd_fetch_queue(SystemdWatch *w, Unit *u, bool files, bool cgroup);

/* Whether it matters where the unit's control group is, as far as is known. */
bool systemd_fetch_wants_cgroup(const Unit *u);

void systemd_watch_check_settled(SystemdWatch *w);
