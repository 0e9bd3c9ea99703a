/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <string.h>

#include "bench-util.h"
#include "kv-rocksdb.h"

/* Small tables, as the database is small; with 4 KiB blocks a table of 8 MiB has an index of some 50 KiB. */
#define TABLE_SIZE (UINT64_C(8) << 20)

/* The options are NULL when RocksDB refuses them (and that was said).  With index_in_cache the indexes of
 * the tables, too, are read from the file when RocksDB's cache does not hold them, and new tables have
 * theirs in two parts; else they are read once, when the table is opened. */
static rocksdb_options_t *options_new(const EngineOptions *wanted) {
        /* As LevelDB looks a key up in a table that is not open any more: it reads the footer, the index and
         * one block.  Here an index has two parts, each read by itself, and keys of its own in place of
         * shortened ones, with which some look-ups would read a block and then the next. */
        static const char in_cache[] = "cache_index_and_filter_blocks=true;"
                                       "pin_top_level_index_and_filter=false;"
                                       "index_type=kTwoLevelIndexSearch;metadata_block_size=4096;"
                                       "index_shortening=kNoShortening;";
        rocksdb_options_t *plain = rocksdb_options_create(), *options = rocksdb_options_create();
        _cleanup_free_ char *error = NULL;
        char text[512];

        /* Everything the database reads shall come from the page cache by pread(2): the cache under test is
         * the kernel's, RocksDB's own holds next to nothing.  A block is one page, and starts where a page
         * starts, so that one block read is one page looked up, unless the database is made otherwise; the
         * C API knows block_align only by name.  Tables are not compacted for their
         * age: the data may be older than the machine's clock says. */
        (void) snprintf(text, sizeof(text),
                        "ttl=0;periodic_compaction_seconds=0;block_based_table_factory="
                        "{block_size=4096;block_align=%s;block_cache=%" PRIu64 ";%s}",
                        wanted->unaligned ? "false" : "true", wanted->block_cache,
                        wanted->index_in_cache ? in_cache : "");
        rocksdb_get_options_from_string(plain, text, options, &error);
        rocksdb_options_destroy(plain);
        if (error) {
                rocksdb_options_destroy(options);
                return log_error(NULL, "RocksDB refuses the options \"%s\": %s", text, error);
        }

        rocksdb_options_set_allow_mmap_reads(options, 0);
        rocksdb_options_set_advise_random_on_open(options, 1);
        rocksdb_options_set_compression(options, rocksdb_no_compression);
        rocksdb_options_set_target_file_size_base(options, TABLE_SIZE);
        /* sizes of levels that stay, as LevelDB's: else the first write makes RocksDB empty upper ones */
        rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 0);
        rocksdb_options_set_max_open_files(options, wanted->open_files > 0 ? (int) wanted->open_files : -1);

        /* No background work that would read or write in the middle of a measurement. */
        rocksdb_options_set_stats_dump_period_sec(options, 0);
        rocksdb_options_set_stats_persist_period_sec(options, 0);
        rocksdb_options_set_skip_stats_update_on_db_open(options, 1);
        rocksdb_options_set_skip_checking_sst_file_sizes_on_db_open(options, 1);

        return options;
}

/* In proportion to a small database in little memory.  RocksDB's own sizes are 64 MiB for the buffer and
 * four times that for the first level; smaller alike, they give as many levels. */
static void prepare_writes(rocksdb_options_t *o, uint64_t write_buffer) {
        rocksdb_options_set_write_buffer_size(o, write_buffer);
        rocksdb_options_set_max_bytes_for_level_base(o, write_buffer * 4);
        rocksdb_options_set_target_file_size_base(o, write_buffer);
        /* RocksDB's 2 MiB are more than a small cache can wait with; this is the kernel's own */
        rocksdb_options_compaction_readahead_size(o, UINT64_C(128) << 10);
}

static void prepare_creation(rocksdb_options_t *o, uint64_t table_size) {
        rocksdb_options_set_create_if_missing(o, 1);
        rocksdb_options_set_error_if_exists(o, 1);
        if (table_size > 0) {
                /* each level where it is put: no compaction, and levels that do not depend on sizes */
                rocksdb_options_set_disable_auto_compactions(o, 1);
                rocksdb_options_set_target_file_size_base(o, table_size);
        }
}

static void rocks_close(Engine *e) {
        RocksEngine *rocks = rocks_engine(e);

        if (rocks->db)
                rocksdb_close(rocks->db);
        rocksdb_options_destroy(rocks->options);
        rocksdb_readoptions_destroy(rocks->read);
        rocksdb_writeoptions_destroy(rocks->write);
        free(rocks);
}

