/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/model.h"
#include "search.h"

typedef struct FileManager FileManager;
typedef struct Files Files;

/* Of a directory in which files may come and go. */
typedef struct FileWatch {
        FileManager *manager;
        const SearchedDirectory *directory;
        sd_event_source *source;
} FileWatch;

/* A manager for which something is configured. */
struct FileManager {
        UnitFiles *owner;
        uint64_t id;
        char *name;               /* of its control group */
        CacheFiles wanted;
        FileSearch found;         /* the last time; the watches need its directories */
        GHashTable *watches;      /* path -> FileWatch */

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
/* Looks for its files, and tells the policy what it does not know yet. */
void file_manager_apply(FileManager *m);

/* files.c: it is to be looked at, soon. */
void file_manager_mark_dirty(FileManager *m);

/* Calls func for each control group right below the unit's, with its name and id. -ENOENT: the unit has none
 * now. */
typedef void (*child_func_t)(const char *name, uint64_t id, void *userdata);
int unit_files_foreach_child(const UnitFiles *f, child_func_t func, void *userdata);
bool unit_files_is_revoked(const UnitFiles *f, uint64_t id);
/* The name of the manager, to be shown; NULL: there is none any more. */
char *unit_files_name_of(const UnitFiles *f, uint64_t id);
/* Names of files and control groups are bytes, but not on our buses. Takes the name; NULL stays. */
char *name_to_utf8(char *name);
