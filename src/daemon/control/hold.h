/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "change.h"

/* A client holds a unit: gives it settings that are stronger than all configuration, for as long as the
 * client is there. Several may hold one unit; the later ones are stronger, by the same rule as between
 * layers of configuration. Nothing of it is on disk: holds end with the daemon, as the connections of their
 * clients do. */
struct Hold {
        Manager *manager;
        uint32_t cookie;         /* tells it from others; never 0 */
        char *unit;
        char *program;           /* what the client is, as far as it says so */
        char *reason;            /* NULL: it does not say */
        pid_t pid;
        uid_t uid;
        uint64_t since;          /* CLOCK_REALTIME */
        PolicySetting setting;   /* a line a key, from no file */

        /* Who has to stay; one of them. */
        sd_varlink *link;
        sd_bus_track *track;
};

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
int hold_begin(Manager *m, const char *unit, char **assignments, const HoldArguments *a, ConfigOutcome *o,
               Hold **ret);
/* The configuration, and what others hold, counts again after the next reconcile. */
void hold_end(Hold *h);

Hold *hold_find(Manager *m, uint32_t cookie);
/* The settings that clients hold the unit with, for PolicyLayers; NULL: none. */
GPtrArray *holds_list_settings(Manager *m, const char *unit);

/* "NAME (PID 123)" */
int hold_format_holder(const Hold *h, char **ret);

/* A client of varlink went away, or nobody can tell any more whether those on the bus did. */
void holds_disconnected(Manager *m, sd_varlink *link);
void holds_end_of_bus(Manager *m);
/* The daemon ends. */
void holds_end_all(Manager *m);
