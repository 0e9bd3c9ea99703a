/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "config/setting.h"
#include "daemon/kernel/backend.h"
#include "daemon/kernel/events.h"
#include "shared/unit-state.h"

typedef struct Manager Manager;
typedef struct Unit Unit;

/* What the watcher asks systemd about a unit, by pairs of properties. */
typedef enum UnitFetch {
        UNIT_FETCH_FRAGMENT,
        UNIT_FETCH_DROPINS,
        UNIT_FETCH_CGROUP,
        UNIT_FETCH_CGROUP_ID,
        _UNIT_FETCH_MAX,
} UnitFetch;

/* A slice, service or scope that systemd has loaded.
 * Most have no policy and are here for the day they get one. */
struct Unit {
        Manager *manager;
        char *name;

        /* systemd's view (daemon/systemd/watch.c) */
        char *path;                 /* object path on the bus */
        bool loaded;
        bool active;
        char *fragment;
        char **dropins;
        char *cgroup;
        uint64_t cgroup_id;         /* 0: no control group now */
        sd_bus_slot *fetch_slots[_UNIT_FETCH_MAX];
        bool want_files, want_cgroup, fetch_queued, files_known;
        bool seen;                  /* by the listing in progress */
        uint64_t files_asked;       /* the number of the last rescan when its files were asked for */
        GArray *queries;            /* clients that wait for an answer (daemon/systemd/query.c) */

        /* what is configured */
        PolicySetting file_setting; /* by the unit's files */
        PolicySetting setting;      /* by everything */

        /* what is attached */
        PolicyLink *link;
        sd_event_source *link_source;
        PolicyEvents *events;       /* NULL: the policy asks for nothing */
        bool hung_up;
        bool adopted;               /* by an earlier instance of the daemon */
        char *effective;            /* name of the policy behind the link */
        char *dropped;              /* the last one that was behind it, for the journal */
        uint64_t policy_id;         /* the kernel's id of the attachment */

        /* how it goes */
        UnitState state;
        char *reason;
        uint64_t since;             /* CLOCK_REALTIME, of the state */
        uint64_t attached_at;       /* CLOCK_MONOTONIC */
        unsigned n_attempts;        /* failed in a row */
        uint64_t retry_at;          /* CLOCK_MONOTONIC; UINT64_MAX: not before something changes */
        sd_event_source *retry_source;

        bool exported;              /* has an object on our bus (daemon/dbus/unit.c) */
};

int unit_new(Manager *m, const char *name, Unit **ret);
Unit *unit_free(Unit *u);
DEFINE_TRIVIAL_CLEANUP_FUNC(Unit *, unit_free);

/* Whether users want to hear of it: something is configured or attached. */
bool unit_is_managed(const Unit *u);
/* Calls about the unit are on their way, or wait for their turn as well. */
bool unit_is_asked_about(const Unit *u);
bool unit_is_fetching(const Unit *u);

/* "FILE:LINE" of the line that decided, NULL if none did. */
int unit_source(const Unit *u, char **ret);

/* Enters a state; logs it and tells the bus, once:
 * nothing happens if state and reason are the same already. */
void unit_set_state(Unit *u, UnitState state, const char *reason);

/* The policy was replaced in place, which is no change of state. */
void unit_note_update(Unit *u);

/* Takes over a link, and watches it for the kernel's hang-up. */
int unit_set_link(Unit *u, PolicyLink *link, const char *effective, bool adopted);
/* Does what the policy behind the link asks for now and then; again after the policy was replaced. */
void unit_watch_events(Unit *u);
/* Detaches the policy and forgets the link. */
void unit_drop_link(Unit *u);

/* After a failure: when to try again (never, if it is not transient or was tried often enough). */
void unit_schedule_retry(Unit *u, bool transient);
void unit_reset_retry(Unit *u);
bool unit_may_try(const Unit *u);
