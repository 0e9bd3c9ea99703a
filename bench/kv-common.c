/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <string.h>

#include "bench-util.h"
#include "kv.h"

/* Small tables, as the database is small; with 4 KiB blocks a table of 8 MiB has an index of some 50 KiB. */
#define TABLE_SIZE (UINT64_C(8) << 20)

void kv_key(char ret[static KV_KEY_SIZE + 1], uint64_t record) {
        (void) snprintf(ret, KV_KEY_SIZE + 1, "user%012" PRIu64, record % UINT64_C(1000000000000));
}

void kv_value(char *ret, size_t size, uint64_t record) {
        uint64_t x = record * UINT64_C(0x9e3779b97f4a7c15) + 1;

        /* Letters, from a generator that starts at the record number: no two values are equal. */
        for (size_t i = 0; i < size; i++) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                ret[i] = (char) ('a' + x % 26);
        }
}

size_t kv_meta(char ret[static KV_META_SIZE], const LoadOptions *options) {
        return (size_t) snprintf(ret, KV_META_SIZE, "records=%" PRIu64 " value-size=%" PRIu64,
                                 options->records, options->value_size);
}

rocksdb_options_t *kv_options_new(uint64_t block_cache, uint64_t open_files, bool index_in_cache) {
        /* As LevelDB looks a key up in a table that is not open any more: it reads the footer, the index and
         * one block.  Here an index has two parts, each read by itself, and keys of its own in place of
         * shortened ones, with which some look-ups would read a block and then the next. */
        static const char in_cache[] = "cache_index_and_filter_blocks=true;"
                                       "pin_top_level_index_and_filter=false;"
                                       "index_type=kTwoLevelIndexSearch;metadata_block_size=4096;"
                                       "index_shortening=kNoShortening;";
        rocksdb_options_t *plain = rocksdb_options_create(), *options = rocksdb_options_create();
        _cleanup_free_ char *error = NULL;
        char text[512];

        /* Everything the database reads shall come from the page cache by pread(2): the cache under test is
         * the kernel's, RocksDB's own holds next to nothing.  A block is one page, and starts where a page
         * starts, so that one block read is one page looked up; the C API knows block_align only by name. */
        (void) snprintf(text, sizeof(text),
                        "block_based_table_factory="
                        "{block_size=4096;block_align=true;block_cache=%" PRIu64 ";%s}",
                        block_cache, index_in_cache ? in_cache : "");
        rocksdb_get_options_from_string(plain, text, options, &error);
        rocksdb_options_destroy(plain);
        if (error) {
                rocksdb_options_destroy(options);
                return log_error(NULL, "RocksDB refuses the options \"%s\": %s", text, error);
        }

        rocksdb_options_set_allow_mmap_reads(options, 0);
        rocksdb_options_set_advise_random_on_open(options, 1);
        rocksdb_options_set_compression(options, rocksdb_no_compression);
        rocksdb_options_set_target_file_size_base(options, TABLE_SIZE);
        rocksdb_options_set_max_open_files(options, (int) open_files);

        /* No background work that would read or write in the middle of a measurement. */
        rocksdb_options_set_stats_dump_period_sec(options, 0);
        rocksdb_options_set_stats_persist_period_sec(options, 0);
        rocksdb_options_set_skip_stats_update_on_db_open(options, 1);
        rocksdb_options_set_skip_checking_sst_file_sizes_on_db_open(options, 1);

        return options;
}
