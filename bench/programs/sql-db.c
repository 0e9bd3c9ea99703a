/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "bench-util.h"
#include "kv.h"
#include "random.h"
#include "sql-db.h"

#define TAGS (UINT64_C(1) << 31)

struct Sql {
        sqlite3 *db;
        sqlite3_stmt *look_up, *scan;
        uint64_t records;
        size_t value_size;
        char *expected; /* room for a value */
};

static int sql_error(sqlite3 *db, const char *path, const char *what) {
        return log_error(-EIO, "%s: %s: %s", path, what, sqlite3_errmsg(db));
}

static uint64_t tag_of(uint64_t record) {
        Random random;

        random_seed(&random, record);
        return random_below(&random, TAGS);
}

static int insert_records(sqlite3 *db, const char *path, uint64_t records, size_t value_size) {
        _cleanup_free_ char *value = malloc(value_size);
        sqlite3_stmt *insert = NULL;
        int r;

        if (!value)
                return log_error(-ENOMEM, "out of memory");

        r = sqlite3_prepare_v2(db, "INSERT INTO records VALUES (?1, ?2, ?3)", -1, &insert, NULL);
        for (uint64_t i = 0; i < records && r == SQLITE_OK; i++) {
                kv_value(value, value_size, i);
                (void) sqlite3_bind_int64(insert, 1, (sqlite3_int64) i);
                (void) sqlite3_bind_int64(insert, 2, (sqlite3_int64) tag_of(i));
                (void) sqlite3_bind_text(insert, 3, value, (int) value_size, SQLITE_STATIC);
                (void) sqlite3_step(insert);
                r = sqlite3_reset(insert);
        }
        (void) sqlite3_finalize(insert);

        return r == SQLITE_OK ? 0 : sql_error(db, path, "cannot insert records");
}

static int fill(sqlite3 *db, const char *path, uint64_t records, size_t value_size) {
        int r;

        /* A page of the database is one of the page cache; and nothing has to survive a crash. */
        if (sqlite3_exec(db, "PRAGMA page_size = 4096;"
                             "PRAGMA journal_mode = off;"
                             "PRAGMA synchronous = off;"
                             "BEGIN;"
                             "CREATE TABLE records (id INTEGER PRIMARY KEY, tag INTEGER NOT NULL, "
                             "value TEXT NOT NULL)", NULL, NULL, NULL) != SQLITE_OK)
                return sql_error(db, path, "cannot make the table");

        r = insert_records(db, path, records, value_size);
        if (r < 0)
                return r;

        if (sqlite3_exec(db, "CREATE INDEX records_tag ON records (tag); COMMIT", NULL, NULL,
                         NULL) != SQLITE_OK)
                return sql_error(db, path, "cannot make the index");
        return 0;
}

int sql_load(const char *path, uint64_t records, size_t value_size) {
        sqlite3 *db = NULL;
        int r;

        if (access(path, F_OK) >= 0)
                return log_error(-EEXIST, "%s: there is a file already", path);

        if (sqlite3_open(path, &db) == SQLITE_OK)
                r = fill(db, path, records, value_size);
        else
                r = sql_error(db, path, "cannot be made");

        if (sqlite3_close(db) != SQLITE_OK && r >= 0)
                r = sql_error(db, path, "cannot be closed");
        return r;
}

/* How many records there are, and how large. */
static int measure_records(Sql *sql, const char *path) {
        sqlite3_stmt *last = NULL;
        int r = 0;

        if (sqlite3_prepare_v2(sql->db, "SELECT id, length(value) FROM records ORDER BY id DESC LIMIT 1", -1,
                               &last, NULL) != SQLITE_OK || sqlite3_step(last) != SQLITE_ROW)
                r = log_error(-EINVAL, "%s: not a database of \"%s load\": %s", path,
                              program_invocation_short_name, sqlite3_errmsg(sql->db));
        else {
                sql->records = (uint64_t) sqlite3_column_int64(last, 0) + 1;
                sql->value_size = (size_t) sqlite3_column_int64(last, 1);
        }
        (void) sqlite3_finalize(last);

        return r;
}

