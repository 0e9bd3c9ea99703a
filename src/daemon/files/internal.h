/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/model.h"
#include "daemon/helper/helper.h"
#include "search.h"

typedef struct FileFinder FileFinder;
typedef struct FileManager FileManager;
typedef struct FileWatches FileWatches;
typedef struct Files Files;

struct Files {
        Manager *manager;
        GHashTable *units;       /* set of Unit: those whose policy listens */
        sd_event_source *apply_source;
        sd_event_source *sample_source;
        FileWatches *watches;
        GPtrArray *finders;      /* of FileFinder */
        FileFinder *finder;      /* the one that is not given up, if there is one */
        uint64_t not_before;     /* CLOCK_MONOTONIC: no other one is to begin before */
        Helper counter;          /* of cached pages */
};

/* A manager for which something is configured. */
struct FileManager {
        UnitFiles *owner;
        uint64_t id;
        char *name;               /* of its control group */
        CacheFiles wanted;
        FileSearch found;         /* the last time; the watches need its directories */
        FileFinder *finder;       /* that is at work, or was given up and has not ended; mostly NULL */

        /* what the policy was told */
        GHashTable *said;         /* PolicyFile -> FoundFile */
        int8_t mru[CACHE_LEVELS]; /* negative: nothing */

        bool dirty;
        bool again;               /* it is another policy: tell it all of it */
        bool complained;          /* of too many files */
        bool failed;              /* the policy did not take all of it */
        uint64_t not_before;      /* CLOCK_MONOTONIC: is not to be looked at before */
        uint64_t retry_at;        /* CLOCK_MONOTONIC: is to be looked at then; UINT64_MAX: never */
        uint64_t retry_usec;      /* what that was the last time; 0: it was not */
};

/* A manager without a say. One that goes on being wrong gets it back and loses it again and again: it has
 * none all the time. */
typedef struct RevokedManager {
        uint64_t id;
        unsigned n_samples; /* since it was revoked: it has a say in all of them */
} RevokedManager;

/* A unit whose policy listens. */
struct UnitFiles {
        Files *files;
        Unit *unit;
        uint64_t policy_id;       /* that was told */
        bool complained;          /* of what the policy did not take; it has room for so many managers */
        uint64_t cgroup_id;       /* that is watched; 0: none */
        sd_event_source *watch;
        bool dirty;               /* there may be other control groups below */
        uint64_t not_before;      /* CLOCK_MONOTONIC: these are not to be looked at before */
        GHashTable *managers;     /* id -> FileManager */
        GArray *revoked;          /* of RevokedManager */
};

/* manager.c: */
FileManager *file_manager_new(UnitFiles *owner, uint64_t id, const char *name);
void file_manager_free(void *p);
/* Its files are going to be looked for. */
void file_manager_begin(FileManager *m);
/* These are its files now: tells the policy what it does not know yet. Takes over what was found. */
void file_manager_found(FileManager *m, FileSearch *found, uint64_t begin);
/* They are not found: the search failed, or (-ETIMEDOUT) takes too long. */
void file_manager_not_found(FileManager *m, int error, uint64_t begin);

/* finder.c: looks for its files, in another process. One at a time. -EBUSY: too many hang. */
int file_finder_start(FileManager *m);
/* The manager goes. */
void file_finder_forget(FileManager *m);
void file_finder_free(void *p);

/* files.c: it is to be looked at, soon. */
void file_manager_mark_dirty(FileManager *m);
/* So is which managers the unit has. */
void unit_files_mark_dirty(UnitFiles *f);
/* So is whatever else is due. */
void files_schedule(Files *f, uint64_t usec);
/* When what began then may be done again: not before that time has passed, and if it takes long it has a
 * tenth of the time. */
uint64_t files_not_before(uint64_t begin, uint64_t usec);

/* sync.c: looks which managers the unit has, and what they want. If again, it is another policy, which is to
 * be told all of it. Negative: the unit has no control group now. */
int unit_files_sync(UnitFiles *f, bool again);

/* children.c: calls func for each control group right below the unit's, with its name and id. -ENOENT: the
 * unit has none now. */
typedef void (*child_func_t)(const char *name, uint64_t id, void *userdata);
int unit_files_foreach_child(const UnitFiles *f, child_func_t func, void *userdata);
/* When they change, the unit is marked as dirty. */
void unit_files_watch_children(UnitFiles *f);
/* The names, to be shown, of all that may be managers; by id. */
GHashTable *unit_files_names(const UnitFiles *f);
/* Names of files and control groups are bytes, but not on our buses. Takes the name; NULL stays. */
char *name_to_utf8(char *name);

/* revoked.c: */
bool unit_files_is_revoked(const UnitFiles *f, uint64_t id);
