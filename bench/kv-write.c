/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bench-util.h"
#include "kv-write.h"
#include "pool.h"

/* Compaction keeps up with the updates: after so many, these wait until nothing is left to compact. */
#define WRITES_BATCH 64

/* What is written is not what is scanned or read. */
#define WRITES_SEED (UINT64_C(1) << 32)

rocksdb_options_t *writes_options(const ReadOptions *options) {
        rocksdb_options_t *o = kv_options_new(options->block_cache, options->open_files,
                                              options->index_in_cache);

        if (!o)
                return NULL;

        /* In proportion to a small database in little memory.  RocksDB's own sizes are 64 MiB for the buffer
         * and four times that for the first level; smaller alike, they give as many levels. */
        rocksdb_options_set_write_buffer_size(o, options->write_buffer);
        rocksdb_options_set_max_bytes_for_level_base(o, options->write_buffer * 4);
        rocksdb_options_set_target_file_size_base(o, options->write_buffer);
        /* RocksDB's 2 MiB are more than a small cache can wait with; this is the kernel's own */
        rocksdb_options_compaction_readahead_size(o, UINT64_C(128) << 10);
        return o;
}

void writes_init(Writes *writes, const ReadOptions *options, const Database *database) {
        *writes = (Writes) {
                .database = database,
                .write = rocksdb_writeoptions_create(),
                .seed = options->seed + WRITES_SEED,
        };
}

void writes_done(Writes *writes) {
        rocksdb_writeoptions_destroy(writes->write);
}

static bool wait_for_compaction(const Writes *writes) {
        rocksdb_wait_for_compact_options_t *options = rocksdb_wait_for_compact_options_create();
        _cleanup_free_ char *error = NULL;

        rocksdb_wait_for_compact(writes->database->db, options, &error);
        rocksdb_wait_for_compact_options_destroy(options);
        return error ? log_error(false, "cannot compact: %s", error) : true;
}

bool writes_work(void *context, uint64_t number) {
        /* Nothing is compressed: only that part of the value that reads check has to have a content. */
        static _Thread_local char value[KV_VALUE_MAX];
        const Writes *writes = context;
        uint64_t record = pool_random(writes->seed, number) % writes->database->records;
        _cleanup_free_ char *error = NULL;
        char key[KV_KEY_SIZE + 1];

        kv_key(key, record);
        kv_value(value, KV_VALUE_MIN, record);
        rocksdb_put(writes->database->db, writes->write, key, KV_KEY_SIZE,
                    value, writes->database->value_size, &error);
        if (error)
                return log_error(false, "cannot write: %s", error);

        return (number + 1) % WRITES_BATCH != 0 || wait_for_compaction(writes);
}
