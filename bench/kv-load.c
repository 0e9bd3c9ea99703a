/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <string.h>

#include "bench-util.h"
#include "kv.h"
#include "pool.h"

static void report_progress(uint64_t done, uint64_t records) {
        if (records < 10 || done % (records / 10) != 0)
                return;

        fprintf(stderr, "kv: %" PRIu64 " of %" PRIu64 " records written\n", done, records);
}

/* All record numbers: one after the other, or shuffled, the same way each time. */
static uint64_t *new_order(uint64_t records, bool shuffled) {
        uint64_t *order = calloc(records, sizeof(uint64_t));

        for (uint64_t i = 0; order && i < records; i++) {
                uint64_t other = shuffled ? pool_random(0, i) % (i + 1) : i;

                order[i] = order[other];
                order[other] = i;
        }

        return order;
}

static int put_records(rocksdb_t *db, const LoadOptions *options) {
        rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
        _cleanup_free_ uint64_t *order = new_order(options->records, options->table_size > 0);
        _cleanup_free_ char *value = malloc(options->value_size), *error = NULL;
        char key[KV_KEY_SIZE + 1];

        if (!order || !value)
                return log_error(-ENOMEM, "out of memory");

        rocksdb_writeoptions_disable_WAL(write, 1);

        for (uint64_t i = 0; i < options->records && !error; i++) {
                kv_key(key, order[i]);
                kv_value(value, options->value_size, order[i]);
                rocksdb_put(db, write, key, KV_KEY_SIZE, value, options->value_size, &error);
                report_progress(i + 1, options->records);
        }

        if (!error) {
                char meta[64];

                (void) snprintf(meta, sizeof(meta), "records=%" PRIu64 " value-size=%" PRIu64,
                                options->records, options->value_size);
                rocksdb_put(db, write, KV_META_KEY, strlen(KV_META_KEY), meta, strlen(meta), &error);
        }

        rocksdb_writeoptions_destroy(write);
        if (error)
                return log_error(-EIO, "%s: cannot write: %s", options->directory, error);

        return 0;
}

/* One sorted run at the bottom: a lookup reads one data block, no more. */
static void compact_all(rocksdb_t *db) {
        rocksdb_compactoptions_t *compact = rocksdb_compactoptions_create();

        rocksdb_compactoptions_set_bottommost_level_compaction(compact, 2 /* force */);
        rocksdb_compact_range_opt(db, compact, NULL, 0, NULL, 0);
        rocksdb_compactoptions_destroy(compact);
}

/* Levels as compaction leaves them, each ten times as large as the one above: a lookup goes through all. */
static void wait_for_compaction(rocksdb_t *db, char **error) {
        rocksdb_wait_for_compact_options_t *wait = rocksdb_wait_for_compact_options_create();

        rocksdb_wait_for_compact(db, wait, error);
        rocksdb_wait_for_compact_options_destroy(wait);
}

static int flush_and_compact(rocksdb_t *db, const LoadOptions *options) {
        rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
        _cleanup_free_ char *error = NULL, *levels = NULL;

        rocksdb_flushoptions_set_wait(flush, 1);
        rocksdb_flush(db, flush, &error);
        rocksdb_flushoptions_destroy(flush);

        if (!error && options->table_size > 0)
                wait_for_compaction(db, &error);
        else if (!error)
                compact_all(db);
        if (error)
                return log_error(-EIO, "%s: cannot flush: %s", options->directory, error);

        levels = rocksdb_property_value(db, "rocksdb.levelstats");
        if (levels)
                fprintf(stderr, "%s", levels);
        return 0;
}

int kv_load(const LoadOptions *options) {
        rocksdb_options_t *db_options = kv_options_new(UINT64_C(8) << 20, 512, /* index_in_cache= */ false);
        _cleanup_free_ char *error = NULL;
        rocksdb_t *db;
        int r;

        if (!db_options)
                return -EINVAL;

        rocksdb_options_set_create_if_missing(db_options, 1);
        rocksdb_options_set_error_if_exists(db_options, 1);
        if (options->table_size > 0) {
                rocksdb_options_set_write_buffer_size(db_options, options->table_size);
                rocksdb_options_set_target_file_size_base(db_options, options->table_size);
                rocksdb_options_set_max_bytes_for_level_base(db_options, options->table_size);
        }

        db = rocksdb_open(db_options, options->directory, &error);
        rocksdb_options_destroy(db_options);
        if (error)
                return log_error(-EIO, "%s: cannot create the database: %s", options->directory, error);

        r = put_records(db, options);
        if (r >= 0)
                r = flush_and_compact(db, options);
        rocksdb_close(db);
        return r;
}
