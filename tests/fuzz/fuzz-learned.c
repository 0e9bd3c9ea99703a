/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A libFuzzer target for the reader of what policies have learned: as it is, and with the right checksum,
 * which no fuzzer finds. */

#include <string.h>

#include "fuzz-util.h"
#include "shared/learned-file.h"

#define LABEL "fuzz@1"

static void check(const uint8_t *data, size_t size) {
        _cleanup_learned_ Learned l = {};

        if (learned_parse(data, size, LABEL, &l) < 0) {
                CHECK(!l.entries);
                return;
        }

        CHECK(strcmp(l.label, LABEL) == 0);
        CHECK(l.n_entries <= l.shape.max_entries);
        CHECK(learned_entry_size(&l.shape) * l.shape.max_entries <= LEARNED_SIZE_MAX);
        CHECK(learned_entry_size(&l.shape) * l.n_entries < size);
        CHECK(l.n_entries == 0 ||
              memcmp(l.entries + (l.n_entries - 1) * learned_entry_size(&l.shape),
                     data + size - learned_entry_size(&l.shape), learned_entry_size(&l.shape)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        uint8_t *copy = malloc(size + 1);

        CHECK(copy);
        check(data, size);
        memcpy(copy, data, size);
        learned_seal(copy, size);
        check(copy, size);
        free(copy);
        return 0;
}
