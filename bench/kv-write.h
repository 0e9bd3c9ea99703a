/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kv-db.h"
#include "kv-read.h"

/* Reads may be so many updates ahead: as many as RocksDB collects before it compacts, which are four small
 * buffers full. */
#define WRITES_AHEAD 1024

/* Updates of random records, all equally likely: they make RocksDB compact its tables in the background. */
typedef struct Writes {
        const Database *database;
        rocksdb_writeoptions_t *write;
        uint64_t seed;
} Writes;

/* The options of a database that is written to; NULL if they are refused. */
rocksdb_options_t *writes_options(const ReadOptions *options);

void writes_init(Writes *writes, const ReadOptions *options, const Database *database);
void writes_done(Writes *writes);

/* One update, the number-th. */
bool writes_work(void *writes, uint64_t number);
