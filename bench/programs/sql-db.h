/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One table, its primary key the number of the record, with an index of a random number ("tag") that each
 * record has: what lies together in the index lies anywhere in the table. */
typedef struct Sql Sql;

/* Makes the database, anew and in one piece. */
int sql_load(const char *path, uint64_t records, size_t value_size);

/* For reading; cache_pages: what SQLite keeps itself. */
int sql_open(const char *path, uint64_t cache_pages, Sql **ret);
void sql_close(Sql *sql);

uint64_t sql_records(const Sql *sql);

/* One statement each.  False: it failed, or what it gave is not what was put there. */
bool sql_look_up(Sql *sql, uint64_t record);
bool sql_scan(Sql *sql, uint64_t record, uint64_t length); /* from that record on, as the index has it */
