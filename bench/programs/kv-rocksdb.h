/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <rocksdb/c.h>

#include "kv-engine.h"

/* For what only RocksDB has. */
typedef struct RocksEngine {
        Engine engine;
        rocksdb_t *db;
        rocksdb_options_t *options;
        rocksdb_readoptions_t *read;
        rocksdb_writeoptions_t *write;
} RocksEngine;

static inline RocksEngine *rocks_engine(Engine *e) {
        return (RocksEngine *) e;
}

/* Four levels, each a tenth of the one below and with keys from all over the range, as a tree has them that
 * records were added to in random order for long; the same each time, which compaction in the background
 * would not leave behind.  The database is empty and was created for that. */
int rocks_load_levels(Engine *e, const LoadOptions *options);
