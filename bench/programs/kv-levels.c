/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "bench-util.h"
#include "kv-rocksdb.h"
#include "random.h"

#define N_LEVELS 4
#define TABLES_MAX 65536

/* Records by level, the deepest first. */
static const uint64_t shares[N_LEVELS] = { 1000, 100, 10, 1 };
#define SHARES 1111

/* One level while it is written: tables, each full but the last. */
typedef struct Level {
        const LoadOptions *options;
        rocksdb_sstfilewriter_t *writer;
        char *tables[TABLES_MAX];
        size_t n_tables;
        bool open;
        char *error;
} Level;

static unsigned level_of(uint64_t record) {
        uint64_t share = random_numbered(0, record) % SHARES;
        unsigned level = 0;

        while (share >= shares[level])
                share -= shares[level++];
        return level;
}

static void finish_table(Level *l) {
        if (l->open && !l->error)
                rocksdb_sstfilewriter_finish(l->writer, &l->error);
        l->open = false;
}

static void begin_table(Level *l) {
        assert(l->n_tables < TABLES_MAX);

        if (asprintf(&l->tables[l->n_tables], "%s/table-%zu", l->options->directory, l->n_tables) < 0) {
                l->error = strdup("out of memory");
                return;
        }
        rocksdb_sstfilewriter_open(l->writer, l->tables[l->n_tables++], &l->error);
        l->open = true;
}

static void put(Level *l, const char *key, size_t key_size, const char *value, size_t size) {
        uint64_t written = 0;

        if (l->open)
                rocksdb_sstfilewriter_file_size(l->writer, &written);
        if (written >= l->options->table_size)
                finish_table(l);
        if (!l->open && !l->error)
                begin_table(l);
        if (!l->error)
                rocksdb_sstfilewriter_put(l->writer, key, key_size, value, size, &l->error);
}

static void put_records(Level *l, unsigned level) {
        _cleanup_free_ char *value = malloc(l->options->value_size);
        char key[KV_KEY_SIZE + 1], meta[KV_META_SIZE];

        if (!value) {
                l->error = strdup("out of memory");
                return;
        }

        for (uint64_t i = 0; i < l->options->records && !l->error; i++) {
                if (level_of(i) != level)
                        continue;
                kv_key(key, i);
                kv_value(value, l->options->value_size, i);
                put(l, key, KV_KEY_SIZE, value, l->options->value_size);
        }

        /* after all records, in the order of keys; deepest, where a look-up goes through all levels */
        if (level == 0 && !l->error)
                put(l, KV_META_KEY, strlen(KV_META_KEY), meta, kv_meta(meta, l->options));
        finish_table(l);
}

/* RocksDB puts tables that it is given as deep as it can: above those whose keys they overlap. */
static void ingest(rocksdb_t *db, Level *l) {
        rocksdb_ingestexternalfileoptions_t *options = rocksdb_ingestexternalfileoptions_create();

        rocksdb_ingestexternalfileoptions_set_move_files(options, 1);
        rocksdb_ingest_external_file(db, (const char *const *) l->tables, l->n_tables, options, &l->error);
        rocksdb_ingestexternalfileoptions_destroy(options);
}

static int load_level(RocksEngine *rocks, rocksdb_envoptions_t *env, const LoadOptions *options,
                      unsigned level) {
        _cleanup_free_ Level *l = calloc(1, sizeof(Level));
        int r = 0;

        if (!l)
                return log_error(-ENOMEM, "out of memory");

        l->options = options;
        l->writer = rocksdb_sstfilewriter_create(env, rocks->options);
        put_records(l, level);
        rocksdb_sstfilewriter_destroy(l->writer);
        if (!l->error && l->n_tables > 0)
                ingest(rocks->db, l);
        if (l->error)
                r = log_error(-EIO, "%s: cannot make level %u from below: %s", options->directory, level,
                              l->error);

        for (size_t i = 0; i < l->n_tables; i++) {
                (void) unlink(l->tables[i]);
                free(l->tables[i]);
        }
        free(l->error);
        return r;
}

int rocks_load_levels(Engine *e, const LoadOptions *options) {
        rocksdb_envoptions_t *env = rocksdb_envoptions_create();
        int r = 0;

        for (unsigned level = 0; level < N_LEVELS && r >= 0; level++)
                r = load_level(rocks_engine(e), env, options, level);

        rocksdb_envoptions_destroy(env);
        return r;
}
