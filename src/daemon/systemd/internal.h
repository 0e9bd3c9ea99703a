/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "daemon/core/model.h"

/* What the parts of the watcher share: watch.c (signals), list.c (which units there are), fetch.c (questions
 * about single units) and query.c (who waits for the answers).
 *
 * Mind that asking about a unit by its object path makes systemd load it, if it was unloaded since, which it
 * announces like any other new unit: asking about each new unit at once would go on for ever. Hence units
 * are asked about when they are active, or were on the list of what is loaded, and lists load nothing. */

#define SYSTEMD_SERVICE "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER_INTERFACE "org.freedesktop.systemd1.Manager"
#define SYSTEMD_UNIT_INTERFACE "org.freedesktop.systemd1.Unit"

/* Errors that say nothing of what was asked: the connection is gone, or systemd is, or has no room for the
 * question. To ask again may help. */
#define SYSTEMD_SILENCE                                                                              \
        SD_BUS_ERROR_NO_REPLY, SD_BUS_ERROR_TIMEOUT, SD_BUS_ERROR_DISCONNECTED,                      \
                SD_BUS_ERROR_LIMITS_EXCEEDED, SD_BUS_ERROR_NO_MEMORY, SD_BUS_ERROR_SERVICE_UNKNOWN,  \
                SD_BUS_ERROR_NAME_HAS_NO_OWNER

#define SYSTEMD_WATCH_MATCHES 5

typedef struct SystemdWatch SystemdWatch;

/* What is asked about a unit, by pairs of properties. */
typedef enum UnitFetch {
        UNIT_FETCH_FRAGMENT,
        UNIT_FETCH_DROPINS,
        UNIT_FETCH_CGROUP,
        UNIT_FETCH_CGROUP_ID,
        _UNIT_FETCH_MAX,
} UnitFetch;

/* Who waits for an answer about a unit. */
typedef struct UnitQuery {
        void (*func)(void *userdata);
        void *userdata;
} UnitQuery;

/* A unit as systemd has it. */
typedef struct SystemdUnit {
        SystemdWatch *watch;
        Unit *unit;
        char *path;                 /* object path on the bus */
        char *fragment;
        char **dropins;
        sd_bus_slot *slots[_UNIT_FETCH_MAX];
        bool want_files, want_cgroup;
        bool files_failed;          /* one of the answers about its files was an error */
        bool refused[_UNIT_FETCH_MAX]; /* systemd cannot tell it, which was logged */
        bool queued;                /* waits for its turn to be asked about */
        bool seen;                  /* by the listing in progress */
        uint64_t files_asked;       /* the number of the last rescan when its files were asked for */
        GArray *queries;            /* of UnitQuery (query.h) */
} SystemdUnit;

struct SystemdWatch {
        Manager *manager;
        sd_bus *bus;
        GHashTable *units;          /* Unit -> SystemdUnit, owned */
        GHashTable *units_by_path;  /* object path -> SystemdUnit */
        sd_event_source *settled_source; /* something that was asked for is known */
        sd_bus_slot *match_slots[SYSTEMD_WATCH_MATCHES];
        sd_bus_slot *list_slot;
        sd_bus_slot *new_slot;
        sd_event_source *rescan_source;
        sd_event_source *new_source;
        sd_event_source *subscribe_source;
        GPtrArray *new_names; /* of units that were announced, strings */

        bool reloading;      /* systemd reads its configuration: what it says now does not last */
        bool listed;
        bool listed_once;    /* what is new on a list started after the one before */
        uint64_t n_rescans;
        bool incomplete;     /* some answer did not come */

        GHashTable *answered; /* set of SystemdUnit: who waits is answered after the next reconcile */
        GQueue queue;        /* of SystemdUnit, waiting for their turn to be asked about */
        unsigned n_in_flight;
};
