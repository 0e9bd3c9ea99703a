/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A libFuzzer target for the reader of policy objects; nothing is loaded into a kernel. */

#include <string.h>

#include "config/catalog.h"
#include "fuzz-files.h"
#include "shared/bpf-log.h"
#include "shared/log.h"

static void check_policy(const Policy *p) {
        CHECK(strcmp(p->name, "fuzz") == 0);
        if (p->problem) {
                CHECK(*p->problem && !strchr(p->problem, '\n'));
                return;
        }
        for (guint i = 0; i < p->tunables->len; i++) {
                const PolicyTunable *t = &g_array_index(p->tunables, PolicyTunable, i);

                CHECK(*t->name);
                CHECK(t->size == 1 || t->size == 2 || t->size == 4 || t->size == 8);
                CHECK(!t->has_range || t->min <= t->max);
        }
        CHECK(p->counters->len <= POLICY_COUNTERS_MAX);
        for (guint i = 0; i < p->counters->len; i++) {
                const PolicyCounter *c = &g_array_index(p->counters, PolicyCounter, i);

                CHECK(*c->name && strlen(c->name) <= POLICY_COUNTER_NAME_MAX);
                CHECK(!c->unit || *c->unit);
                CHECK(c->offset % sizeof(uint64_t) == 0);
                CHECK(policy_find_counter(p, c->name) == c);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *directories[2] = {};
        GPtrArray *policies;
        FuzzFiles files;

        log_set_target(LOG_TARGET_NULL);
        bpf_log_setup();
        fuzz_files_make_one(&files, "fuzz" POLICY_OBJECT_SUFFIX, data, size);
        directories[0] = files.directory;
        policies = policies_load(directories);
        CHECK(policies->len == 1);
        check_policy(policies->pdata[0]);

        g_ptr_array_unref(policies);
        fuzz_files_remove(&files);
        return 0;
}
