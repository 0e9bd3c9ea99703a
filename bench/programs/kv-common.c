/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <string.h>

#include "bench-util.h"
#include "kv.h"

#define KEY_PREFIX "user"

void kv_key(char ret[static KV_KEY_SIZE + 1], uint64_t record) {
        (void) snprintf(ret, KV_KEY_SIZE + 1, KEY_PREFIX "%012" PRIu64, record % UINT64_C(1000000000000));
}

bool kv_record(const char *key, size_t size, uint64_t *ret) {
        uint64_t record = 0;

        if (size != KV_KEY_SIZE || memcmp(key, KEY_PREFIX, strlen(KEY_PREFIX)) != 0)
                return false;
        for (size_t i = strlen(KEY_PREFIX); i < size; i++) {
                if (key[i] < '0' || key[i] > '9')
                        return false;
                record = record * 10 + (uint64_t) (key[i] - '0');
        }

        *ret = record;
        return true;
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
