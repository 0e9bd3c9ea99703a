/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <string.h>

#include "bench-util.h"
#include "kv-db.h"

static int read_meta(const char *directory, Database *d) {
        _cleanup_free_ char *error = NULL, *meta = NULL, *copy = NULL;
        size_t size = 0;

        meta = rocksdb_get(d->db, d->read, KV_META_KEY, strlen(KV_META_KEY), &size, &error);
        copy = meta ? strndup(meta, size) : NULL;
        if (!copy ||
            sscanf(copy, "records=%" SCNu64 " value-size=%" SCNu64, &d->records, &d->value_size) != 2)
                return log_error(-EINVAL, "%s: not a database made by \"kv load\"", directory);
        if (d->records < 2 || d->value_size < KV_VALUE_MIN || d->value_size > KV_VALUE_MAX)
                return log_error(-EINVAL, "%s: strange database: %s", directory, copy);

        return 0;
}

int database_open(const char *directory, rocksdb_options_t *options, bool writable, Database *ret) {
        _cleanup_free_ char *error = NULL;
        Database d = {};
        int r;

        if (!options)
                return -EINVAL;

        d.db = writable ? rocksdb_open(options, directory, &error)
                        : rocksdb_open_for_read_only(options, directory, 0, &error);
        rocksdb_options_destroy(options);
        if (error)
                return log_error(-EIO, "%s: cannot open the database: %s", directory, error);

        d.read = rocksdb_readoptions_create();
        /* values are checked here, and summing up each block is work that LevelDB does not do either */
        rocksdb_readoptions_set_verify_checksums(d.read, 0);
        r = read_meta(directory, &d);
        if (r < 0) {
                database_close(&d);
                return r;
        }

        *ret = d;
        return 0;
}

void database_close(Database *d) {
        rocksdb_readoptions_destroy(d->read);
        rocksdb_close(d->db);
}

bool database_value_good(const Database *d, uint64_t record, const char *value, size_t size) {
        char expected[KV_VALUE_MIN];

        kv_value(expected, sizeof(expected), record);
        return value && size == d->value_size && memcmp(value, expected, sizeof(expected)) == 0;
}

bool database_get(const Database *d, uint64_t record) {
        rocksdb_pinnableslice_t *slice;
        _cleanup_free_ char *error = NULL;
        char key[KV_KEY_SIZE + 1];
        const char *value;
        size_t size;
        bool good;

        kv_key(key, record);
        slice = rocksdb_get_pinned(d->db, d->read, key, KV_KEY_SIZE, &error);
        if (!slice)
                return false;

        value = rocksdb_pinnableslice_value(slice, &size);
        good = database_value_good(d, record, value, size);
        rocksdb_pinnableslice_destroy(slice);
        return good;
}
