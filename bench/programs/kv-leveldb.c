/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <leveldb/c.h>
#include <string.h>
#include <unistd.h>

#include "bench-util.h"
#include "kv-engine.h"

/* LevelDB as it is distributed: it maps its tables, the first thousand of them, and takes indexes and blocks
 * from there at each look-up.  Its block cache is then not used, and reads are faults or nothing at all. */

/* Level 0 is compacted when it has so many tables (config::kL0_CompactionTrigger). */
#define LEVEL0_TRIGGER 4

/* When a database is filled: tables become no greater than LevelDB cuts them, and so remain as they are. */
#define LOAD_BUFFER (UINT64_C(2) << 20)

typedef struct LevelEngine {
        Engine engine;
        leveldb_t *db;
        leveldb_options_t *options;
        leveldb_cache_t *cache;
        leveldb_readoptions_t *read;
        leveldb_writeoptions_t *write;
} LevelEngine;

static LevelEngine *level_engine(Engine *e) {
        return (LevelEngine *) e;
}

static void level_close(Engine *e) {
        LevelEngine *level = level_engine(e);

        if (level->db)
                leveldb_close(level->db);
        leveldb_options_destroy(level->options);
        leveldb_cache_destroy(level->cache);
        leveldb_readoptions_destroy(level->read);
        leveldb_writeoptions_destroy(level->write);
        free(level);
}

static int level_open(const char *directory, const EngineOptions *options, Engine **ret) {
        LevelEngine *level = calloc(1, sizeof(LevelEngine));
        _cleanup_free_ char *error = NULL;

        if (!level)
                return log_error(-ENOMEM, "out of memory");

        *level = (LevelEngine) {
                .engine.type = &engine_leveldb,
                .options = leveldb_options_create(),
                .cache = leveldb_cache_create_lru(options->block_cache),
                .read = leveldb_readoptions_create(),
                .write = leveldb_writeoptions_create(),
        };
        leveldb_options_set_compression(level->options, leveldb_no_compression);
        leveldb_options_set_cache(level->options, level->cache);
        leveldb_options_set_write_buffer_size(level->options,
                                              options->create ? LOAD_BUFFER : options->write_buffer);
        if (options->open_files > 0)
                leveldb_options_set_max_open_files(level->options, (int) options->open_files);
        leveldb_options_set_create_if_missing(level->options, options->create);
        leveldb_options_set_error_if_exists(level->options, options->create);

        level->db = leveldb_open(level->options, directory, &error);
        if (error) {
                level_close(&level->engine);
                return log_error(-EIO, "%s: cannot %s the database: %s%s", directory,
                                 options->create ? "create" : "open", error,
                                 options->create ? "" : " (LevelDB writes to the directory, even to read)");
        }

        *ret = &level->engine;
        return 0;
}

static bool level_get(Engine *e, const char *key, size_t key_size, EngineVisit visit, void *context) {
        _cleanup_free_ char *error = NULL, *value = NULL;
        size_t size;

        value = leveldb_get(level_engine(e)->db, level_engine(e)->read, key, key_size, &size, &error);
        return value && visit(context, key, key_size, value, size);
}

static int level_put(Engine *e, const char *key, size_t key_size, const char *value, size_t size) {
        _cleanup_free_ char *error = NULL;

        leveldb_put(level_engine(e)->db, level_engine(e)->write, key, key_size, value, size, &error);
        return error ? log_error(-EIO, "cannot write: %s", error) : 0;
}

static bool level_scan(Engine *e, const char *first, size_t first_size, EngineVisit visit, void *context) {
        leveldb_iterator_t *it = leveldb_create_iterator(level_engine(e)->db, level_engine(e)->read);
        _cleanup_free_ char *error = NULL;
        bool more = true;

        for (leveldb_iter_seek(it, first, first_size); leveldb_iter_valid(it);) {
                size_t key_size, size;
                const char *key = leveldb_iter_key(it, &key_size), *value = leveldb_iter_value(it, &size);

                more = visit(context, key, key_size, value, size);
                if (!more)
                        break;
                leveldb_iter_next(it);
        }

        leveldb_iter_get_error(it, &error);
        leveldb_iter_destroy(it);
        return !error;
}

/* LevelDB does not tell when it has done all; what is still due can be seen from level 0 alone, as the loads
 * do not write so much that a deeper level would grow over its limit. */
static int level_settle(Engine *e) {
        for (;;) {
                _cleanup_free_ char *tables = leveldb_property_value(level_engine(e)->db,
                                                                     "leveldb.num-files-at-level0");

                if (!tables)
                        return log_error(-EIO, "LevelDB does not tell its number of tables");
                if (atoi(tables) < LEVEL0_TRIGGER)
                        return 0;
                (void) usleep(1000);
        }
}

static int level_merge(Engine *e) {
        leveldb_compact_range(level_engine(e)->db, NULL, 0, NULL, 0);
        return 0;
}

static char *level_levels(Engine *e) {
        return leveldb_property_value(level_engine(e)->db, "leveldb.stats");
}

const EngineType engine_leveldb = {
        .name = "leveldb",
        .title = "LevelDB",
        .open_files_min = 74,   /* below, it takes that without a word */
        .open = level_open,
        .close = level_close,
        .get = level_get,
        .put = level_put,
        .scan = level_scan,
        .settle = level_settle,
        .merge = level_merge,
        .levels = level_levels,
        .no_levels = "it merges levels when look-ups go through several of them",
        .no_second_handle = "it lets a database be open once",
        .no_index_in_cache = "its indexes are always read like its data",
        .no_unaligned = "its blocks always begin where the last one ends",
};
