/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>
#include <unistd.h>

#include "bench-util.h"
#include "kv-engine.h"

const EngineType *engine_find(const char *name) {
        static const EngineType *const types[] = {
                &engine_rocksdb,
#if HAVE_LEVELDB
                &engine_leveldb,
#endif
        };

        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (strcmp(types[i]->name, name) == 0)
                        return types[i];

        if (strcmp(name, "leveldb") == 0)
                return log_error(NULL, "--engine=leveldb: this program was built without LevelDB");
        return log_error(NULL, "--engine=%s: rocksdb or leveldb", name);
}

static bool has_file(const char *directory, const char *name) {
        _cleanup_free_ char *path = NULL;

        return asprintf(&path, "%s/%s", directory, name) >= 0 && access(path, F_OK) == 0;
}

/* Both have a file CURRENT, and would begin to repair what the other one wrote; only RocksDB's databases
 * have an identity. */
static const char *engine_of(const char *directory) {
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
