/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kv.h"

/* What the loads need of a key-value store, and nothing of its own kind: there are RocksDB, which reads its
 * tables by pread(2), LevelDB, which maps them, and LMDB, which maps its tree.  An engine is shared by all
 * threads. */
typedef struct Engine Engine;

typedef struct EngineOptions {
        uint64_t block_cache;   /* bytes of the engine's own cache: what is measured is the kernel's */
        uint64_t open_files;    /* tables that are open at a time; 0: all */
        uint64_t write_buffer;  /* bytes of writes that are collected before they become a table */
        uint64_t table_size;    /* of a database that is made with levels; else 0 */
        bool index_in_cache;    /* see options_new() in kv-rocksdb.c */
        bool unaligned;         /* of a database that is made: see LoadOptions */
        bool readahead;         /* the kernel may read ahead in tables that are read by pread(2) */
        bool writable;
        bool create;            /* a database that must not be there yet; implies writable */
} EngineOptions;

/* A record that was found; false: enough. */
typedef bool (*EngineVisit)(void *context, const char *key, size_t key_size, const char *value, size_t size);

typedef struct EngineType {
        const char *name;       /* of --engine= */
        const char *title;
        uint64_t open_files_min;

        /* Says what is wrong and returns -errno, like all that return an int. */
        int (*open)(const char *directory, const EngineOptions *options, Engine **ret);
        void (*close)(Engine *e);

        /* Whether the key was found and what visit() says to its record. */
        bool (*get)(Engine *e, const char *key, size_t key_size, EngineVisit visit, void *context);
        int (*put)(Engine *e, const char *key, size_t key_size, const char *value, size_t size);
        /* All records from the key on, in their order, until visit() has enough.  False: cannot be read. */
        bool (*scan)(Engine *e, const char *key, size_t key_size, EngineVisit visit, void *context);

        /* Waits until there is nothing left to compact. */
        int (*settle)(Engine *e);
        /* Writes and merges all: one sorted run, where a look-up reads one table. */
        int (*merge)(Engine *e);
        /* The tables and bytes of its levels, as the engine prints them; to be freed, or NULL. */
        char *(*levels)(Engine *e);

        /* Fills a new database level by level; NULL, if it has a reason against levels. */
        int (*load_levels)(Engine *e, const LoadOptions *options);
        /* Why the engine cannot have levels that stay, a database open twice, EngineOptions.index_in_cache,
         * or a choice where blocks begin; NULL: it can. */
        const char *no_levels, *no_second_handle, *no_index_in_cache, *no_unaligned;
} EngineType;

/* What an implementation's own structure begins with. */
struct Engine {
        const EngineType *type;
};

extern const EngineType engine_rocksdb;
extern const EngineType engine_leveldb;
extern const EngineType engine_lmdb;
