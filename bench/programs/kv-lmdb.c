/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <lmdb.h>
#include <string.h>
#include <sys/stat.h>

#include "bench-util.h"
#include "kv-engine.h"

/* LMDB as it is distributed: one B+ tree in one file, which it maps; reads are faults, or nothing at all. */

/* As many threads may read at a time. */
#define MAX_READERS 512

/* The mapping may be longer than the file, which grows up to there. */
#define MAP_SIZE (UINT64_C(16) << 30)

typedef struct TreeEngine {
        Engine engine;
        MDB_env *env;
        MDB_dbi tree;
} TreeEngine;

static TreeEngine *tree_engine(Engine *e) {
        return (TreeEngine *) e;
}

static int tree_error(int status, const char *what) {
        return log_error(status > 0 ? -status : -EIO, "cannot %s: %s", what, mdb_strerror(status));
}

static void tree_close(Engine *e) {
        TreeEngine *tree = tree_engine(e);

        if (tree->env)
                mdb_env_close(tree->env);
        free(tree);
}

static int tree_begin(TreeEngine *tree, const char *directory, const EngineOptions *options) {
        unsigned flags = options->create ? MDB_NOSYNC : /* once is enough, see tree_merge() */
                         options->writable ? 0 : MDB_RDONLY;
        MDB_txn *txn;
        int r;

        r = mdb_env_create(&tree->env);
        if (r == 0)
                r = mdb_env_set_mapsize(tree->env, MAP_SIZE);
        if (r == 0)
                r = mdb_env_set_maxreaders(tree->env, MAX_READERS);
        if (r == 0)
                r = mdb_env_open(tree->env, directory, flags, 0644);
        if (r == 0)
                r = mdb_txn_begin(tree->env, NULL, flags & MDB_RDONLY, &txn);
        if (r == 0) {
                r = mdb_dbi_open(txn, NULL, 0, &tree->tree);
                if (r == 0)
                        r = mdb_txn_commit(txn);
                else
                        mdb_txn_abort(txn);
        }
        return r;
}

static int tree_open(const char *directory, const EngineOptions *options, Engine **ret) {
        TreeEngine *tree = calloc(1, sizeof(TreeEngine));
        int r;

        if (!tree)
                return log_error(-ENOMEM, "out of memory");

        tree->engine.type = &engine_lmdb;
        if (options->create)
                (void) mkdir(directory, 0755); /* if it fails the next step says why */
        r = tree_begin(tree, directory, options);
        if (r != 0) {
                tree_close(&tree->engine);
                return log_error(r > 0 ? -r : -EIO, "%s: cannot %s the database: %s", directory,
                                 options->create ? "create" : "open", mdb_strerror(r));
        }

        *ret = &tree->engine;
        return 0;
}

static MDB_val bytes(const char *data, size_t size) {
        return (MDB_val) { .mv_size = size, .mv_data = (void *) data };
}

/* A transaction that reads, or NULL. */
static MDB_txn *tree_read(TreeEngine *tree) {
        MDB_txn *txn = NULL;
        int r = mdb_txn_begin(tree->env, NULL, MDB_RDONLY, &txn);

        if (r != 0)
                (void) tree_error(r, "read");
        return txn;
}

static bool tree_get(Engine *e, const char *key, size_t key_size, EngineVisit visit, void *context) {
        TreeEngine *tree = tree_engine(e);
        MDB_val k = bytes(key, key_size), v;
        MDB_txn *txn = tree_read(tree);
        bool good;

        if (!txn)
                return false;
        good = mdb_get(txn, tree->tree, &k, &v) == 0 && visit(context, key, key_size, v.mv_data, v.mv_size);
        mdb_txn_abort(txn);
        return good;
}

static int tree_put(Engine *e, const char *key, size_t key_size, const char *value, size_t size) {
        TreeEngine *tree = tree_engine(e);
        MDB_val k = bytes(key, key_size), v = bytes(value, size);
        MDB_txn *txn;
        int r;

        r = mdb_txn_begin(tree->env, NULL, 0, &txn);
        if (r != 0)
                return tree_error(r, "write");
        r = mdb_put(txn, tree->tree, &k, &v, 0);
        if (r == 0)
                r = mdb_txn_commit(txn);
        else
                mdb_txn_abort(txn);
        return r == 0 ? 0 : tree_error(r, "write");
}

static bool tree_scan(Engine *e, const char *first, size_t first_size, EngineVisit visit, void *context) {
        TreeEngine *tree = tree_engine(e);
        MDB_val k = bytes(first, first_size), v;
        MDB_txn *txn = tree_read(tree);
        MDB_cursor *cursor;
        int r;

        if (!txn)
                return false;
        r = mdb_cursor_open(txn, tree->tree, &cursor);
        if (r == 0) {
                for (r = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE); r == 0;
                     r = mdb_cursor_get(cursor, &k, &v, MDB_NEXT))
                        if (!visit(context, k.mv_data, k.mv_size, v.mv_data, v.mv_size))
                                break;
                mdb_cursor_close(cursor);
        }
        mdb_txn_abort(txn);
        return r == 0 || r == MDB_NOTFOUND;
}

/* All is done when a transaction has ended. */
static int tree_settle(Engine *e) {
        return 0;
}

/* It is one tree at all times. */
static int tree_merge(Engine *e) {
        int r = mdb_env_sync(tree_engine(e)->env, 1);

        return r == 0 ? 0 : tree_error(r, "write");
}

static char *tree_levels(Engine *e) {
        return NULL;
}

const EngineType engine_lmdb = {
        .name = "lmdb",
        .title = "LMDB",
        .open_files_min = 1,
        .open = tree_open,
        .close = tree_close,
        .get = tree_get,
        .put = tree_put,
        .scan = tree_scan,
        .settle = tree_settle,
        .merge = tree_merge,
        .levels = tree_levels,
        .no_levels = "it has one tree",
        .no_second_handle = "it lets a process open a database once",
        .no_index_in_cache = "its tree is always read like its data",
        .no_unaligned = "it has pages",
};
