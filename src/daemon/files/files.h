/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/core/model.h"

/* Tells policies that listen what CacheFiles= and CacheLevel= say of the files of managers, and watches who
 * of them is revoked. It follows the units of the manager by itself; events only mark managers dirty, and
 * what a manager's files are is looked up anew. */
typedef struct Files Files;

int files_new(Manager *m, Files **ret);
Files *files_free(Files *f);
DEFINE_TRIVIAL_CLEANUP_FUNC(Files *, files_free);

/* A search goes on, or the next one has to wait for that. */
bool files_are_searched(const Files *f);
/* revoked.c: looks who is revoked: what happens every two seconds. */
void files_sample(Files *f);

/* list.c: a manager, and the files that have another level than the default, or that a pattern names. */
typedef struct ListedFile {
        PolicyFile file;
        int level;
        char *path;      /* NULL: not known */
        uint64_t cached; /* pages of the file, whoever they belong to; UINT64_MAX: not known */
} ListedFile;

typedef struct ListedManager {
        PolicyManager kernel;
        char *name;      /* of its control group; NULL: it is gone */
        GArray *files;   /* of ListedFile */
} ListedManager;

/* The managers of a unit whose policy listens, or the one that a unit below such a unit is; of
 * ListedManager. Which files they name is not for everybody: these may be where others cannot look. */
GPtrArray *files_list(Unit *u, bool files);
/* Whether that could be something: its policy listens. */
bool files_has_managers(const Unit *u);
