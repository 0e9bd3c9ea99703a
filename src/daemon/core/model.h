/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the daemon knows: units, what is wanted for them, what is attached. Who changes what:
 *   registry.h   which units there are, which are to be looked at, who hears of changes
 *   unit.h       a unit's state, its link to the kernel, its attempts
 *   wanted.h     what the configuration and holds say of a unit
 *   choice.h     which policy that means
 *   reconcile.h  makes the kernel do what is wanted
 *   manager.h    beginning, end, reload */

#include <sys/types.h>
#include <systemd/sd-event.h>

#include "config/candidates.h"
#include "config/override.h"
#include "config/rules.h"
#include "daemon/kernel/backend.h"
#include "daemon/kernel/events.h"
#include "shared/kernel-features.h"
#include "shared/unit-state.h"

typedef struct Hold Hold;
typedef struct Manager Manager;
typedef struct Unit Unit;
typedef struct UnitFiles UnitFiles;

/* Of event sources, after root's clients of varlink and systemd, which have SD_EVENT_PRIORITY_NORMAL. */
enum {
        PRIORITY_RECONCILE = SD_EVENT_PRIORITY_NORMAL + 10, /* one for a burst of events */
        PRIORITY_TELL = SD_EVENT_PRIORITY_NORMAL + 15,      /* clients, what came of it */
        PRIORITY_USERS = SD_EVENT_PRIORITY_NORMAL + 20,     /* what users make as many of as they like */
};

/* More units than this are not a system but an attack on our memory. */
#define UNITS_MAX 65536U

/* Where the manager looks; the defaults are the installed paths, tests give others. */
typedef struct ManagerPaths {
        KernelPaths kernel;
        const char *const *policies;
        const char *const *rules;
        const char *const *overrides; /* a directory for each OverrideKind; NULL: none */
        const char *learned;          /* what policies learned is kept below; NULL: it is not */
        const char *replay;           /* so is what services read */
        const char *mounts;           /* "/proc/self/mountinfo" */
} ManagerPaths;

/* A client holds a unit: it gives the unit settings that are stronger than all configuration, for as long as
 * the client is there. Several may hold one unit; the later ones are stronger, by the same rule as between
 * layers of configuration. Nothing of it is on disk: holds end with the daemon, as the connections of their
 * clients do. */
struct Hold {
        uint32_t cookie;         /* tells it from others; never 0 */
        char *unit;
        char *program;           /* what the client is, as far as it says so */
        char *reason;            /* NULL: it does not say */
        pid_t pid;
        uid_t uid;
        uint64_t since;          /* CLOCK_REALTIME */
        PolicySetting setting;   /* a line a key, from no file */
};

/* How a candidate does, as far as it is known. */
typedef struct CandidateFigures {
        bool known;              /* miss_ratio is: of its shadow, from 0 to 1 */
        double miss_ratio;
        unsigned banned;         /* for so many windows */
        bool out;                /* for good: the kernel does not take it */
} CandidateFigures;

/* What the daemon chooses from for a unit with CachePolicy=auto, and what it has chosen. */
typedef struct UnitChoice {
        PolicyCandidates candidates; /* the list is another one if anything of it changed */
        guint chosen;            /* the candidate that is to run */
        bool begun;              /* chosen after a look at what is attached */
        char *why;               /* this makes a switch, which is not carried out yet; NULL: it does not */

        /* the last switch, and how many there were */
        char *because;           /* NULL: there was none */
        uint64_t switched_at;    /* CLOCK_REALTIME */
        uint64_t n_switches;

        /* what daemon/auto has to say */
        CandidateFigures figures[CANDIDATES_MAX];
        char *verdict;           /* of the last window; NULL: none is over */
} UnitChoice;

/* What CacheReplay= has done for a unit, as far as it is known (daemon/replay). Times are CLOCK_REALTIME in
 * microseconds, 0: never. */
typedef struct UnitReplay {
        uint64_t recording_until;   /* its pages are recorded now; 0: they are not */
        uint64_t recorded_at;       /* of what is kept; 0: nothing is */
        uint64_t recorded_bytes, recorded_ranges;
        uint64_t read_at;           /* when this start's reading ahead had ended; 0: there was none */
        uint64_t read_bytes, read_ranges;
        uint64_t read_bytes_total;  /* of all starts that were seen */
        char *reason;               /* why it was not recorded, or nothing read ahead, a sentence; or NULL */
        bool ignored;               /* that is why nothing is done at all */
        bool known;                 /* what is kept is */
} UnitReplay;

/* A slice, service or scope that systemd has loaded.
 * Most have no policy and are here for the day they get one. */
