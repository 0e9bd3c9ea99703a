/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <string.h>

#include "bench-util.h"
#include "kv-db.h"

static void report_progress(uint64_t done, uint64_t records) {
        if (records < 10 || done % (records / 10) != 0)
                return;

        fprintf(stderr, "kv: %" PRIu64 " of %" PRIu64 " records written\n", done, records);
}

static int put_records(Engine *engine, const LoadOptions *options) {
        _cleanup_free_ char *value = malloc(options->value_size);
        char key[KV_KEY_SIZE + 1], meta[KV_META_SIZE];
        int r = 0;

        if (!value)
                return log_error(-ENOMEM, "out of memory");

        for (uint64_t i = 0; i < options->records && r >= 0; i++) {
                kv_key(key, i);
                kv_value(value, options->value_size, i);
                r = engine->type->put(engine, key, KV_KEY_SIZE, value, options->value_size);
                report_progress(i + 1, options->records);
        }

        if (r >= 0)
                r = engine->type->put(engine, KV_META_KEY, strlen(KV_META_KEY), meta,
                                      kv_meta(meta, options));
        return r;
}

int kv_load(const LoadOptions *options) {
        const EngineOptions engine_options = {
                .block_cache = UINT64_C(8) << 20,
                .open_files = 512,
                .table_size = options->table_size,
                .index_in_cache = options->index_in_cache,
                .unaligned = options->unaligned,
                .create = true,
        };
        _cleanup_free_ char *levels = NULL;
        Engine *engine;
        int r;

        r = engine_open(options->engine, options->directory, &engine_options, &engine);
        if (r < 0)
                return r;

        if (options->table_size > 0)
                r = engine->type->load_levels(engine, options);
        else {
                r = put_records(engine, options);
                if (r >= 0)
                        r = engine->type->merge(engine);        /* a look-up reads one data block, no more */
        }
        levels = r >= 0 ? engine->type->levels(engine) : NULL;
        if (levels)
                fprintf(stderr, "%s", levels);
        engine->type->close(engine);
        return r;
}
