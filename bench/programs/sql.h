/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* sql-db.c: one table, its primary key the number of the record, with an index of a random number ("tag")
 * that each record has: what lies together in the index lies anywhere in the table. */
typedef struct Sql Sql;

typedef struct SqlLoadOptions {
        const char *path;
        uint64_t records;
        uint64_t value_size;
} SqlLoadOptions;

/* Makes the database, anew and in one piece. */
int sql_load(const SqlLoadOptions *options);

/* For reading; cache_pages: what SQLite keeps itself. */
int sql_open(const char *path, uint64_t cache_pages, Sql **ret);
void sql_close(Sql *sql);

uint64_t sql_records(const Sql *sql);

/* One statement each.  False: it failed, or what it gave is not what was put there. */
bool sql_look_up(Sql *sql, uint64_t record);
bool sql_scan(Sql *sql, uint64_t record, uint64_t length); /* from that record on, as the index has it */

/* sql-run.c */
typedef struct SqlRunOptions {
        const char *path;
        const char *disk;       /* block device whose counters are taken too, or NULL */
        uint64_t operations;    /* measured */
        uint64_t warmup;        /* before them, not measured */
        uint64_t scan_percent;  /* of the operations; the others are look-ups */
        uint64_t scan_length;   /* rows */
        uint64_t cache_pages;
        uint64_t seed;
        double theta;
        bool json;
} SqlRunOptions;

int sql_run(const SqlRunOptions *options);
