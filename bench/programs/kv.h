/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

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

struct EngineType;

typedef struct LoadOptions {
        const struct EngineType *engine;
        const char *directory;
        uint64_t records;
        uint64_t value_size;
        uint64_t table_size;    /* of a tree of levels; 0: one sorted run */
        bool index_in_cache;    /* tables are made for that */
        bool unaligned;         /* a block begins where the last one ends, and spans two pages */
} LoadOptions;

int kv_load(const LoadOptions *options);

/* The value of KV_META_KEY.  Returns its length. */
size_t kv_meta(char ret[static KV_META_SIZE], const LoadOptions *options);

void kv_key(char ret[static KV_KEY_SIZE + 1], uint64_t record);
void kv_value(char *ret, size_t size, uint64_t record);

/* The number of the record with this key; false: not the key of a record. */
bool kv_record(const char *key, size_t size, uint64_t *ret);
