/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kv-db.h"

/* Reads may be so many updates ahead: as many as RocksDB collects before it compacts, which are four small
 * buffers full. */
#define WRITES_AHEAD 1024

/* Updates of random records, all equally likely: they make the engine compact tables in the background. */
typedef struct Writes {
        const Database *database;
        uint64_t seed;
} Writes;

void writes_init(Writes *writes, uint64_t seed, const Database *database);

/* One update, the number-th. */
bool writes_work(void *writes, uint64_t number);
