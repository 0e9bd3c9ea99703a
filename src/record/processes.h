/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/macro.h"

/* Hits and misses of each process: BPF programs on tracepoints of the kernel, for as long as somebody looks. */
typedef struct Processes Processes;

typedef struct ProcessCounts {
        pid_t pid;
        char *name;
        uint64_t accesses; /* pages that were read, or faulted in mappings; under a policy: what it counts */
        uint64_t misses;   /* those of them that the process had to bring in; at most as many */
        uint64_t bytes;    /* that it brought in, read ahead or not */
} ProcessCounts;

ProcessCounts *process_counts_free(ProcessCounts *c);

/* Begins to count what the processes in the control group with that id do, and those below it. "level" is how
 * many directories it is below the root. "policy": it has one, whose counters grow by what they do; then what
 * they do to pages of others is not counted, nor anything after the policy is gone. On failure *ret_error says
 * why, or is NULL. */
int processes_new(uint64_t cgroup_id, uint32_t level, bool policy, Processes **ret, char **ret_error);

/* What was counted since the last time, or the beginning: adds it to the ProcessCounts in the hash table (by
 * number, GUINT_TO_POINTER()), or adds new ones, which the table shall free. A process that did nothing is not
 * added. Should be called every second: the room of threads that have ended is free for others then. */
void processes_take(Processes *p, GHashTable *processes);

/* How many times there was no room for one more thread, and its access was not counted. */
uint64_t processes_lost(const Processes *p);

Processes *processes_free(Processes *p);
DEFINE_TRIVIAL_CLEANUP_FUNC(Processes *, processes_free);
