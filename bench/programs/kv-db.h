/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kv-engine.h"

/* The engine of that name; NULL, after it was said, if there is none. */
const EngineType *engine_find(const char *name);

/* Refuses a directory with a database of another engine. */
int engine_open(const EngineType *type, const char *directory, const EngineOptions *options, Engine **ret);

/* An open database that "kv load" made. */
typedef struct Database {
        Engine *engine;
        uint64_t records;       /* that were loaded; the load may have added others */
        uint64_t value_size;
} Database;

int database_open(const EngineType *type, const char *directory, const EngineOptions *options,
                  Database *ret);
void database_close(Database *d);

/* All of the following may be called by many threads.  False: not found, or not what the loader or an update
 * must have written. */
bool database_get(const Database *d, uint64_t record);
bool database_put(const Database *d, uint64_t record);

/* So many records from one on, or to the last record; each must be right, and of those that were loaded none
 * may be missing. */
bool database_scan(const Database *d, uint64_t first, uint64_t length);
