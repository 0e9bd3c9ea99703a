/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <systemd/sd-varlink.h>

#include "config/override.h"
#include "config/rules.h"
#include "daemon/kernel/backend.h"
#include "shared/kernel-features.h"
#include "unit.h"

typedef struct Hold Hold;
typedef struct Monitor Monitor;
typedef struct SystemdWatch SystemdWatch;

/* More units than this are not a system but an attack on our memory. */
#define UNITS_MAX 65536U

/* Where the manager looks; the defaults are the installed paths, tests give others. */
typedef struct ManagerPaths {
        KernelPaths kernel;
        const char *const *policies;
        const char *const *rules;
        const char *const *overrides; /* a directory for each OverrideKind; NULL: none */
} ManagerPaths;

struct Manager {
        ManagerPaths paths;
        sd_event *event;
        sd_event_source *reconcile_source;

        PolicyBackend *backend;
        KernelFeatures kernel;
        GPtrArray *policies;         /* of Policy */
        PolicyRules rules;
        UnitOverrides overrides;
        GPtrArray *holds;            /* of Hold, owned, the oldest first; NULL: none */
        uint32_t last_cookie;        /* of a hold */

        GHashTable *units;           /* name -> Unit, owned */
        GHashTable *units_by_path;   /* systemd's object path -> Unit */
        GHashTable *dirty;           /* set of Unit */
        GHashTable *pinned;          /* set of ids (GArray elements) found at start, not adopted yet */

        bool settled;                /* all that systemd knows is known here */
        bool ready;                  /* the first reconcile is over, PID 1 has heard of it */
        bool reloading;              /* SIGHUP came, its reconcile is not over */
        bool counts_changed;         /* maybe: some unit did; a reconcile follows */

        /* the outside; all NULL in the unit tests */
        SystemdWatch *watch;
        sd_bus *bus;
        bool name_requested;         /* on that connection */
        sd_event_source *bus_retry_source;
        unsigned n_bus_attempts;
        sd_varlink_server *varlink;
        GPtrArray *clients;          /* of sd_varlink */
        sd_event_source *clients_source;
        Monitor *monitor;
        void (*unit_changed)(Unit *u); /* state or anything else that is shown changed */
        void (*unit_removed)(Unit *u);
        void (*reconciled)(Manager *m);
        void (*became_ready)(Manager *m);
        GHashTable *thread_requests; /* set of ThreadRequest, owned: those that wait for polkit */
        GHashTable *config_requests; /* set of ConfigRequest, owned: those that wait for something */
        GPtrArray *problems;         /* while clients wait for a reload: what was wrong, strings */
};

extern const ManagerPaths manager_default_paths;

int manager_new(const ManagerPaths *paths, sd_event *event, PolicyBackend *backend, Manager **ret);
Manager *manager_free(Manager *m);
DEFINE_TRIVIAL_CLEANUP_FUNC(Manager *, manager_free);

/* Reads kernel support, policies, policies.d and the pins; connects nothing. */
int manager_load(Manager *m);
/* SIGHUP: reads policies and policies.d again and has every unit looked at anew. What is attached from an
 * object that has changed is replaced, in place. */
int manager_reload(Manager *m);

/* What the configuration says of a unit; file_setting is what its own files say, NULL: not known. */
int manager_resolve(Manager *m, const char *unit, const char *cgroup, const PolicySetting *file_setting,
                    PolicySetting *ret);
/* What is set for the unit changed. */
void manager_unit_overridden(Manager *m, const char *unit);

Unit *manager_find_unit(Manager *m, const char *name);
void manager_forget_unit(Manager *m, Unit *u);

/* Events call these, and nothing else happens until the reconcile that they put off. */
void manager_mark_dirty(Manager *m, Unit *u);
void manager_mark_all_dirty(Manager *m);
void manager_queue_reconcile(Manager *m);

/* The watcher's picture is complete (or it never will be: no bus). */
void manager_set_settled(Manager *m, bool settled);

void manager_unit_changed(Manager *m, Unit *u);

typedef struct ManagerCounts {
        unsigned configured, attached, failed;
} ManagerCounts;
ManagerCounts manager_count(Manager *m);
