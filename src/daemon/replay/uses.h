/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <linux/types.h>

#include "shared/macro.h"
#include "uses-map.h"

/* Which pages of which files the tasks of control groups use: BPF programs at tracepoints of the page cache,
 * which are attached only while there is somebody to be watched. */
typedef struct UsesWatch UsesWatch;

typedef struct UsedFile {
        struct uses_file_key key;
        struct uses_file value;
} UsedFile;

typedef struct UsedChunk {
        struct uses_chunk_key key;
        struct uses_chunk value;
} UsedChunk;

typedef struct Uses {
        GArray *files;   /* of UsedFile */
        GArray *chunks;  /* of UsedChunk */
        uint64_t n_lost; /* uses that were not noted, since there were too many */
} Uses;

void uses_done(Uses *u);
#define _cleanup_uses_ _cleanup_(uses_done)

/* Loads the programs. The kernel's type information is in the file btf. After an error *ret_problem says
 * what the kernel lacks or refuses, as the end of a sentence; to be freed. */
int uses_watch_new(const char *btf, UsesWatch **ret, char **ret_problem);
UsesWatch *uses_watch_free(UsesWatch *w);
DEFINE_TRIVIAL_CLEANUP_FUNC(UsesWatch *, uses_watch_free);

/* Begins to note the uses of a control group, by its id and its level below the root, until so many pages
 * are noted. -EUSERS: too many are watched; -ERANGE: it is too deep. */
int uses_watch_begin(UsesWatch *w, uint64_t cgroup_id, unsigned level, uint64_t pages_max);
/* Ends that, and says what was used. Fine, and nothing, if it was not watched. */
int uses_watch_end(UsesWatch *w, uint64_t cgroup_id, Uses *ret);
