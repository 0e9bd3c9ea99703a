/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A libFuzzer target for the reader of policies.d, and for what its rules say about some units. */

#include "config/rules.h"
#include "fuzz-files.h"
#include "fuzz-setting.h"
#include "shared/log.h"

static void look_up(const PolicyRules *rules, const char *unit, const char *cgroup, const char *directory) {
        PolicySetting setting = {};
        int r;

        r = policy_rules_lookup(rules, unit, cgroup, &setting);
        CHECK(r == 0 || r == 1);
        if (r > 0)
                fuzz_check_setting(&setting, directory);
        policy_setting_done(&setting);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *directories[2] = {};
        PolicyRules rules = {};
        FuzzFiles files;

        log_set_target(LOG_TARGET_NULL);
        fuzz_files_make(&files, data, size);
        directories[0] = files.directory;
        rules = policy_rules_load(directories);
        look_up(&rules, "a.slice", "/a.slice", files.directory);
        look_up(&rules, "b@c.service", NULL, files.directory);
        look_up(&rules, "cri-1.scope", "/kubepods.slice/cri-1.scope", files.directory);

        policy_rules_done(&rules);
        fuzz_files_remove(&files);
        return 0;
}
