/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A record's key is "user" and the record number in 12 digits, as YCSB's ordered keys; its value is text
 * made from the record number, so that every read can be checked.  One further key tells how the
 * database was made. */
#define KV_KEY_SIZE 16U
#define KV_META_KEY "~kv-meta"
#define KV_META_SIZE 64U
#define KV_VALUE_MIN 16U
#define KV_VALUE_MAX (1U << 16)

typedef struct LoadOptions {
        const char *directory;
        uint64_t records;
        uint64_t value_size;
        uint64_t table_size;    /* of a tree of levels; 0: one sorted run */
        bool index_in_cache;    /* tables are made for that, see kv_options_new() */
} LoadOptions;

int kv_load(const LoadOptions *options);

/* Four levels, each a tenth of the one below and with keys from all over the range, as a tree has them that
 * records were added to in random order for long; the same each time, which compaction in the background
 * would not leave behind.  The database is empty, without compactions and with levels of fixed places. */
int kv_load_levels(rocksdb_t *db, const rocksdb_options_t *db_options, const LoadOptions *options);

/* The value of KV_META_KEY.  Returns its length. */
size_t kv_meta(char ret[static KV_META_SIZE], const LoadOptions *options);

/* Shared by all verbs; the options are NULL when RocksDB refuses them (and that was said).  With
 * index_in_cache the indexes of the tables, too, are read from the file when RocksDB's cache does not hold
 * them, and new tables have theirs in two parts; else they are read once, when the table is opened. */
rocksdb_options_t *kv_options_new(uint64_t block_cache, uint64_t open_files, bool index_in_cache);
void kv_key(char ret[static KV_KEY_SIZE + 1], uint64_t record);
void kv_value(char *ret, size_t size, uint64_t record);
