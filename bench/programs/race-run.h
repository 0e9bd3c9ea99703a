/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/auto/race.h"
#include "sim/run.h"

/* CachePolicy=auto on a trace, in the simulator. Each candidate runs on the whole trace, and its shadow on a
 * sample of the pages (SHARDS, FAST 2015). Then the race decides, by the windows of the shadows and of
 * a cache in which policies replace each other. */

#define RACE_SETTINGS_MAX 8

typedef struct RaceEntrant {
        const char *name;
        const SimPolicy *policy;
        SimSetting settings[RACE_SETTINGS_MAX];
        size_t n_settings;
} RaceEntrant;

typedef struct RaceCourse {
        const Trace *trace;
        uint32_t capacity;             /* pages */
        unsigned one_in;               /* of so many pages one is in the sample */
        const RaceEntrant *entrants;   /* at most RACE_CANDIDATES_MAX; RACE_STOCK is the stock policy */
        size_t n_entrants;
        size_t first;                  /* who runs at first */
} RaceCourse;

typedef struct RaceResult {
        uint64_t requests;
        uint64_t alone[RACE_CANDIDATES_MAX]; /* misses of each policy */
        uint64_t misses;                     /* of auto */
        unsigned n_switches;
} RaceResult;

/* missed is set for each request that auto missed, in memory that processes share; NULL: nobody asks.
 * Switches are told as lines of TAP if they are to be printed. Ends the process with a message if something
 * fails. */
void race_run(const RaceCourse *course, bool *missed, bool print, RaceResult *ret);
