/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "kv-write.h"
#include "pool.h"

/* Compaction keeps up with the updates: after so many, these wait until nothing is left to compact. */
#define WRITES_BATCH 64

/* What is written is not what is scanned or read. */
#define WRITES_SEED (UINT64_C(1) << 32)

void writes_init(Writes *writes, uint64_t seed, const Database *database) {
        *writes = (Writes) { .database = database, .seed = seed + WRITES_SEED };
}

bool writes_work(void *context, uint64_t number) {
        const Writes *writes = context;
        const Database *d = writes->database;

        if (!database_put(d, pool_random(writes->seed, number) % d->records))
                return false;

        return (number + 1) % WRITES_BATCH != 0 || d->engine->type->settle(d->engine) >= 0;
}
