/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "bench-util.h"
#include "kv-db.h"

const EngineType *engine_find(const char *name) {
        static const EngineType *const engines[] = { &engine_rocksdb, &engine_leveldb, &engine_lmdb };

        for (size_t i = 0; i < sizeof(engines) / sizeof(*engines); i++)
                if (strcmp(name, engines[i]->name) == 0)
                        return engines[i];
        return log_error(NULL, "--engine=%s: rocksdb, leveldb or lmdb", name);
}

static bool has_file(const char *directory, const char *name) {
        _cleanup_free_ char *path = NULL;

        return asprintf(&path, "%s/%s", directory, name) >= 0 && access(path, F_OK) == 0;
}

/* RocksDB and LevelDB have a file CURRENT, and would begin to repair what the other one wrote. Only
 * databases of RocksDB have an identity. */
static const char *engine_of(const char *directory) {
        if (has_file(directory, "data.mdb"))
                return "lmdb";
        if (!has_file(directory, "CURRENT"))
                return NULL;
        return has_file(directory, "IDENTITY") ? "rocksdb" : "leveldb";
}

int engine_open(const EngineType *type, const char *directory, const EngineOptions *options, Engine **ret) {
        const char *there = engine_of(directory);

        if (options->create && there)
                return log_error(-EEXIST, "%s: there is a database already, of --engine=%s",
                                 directory, there);
        if (!options->create && !there)
                return log_error(-ENOENT, "%s: not a database, \"kv load\" makes one", directory);
        if (!options->create && strcmp(there, type->name) != 0)
                return log_error(-EINVAL, "%s: a database of another engine, open it with --engine=%s",
                                 directory, there);

        return type->open(directory, options, ret);
}

static bool parse_meta(void *context, const char *key, size_t key_size, const char *value, size_t size) {
        Database *d = context;
        char text[KV_META_SIZE];

        (void) snprintf(text, sizeof(text), "%.*s", (int) size, value);
        return sscanf(text, "records=%" SCNu64 " value-size=%" SCNu64, &d->records, &d->value_size) == 2;
}

static int read_meta(const char *directory, Database *d) {
        if (!d->engine->type->get(d->engine, KV_META_KEY, strlen(KV_META_KEY), parse_meta, d))
                return log_error(-EINVAL, "%s: not a database made by \"kv load\"", directory);
        if (d->records < 2 || d->value_size < KV_VALUE_MIN || d->value_size > KV_VALUE_MAX)
                return log_error(-EINVAL, "%s: strange database: %" PRIu64 " records of %" PRIu64 " bytes",
                                 directory, d->records, d->value_size);

        return 0;
}

int database_open(const EngineType *type, const char *directory, const EngineOptions *options,
                  Database *ret) {
        Database d = {};
        int r;

        r = engine_open(type, directory, options, &d.engine);
        if (r < 0)
                return r;

        r = read_meta(directory, &d);
        if (r < 0) {
                database_close(&d);
                return r;
        }

        *ret = d;
        return 0;
}

void database_close(Database *d) {
        if (d->engine)
                d->engine->type->close(d->engine);
        d->engine = NULL;
}

static bool value_good(const Database *d, uint64_t record, const char *value, size_t size) {
        char expected[KV_VALUE_MIN];

        kv_value(expected, sizeof(expected), record);
        return size == d->value_size && memcmp(value, expected, sizeof(expected)) == 0;
}

typedef struct Visit {
        const Database *database;
        uint64_t record;        /* the next one, as far as all are there */
        uint64_t left;
        bool begun, good;
} Visit;

static bool visit_one(void *context, const char *key, size_t key_size, const char *value, size_t size) {
        const Visit *v = context;

        return value_good(v->database, v->record, value, size);
}

bool database_get(const Database *d, uint64_t record) {
        char key[KV_KEY_SIZE + 1];

        kv_key(key, record);
        return d->engine->type->get(d->engine, key, KV_KEY_SIZE, visit_one,
                                    &(Visit) { .database = d, .record = record });
}

bool database_put(const Database *d, uint64_t record) {
        /* Nothing is compressed: only that part of the value that reads check has to have a content. */
        static _Thread_local char value[KV_VALUE_MAX];
        char key[KV_KEY_SIZE + 1];

        kv_key(key, record);
        kv_value(value, KV_VALUE_MIN, record);
        return d->engine->type->put(d->engine, key, KV_KEY_SIZE, value, d->value_size) >= 0;
}

/* Between those that the load added some may be missing: other threads add them. */
static bool visit_next(void *context, const char *key, size_t key_size, const char *value, size_t size) {
        Visit *v = context;
        bool gap = v->begun && v->record >= v->database->records;
        uint64_t record;

        if (!kv_record(key, key_size, &record)) {
                v->good = gap;
                return false;
        }

        v->good = (record == v->record || (gap && record > v->record)) &&
                  value_good(v->database, record, value, size);
        v->begun = true;
        v->record = record + 1;
        v->left--;
        return v->good && v->left > 0;
}

bool database_scan(const Database *d, uint64_t first, uint64_t length) {
        Visit v = { .database = d, .record = first, .left = length };
        char key[KV_KEY_SIZE + 1];

        kv_key(key, first);
        return d->engine->type->scan(d->engine, key, KV_KEY_SIZE, visit_next, &v) && v.good;
}