static int prepare(Sql *sql, const char *path, uint64_t cache_pages) {
        char settings[64];
        int r;

        (void) snprintf(settings, sizeof(settings), "PRAGMA mmap_size = 0; PRAGMA cache_size = %" PRIu64,
                        cache_pages);
        if (sqlite3_exec(sql->db, settings, NULL, NULL, NULL) != SQLITE_OK)
                return sql_error(sql->db, path, settings);

        r = measure_records(sql, path);
        if (r < 0)
                return r;

        sql->expected = malloc(sql->value_size);
        if (!sql->expected)
                return log_error(-ENOMEM, "out of memory");

        if (sqlite3_prepare_v2(sql->db, "SELECT value FROM records WHERE id = ?1", -1, &sql->look_up,
                               NULL) != SQLITE_OK ||
            sqlite3_prepare_v2(sql->db, "SELECT value, id, tag FROM records INDEXED BY records_tag "
                               "WHERE tag >= ?1 ORDER BY tag LIMIT ?2", -1, &sql->scan, NULL) != SQLITE_OK)
                return sql_error(sql->db, path, "cannot prepare");
        return 0;
}

int sql_open(const char *path, uint64_t cache_pages, Sql **ret) {
        Sql *sql = calloc(1, sizeof(Sql));
        int r;

        if (!sql)
                return log_error(-ENOMEM, "out of memory");

        if (sqlite3_open_v2(path, &sql->db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
                r = prepare(sql, path, cache_pages);
        else
                r = sql_error(sql->db, path, "cannot be read");
        if (r < 0) {
                sql_close(sql);
                return r;
        }

        *ret = sql;
        return 0;
}

void sql_close(Sql *sql) {
        if (!sql)
                return;

        (void) sqlite3_finalize(sql->look_up);
        (void) sqlite3_finalize(sql->scan);
        (void) sqlite3_close(sql->db);
        free(sql->expected);
        free(sql);
}

uint64_t sql_records(const Sql *sql) {
        return sql->records;
}

/* The first column of the present row. */
static bool value_is(Sql *sql, sqlite3_stmt *statement, uint64_t record) {
        const char *value = (const char *) sqlite3_column_text(statement, 0);

        kv_value(sql->expected, sql->value_size, record);
        return value && (size_t) sqlite3_column_bytes(statement, 0) == sql->value_size &&
                memcmp(value, sql->expected, sql->value_size) == 0;
}

bool sql_look_up(Sql *sql, uint64_t record) {
        bool good;

        (void) sqlite3_bind_int64(sql->look_up, 1, (sqlite3_int64) record);
        good = sqlite3_step(sql->look_up) == SQLITE_ROW && value_is(sql, sql->look_up, record);
        return sqlite3_reset(sql->look_up) == SQLITE_OK && good;
}

bool sql_scan(Sql *sql, uint64_t record, uint64_t length) {
        uint64_t tag = tag_of(record);
        bool good = true, found = false;
        int r;

        (void) sqlite3_bind_int64(sql->scan, 1, (sqlite3_int64) tag);
        (void) sqlite3_bind_int64(sql->scan, 2, (sqlite3_int64) length);
        while ((r = sqlite3_step(sql->scan)) == SQLITE_ROW) {
                uint64_t id = (uint64_t) sqlite3_column_int64(sql->scan, 1);
                uint64_t now = (uint64_t) sqlite3_column_int64(sql->scan, 2);

                good = good && now >= tag && value_is(sql, sql->scan, id);
                found = found || id == record;
                tag = now;
        }
        return sqlite3_reset(sql->scan) == SQLITE_OK && r == SQLITE_DONE && good && found;
}
