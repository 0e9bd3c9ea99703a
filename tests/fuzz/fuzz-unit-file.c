/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A libFuzzer target for the reader of unit files: a fragment and its drop-ins. */

#include "config/unit-file.h"
#include "fuzz-files.h"
#include "fuzz-setting.h"
#include "shared/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        PolicySetting setting = {};
        FuzzFiles files;

        log_set_target(LOG_TARGET_NULL);
        fuzz_files_make(&files, data, size);
        CHECK(unit_file_read_setting("fuzz.slice", files.paths[0], files.paths + 1, &setting) == 0);
        fuzz_check_setting(&setting, files.directory);

        policy_setting_done(&setting);
        fuzz_files_remove(&files);
        return 0;
}
