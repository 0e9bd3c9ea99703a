/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <string.h>

#include "bench-util.h"
#include "kv.h"

static void report_progress(uint64_t done, uint64_t records) {
        if (records < 10 || done % (records / 10) != 0)
                return;

        fprintf(stderr, "kv: %" PRIu64 " of %" PRIu64 " records written\n", done, records);
}

static int put_records(rocksdb_t *db, const LoadOptions *options) {
        rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
        _cleanup_free_ char *value = malloc(options->value_size), *error = NULL;
        char key[KV_KEY_SIZE + 1], meta[KV_META_SIZE];

        if (!value)
                return log_error(-ENOMEM, "out of memory");

        rocksdb_writeoptions_disable_WAL(write, 1);

        for (uint64_t i = 0; i < options->records && !error; i++) {
                kv_key(key, i);
                kv_value(value, options->value_size, i);
                rocksdb_put(db, write, key, KV_KEY_SIZE, value, options->value_size, &error);
                report_progress(i + 1, options->records);
        }

        if (!error)
                rocksdb_put(db, write, KV_META_KEY, strlen(KV_META_KEY), meta, kv_meta(meta, options),
                            &error);

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

static int flush_and_compact(rocksdb_t *db, const LoadOptions *options) {
        rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
        _cleanup_free_ char *error = NULL;

        rocksdb_flushoptions_set_wait(flush, 1);
        rocksdb_flush(db, flush, &error);
        rocksdb_flushoptions_destroy(flush);
        if (error)
                return log_error(-EIO, "%s: cannot flush: %s", options->directory, error);

        compact_all(db);
        return 0;
}

static int load_one_run(rocksdb_t *db, const LoadOptions *options) {
        int r = put_records(db, options);

        return r < 0 ? r : flush_and_compact(db, options);
}

static void show_levels(rocksdb_t *db) {
        _cleanup_free_ char *levels = rocksdb_property_value(db, "rocksdb.levelstats");

        if (levels)
                fprintf(stderr, "%s", levels);
}

int kv_load(const LoadOptions *options) {
        rocksdb_options_t *db_options = kv_options_new(UINT64_C(8) << 20, 512, options->index_in_cache);
        _cleanup_free_ char *error = NULL;
        rocksdb_t *db;
        int r;

        if (!db_options)
                return -EINVAL;

        rocksdb_options_set_create_if_missing(db_options, 1);
        rocksdb_options_set_error_if_exists(db_options, 1);
        if (options->table_size > 0) {
                /* each level where it is put: no compaction, and levels that do not depend on sizes */
                rocksdb_options_set_disable_auto_compactions(db_options, 1);
                rocksdb_options_set_level_compaction_dynamic_level_bytes(db_options, 0);
                rocksdb_options_set_target_file_size_base(db_options, options->table_size);
        }

        db = rocksdb_open(db_options, options->directory, &error);
        if (error)
                r = log_error(-EIO, "%s: cannot create the database: %s", options->directory, error);
        else if (options->table_size > 0)
                r = kv_load_levels(db, db_options, options);
        else
                r = load_one_run(db, options);
        if (r >= 0)
                show_levels(db);
        if (db)
                rocksdb_close(db);
        rocksdb_options_destroy(db_options);
        return r;
}