static int rocks_open(const char *directory, const EngineOptions *options, Engine **ret) {
        rocksdb_options_t *o = options_new(options);
        bool writable = options->writable || options->create;
        _cleanup_free_ char *error = NULL;
        RocksEngine *rocks;

        if (!o)
                return -EINVAL;
        rocks = calloc(1, sizeof(RocksEngine));
        if (!rocks) {
                rocksdb_options_destroy(o);
                return log_error(-ENOMEM, "out of memory");
        }

        *rocks = (RocksEngine) {
                .engine.type = &engine_rocksdb,
                .options = o,
                .read = rocksdb_readoptions_create(),
                .write = rocksdb_writeoptions_create(),
        };
        /* values are checked here, and summing up each block is work that LevelDB does not do either */
        rocksdb_readoptions_set_verify_checksums(rocks->read, 0);
        rocksdb_writeoptions_disable_WAL(rocks->write, options->create);
        if (options->readahead)
                rocksdb_options_set_advise_random_on_open(o, 0);
        if (options->create)
                prepare_creation(o, options->table_size);
        else if (options->writable)
                prepare_writes(o, options->write_buffer);

        rocks->db = writable ? rocksdb_open(o, directory, &error)
                             : rocksdb_open_for_read_only(o, directory, 0, &error);
        if (error) {
                rocks_close(&rocks->engine);
                return log_error(-EIO, "%s: cannot %s the database: %s", directory,
                                 options->create ? "create" : "open", error);
        }

        *ret = &rocks->engine;
        return 0;
}

static bool rocks_get(Engine *e, const char *key, size_t key_size, EngineVisit visit, void *context) {
        rocksdb_pinnableslice_t *slice;
        _cleanup_free_ char *error = NULL;
        const char *value;
        size_t size;
        bool good;

        slice = rocksdb_get_pinned(rocks_engine(e)->db, rocks_engine(e)->read, key, key_size, &error);
        if (!slice)
                return false;

        value = rocksdb_pinnableslice_value(slice, &size);
        good = value && visit(context, key, key_size, value, size);
        rocksdb_pinnableslice_destroy(slice);
        return good;
}

static int rocks_put(Engine *e, const char *key, size_t key_size, const char *value, size_t size) {
        _cleanup_free_ char *error = NULL;

        rocksdb_put(rocks_engine(e)->db, rocks_engine(e)->write, key, key_size, value, size, &error);
        return error ? log_error(-EIO, "cannot write: %s", error) : 0;
}

static bool rocks_scan(Engine *e, const char *first, size_t first_size, EngineVisit visit, void *context) {
        rocksdb_iterator_t *it = rocksdb_create_iterator(rocks_engine(e)->db, rocks_engine(e)->read);
        _cleanup_free_ char *error = NULL;
        bool more = true;

        for (rocksdb_iter_seek(it, first, first_size); rocksdb_iter_valid(it);) {
                size_t key_size, size;
                const char *key = rocksdb_iter_key(it, &key_size), *value = rocksdb_iter_value(it, &size);

                more = visit(context, key, key_size, value, size);
                if (!more)
                        break;
                rocksdb_iter_next(it);
        }

        rocksdb_iter_get_error(it, &error);
        rocksdb_iter_destroy(it);
        return !error;
}

static int rocks_settle(Engine *e) {
        rocksdb_wait_for_compact_options_t *options = rocksdb_wait_for_compact_options_create();
        _cleanup_free_ char *error = NULL;

        rocksdb_wait_for_compact(rocks_engine(e)->db, options, &error);
        rocksdb_wait_for_compact_options_destroy(options);
        return error ? log_error(-EIO, "cannot compact: %s", error) : 0;
}

static int rocks_merge(Engine *e) {
        rocksdb_compactoptions_t *compact = rocksdb_compactoptions_create();
        rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
        _cleanup_free_ char *error = NULL;

        rocksdb_flushoptions_set_wait(flush, 1);
        rocksdb_flush(rocks_engine(e)->db, flush, &error);
        if (!error) {
                rocksdb_compactoptions_set_bottommost_level_compaction(compact, 2 /* force */);
                rocksdb_compact_range_opt(rocks_engine(e)->db, compact, NULL, 0, NULL, 0);
        }

        rocksdb_compactoptions_destroy(compact);
        rocksdb_flushoptions_destroy(flush);
        return error ? log_error(-EIO, "cannot flush: %s", error) : 0;
}

static char *rocks_levels(Engine *e) {
        return rocksdb_property_value(rocks_engine(e)->db, "rocksdb.levelstats");
}

const EngineType engine_rocksdb = {
        .name = "rocksdb",
        .title = "RocksDB",
        .open = rocks_open,
        .close = rocks_close,
        .get = rocks_get,
        .put = rocks_put,
        .scan = rocks_scan,
        .settle = rocks_settle,
        .merge = rocks_merge,
        .levels = rocks_levels,
        .load_levels = rocks_load_levels,
};
