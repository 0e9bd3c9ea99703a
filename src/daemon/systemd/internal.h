/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "daemon/core/manager.h"

/* What the three parts of the watcher share: watch.c (signals), list.c (which units there
 * are) and fetch.c (questions about single units).
 *
 * Mind that asking about a unit by its object path makes systemd load it, if it was unloaded since, which it
 * announces like any other new unit: asking about each new unit at once would go on for ever. Hence units
 * are asked about when they are active, or were on the list of what is loaded, and lists load nothing. */

#define SYSTEMD_SERVICE "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER_INTERFACE "org.freedesktop.systemd1.Manager"
#define SYSTEMD_UNIT_INTERFACE "org.freedesktop.systemd1.Unit"
#define SYSTEMD_WATCH_MATCHES 5

struct SystemdWatch {
        Manager *manager;
        sd_bus_slot *match_slots[SYSTEMD_WATCH_MATCHES];
        sd_bus_slot *list_slot;
        sd_bus_slot *new_slot;
        sd_event_source *rescan_source;
        sd_event_source *new_source;
        GPtrArray *new_names; /* of units that were announced, strings */

        bool reloading;      /* systemd reads its configuration: what it says now does not last */
        bool listed;
        uint64_t n_rescans;
        bool incomplete;     /* some answer was an error */

        GQueue queue;        /* of Unit, waiting for their turn to be asked about */
        unsigned n_in_flight;
};

/* Makes or finds the unit; NULL if it is of no type of ours. */
Unit *systemd_list_get_unit(SystemdWatch *w, const char *name, const char *path);
/* A unit was announced: find out, a little later and together with others, whether it is active already. */
void systemd_list_note_new(SystemdWatch *w, const char *name);
void systemd_list_schedule_rescan(SystemdWatch *w);
void systemd_list_stop(SystemdWatch *w);

/* The unit became active or is active: make sure that what matters of it is known. */
void systemd_fetch_active(SystemdWatch *w, Unit *u);
/* The unit has no control group any more; nothing needs to be asked for that. */
void systemd_fetch_inactive(Unit *u);
/* Asks, soon, for the unit's files or its control group, or both. The unit becomes dirty with the answer. */
void systemd_fetch_queue(SystemdWatch *w, Unit *u, bool files, bool cgroup);

void systemd_watch_check_settled(SystemdWatch *w);
void systemd_watch_unit_gone(Unit *u);
bool systemd_active_state(const char *s);
