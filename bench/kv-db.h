/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kv.h"

/* An open database that "kv load" made. */
typedef struct Database {
        rocksdb_t *db;
        rocksdb_readoptions_t *read;
        uint64_t records;
        uint64_t value_size;
} Database;

/* Takes the options, also when it fails; NULL options, which were refused, are an error. */
int database_open(const char *directory, rocksdb_options_t *options, bool writable, Database *ret);
void database_close(Database *d);

/* Is this what the loader, or an update, must have written for the record? */
bool database_value_good(const Database *d, uint64_t record, const char *value, size_t size);

/* Looks one record up and checks it.  May be called by many threads. */
bool database_get(const Database *d, uint64_t record);