struct Unit {
        Manager *manager;
        char *name;

        /* systemd's view (daemon/systemd) */
        bool loaded;
        bool active;
        bool stopping;              /* active, and being stopped */
        bool files_known;           /* file_setting is what its files say */
        bool fetching;              /* more of this is on its way; half of it is worse than the old */
        bool refused;               /* systemd cannot tell some of this, however often it is asked */
        bool transient;             /* made at run time: it ends with its first stop */
        bool asked;                 /* somebody waits for that: it is not forgotten before */
        char *cgroup;
        uint64_t cgroup_id;         /* 0: no control group now */
        uint64_t started_at;        /* CLOCK_MONOTONIC, of its start; 0: nobody saw that */
        uint64_t told_cgroup_id;    /* that observers heard of last */
        bool told_stopping;         /* so did they of that */

        /* what is configured */
        PolicySetting file_setting; /* by the unit's files */
        PolicySetting setting;      /* by everything */

        UnitChoice *choice;         /* CachePolicy=auto; NULL: it is not, or not known */
        uint64_t raced_until;       /* CLOCK_MONOTONIC, when its last race ended; 0: it had none */
        int race_error;             /* why none began; 0: it did, or that is not known */

        UnitReplay *replay;         /* CacheReplay= is wanted; NULL: it is not */

        /* what is attached */
        PolicyLink *link;
        sd_event_source *link_source;
        PolicyEvents *events;       /* NULL: the policy asks for nothing */
        bool hung_up;
        bool adopted;               /* by an earlier instance of the daemon */
        char *effective;            /* name of the policy behind the link */
        char *dropped;              /* the last one that was behind it, for the journal */
        uint64_t policy_id;         /* the kernel's id of the attachment */

        /* managers, if the policy listens to them (daemon/files) */
        UnitFiles *files;
        GPtrArray *revoked;         /* the names of those that have no say now; NULL: none */

        /* how it goes */
        UnitState state;
        char *reason;
        uint64_t since;             /* CLOCK_REALTIME, of the state */
        uint64_t attached_at;       /* CLOCK_MONOTONIC */
        unsigned n_attempts;        /* failed in a row */
        uint64_t retry_at;          /* CLOCK_MONOTONIC; UINT64_MAX: not before something changes */
        sd_event_source *retry_source;
        sd_event_source *look_source; /* armed: the kernel could not be asked just now */
};

/* What others want to hear of: the core knows none of them. Each member may be NULL. */
typedef struct ManagerObserver {
        /* State or anything else that is shown of a unit changed. */
        void (*unit_changed)(void *userdata, Unit *u);
        /* A policy is behind the unit's link now: it was attached or adopted, or replaced another one. */
        void (*policy_came)(void *userdata, Unit *u);
        /* It is about to be detached, or replaced if that can be done; its maps are there still. */
        void (*policy_goes)(void *userdata, Unit *u);
        /* The unit has another control group, or (cgroup_id 0) none; what is wanted for it is known. */
        void (*cgroup_changed)(void *userdata, Unit *u);
        /* The unit is being stopped; it has its control group still. */
        void (*unit_stopping)(void *userdata, Unit *u);
        /* The unit is about to be freed. */
        void (*unit_removed)(void *userdata, Unit *u);
        /* Something else is set for the unit: what is known of it may not be enough any more. */
        void (*unit_overridden)(void *userdata, Unit *u);
        /* A hold began or ended. */
        void (*holds_changed)(void *userdata);
        /* The configuration was read again; units have to be looked at anew. */
        void (*reloaded)(void *userdata);
        /* A reconcile is over; if the manager is settled, nothing more follows from what is known. */
        void (*reconciled)(void *userdata);
} ManagerObserver;

typedef struct Observer {
        const ManagerObserver *observer;
        void *userdata;
} Observer;

struct Manager {
        ManagerPaths paths;
        sd_event *event;
        sd_event_source *reconcile_source;

        PolicyBackend *backend;
        KernelFeatures kernel;
        char *no_choice;             /* why CachePolicy=auto cannot choose here, a sentence; NULL: it can */
        GPtrArray *policies;         /* of Policy */
        PolicyRules rules;
        UnitOverrides overrides;
        GPtrArray *holds;            /* of Hold, theirs who added them; the oldest first */

        GHashTable *units;           /* name -> Unit, owned */
        GHashTable *dirty;           /* set of Unit */
        GHashTable *pinned;          /* set of ids (GArray elements) found at start, not adopted yet */

        bool settled;                /* all that systemd knows is known here */
        GArray *observers;           /* of Observer */
};
