/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A libFuzzer target for the reader of recordings: as they are, and with the right checksum, which no fuzzer
 * finds. */

#include <string.h>

#include "daemon/replay/replay-file.h"
#include "fuzz-util.h"

static void check_file(const RecordedFile *f) {
        uint64_t end = 0;

        CHECK(f->path[0] == '/');
        CHECK(strlen(f->path) < 4096);
        CHECK(f->ranges->len > 0);
        for (guint i = 0; i < f->ranges->len; i++) {
                const RecordedRange *r = &g_array_index(f->ranges, RecordedRange, i);

                CHECK(r->n > 0);
                CHECK(i == 0 || r->first > end);
                end = r->first + r->n;
                CHECK(end > r->first && end <= file_pages(f->size));
        }
}

static void check(const uint8_t *data, size_t size) {
        _cleanup_recording_ Recording r = {};

        if (replay_file_parse(data, size, &r) < 0) {
                CHECK(!r.files);
                return;
        }

        CHECK(r.files->len <= RECORDING_FILES_MAX);
        CHECK(recording_summarize(&r).n_pages <= RECORDING_PAGES_MAX);
        for (guint i = 0; i < r.files->len; i++)
                check_file(r.files->pdata[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        uint8_t *copy = malloc(size + 1);

        CHECK(copy);
        check(data, size);
        memcpy(copy, data, size);
        replay_file_seal(copy, size);
        check(copy, size);
        free(copy);
        return 0;
}
