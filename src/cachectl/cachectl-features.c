/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>

#include "client.h"
#include "exit-codes.h"
#include "model.h"
#include "options.h"
#include "output.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "verbs.h"

/* What kernels can do, as /sys/kernel/cachebpf/features calls it. A newer kernel may tell more. */
static const struct {
        const char *name;
        const char *meaning;
} known[] = {
        { "access-counter", "Accesses to a folio are counted without a call of the policy" },
        { "admission", "Policies can refuse folios, for CacheAdmission=" },
        { "adoption", "A policy takes over what is in the cache already" },
        { "atomic-update", "A policy is replaced without a moment without one" },
        { "buckets", "Memory that grows with the cache: ghosts, sketches" },
        { "inheritance", "A policy covers the control groups below its own" },
        { "iterators", "Policies walk over their lists" },
        { "key", "A folio that comes back is known again" },
        { "list-order", "Policies decide at which end of a list a folio is put" },
        { "mglru", "What policies leave over goes to the multi-generational LRU" },
        { "numa", "Each memory node has its own lists" },
        { "policy-data", "Policies keep bytes of their own with each folio" },
        { "rank", "The kernel picks the lowest-ranking of a sample" },
        { "rank-list", "... of a part of a list" },
        { "readahead", "Policies plan what is read of a file, for CacheReadahead=" },
        { "removal-reason", "Policies are told why a folio goes" },
        { "sample", "A sample of the uses of pages can be had" },
        { "tracepoints", "What policies do can be traced" },
        { "watchdog", "Policies that do not do their work are ejected" },
};

static const TableColumn columns[] = {
        { .header = "FEATURE" },
        { .header = "THERE" },
        { .header = "MEANING", .flags = COLUMN_SHRINK },
};

static bool contains(sd_json_variant *array, const char *word) {
        for (size_t i = 0; i < sd_json_variant_elements(array); i++)
                if (streq(sd_json_variant_string(sd_json_variant_by_index(array, i)), word))
                        return true;

        return false;
}

static void add_row(Table *t, const char *name, bool there, const char *meaning) {
        table_add(t, name);
        table_add_colored(t, there ? COLOR_GOOD : COLOR_BAD, there ? "yes" : "no");
        table_add(t, meaning);
}

static const char *meaning_of(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                if (streq(known[i].name, name))
                        return known[i].meaning;

        return NULL;
}

static int show(const ManagerInfo *m) {
        _cleanup_(table_freep) Table *t = table_new(columns, ELEMENTSOF(columns));

        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                add_row(t, known[i].name, contains(m->kernel_features, known[i].name), known[i].meaning);

        for (size_t i = 0; i < sd_json_variant_elements(m->kernel_features); i++) {
                const char *name = sd_json_variant_string(sd_json_variant_by_index(m->kernel_features, i));

                if (!meaning_of(name))
                        add_row(t, name, /* there= */ true, NULL);
        }

        if (!m->kernel_support)
                log_warning("No cache policy can be attached: %s.",
                            m->kernel_reason ?: "the running kernel has no cachebpf");
        return output_table(t, "feature", "features");
}

int verb_features(char **arguments, size_t n_arguments) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *status = NULL, *v = NULL;
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        ManagerInfo m;
        int r;

        r = client_connect(&link);
        if (r >= 0)
                r = client_call(link, CACHEBPF_VARLINK_INTERFACE ".GetStatus", NULL, &status);
        if (r >= 0)
                r = manager_info_parse(status, &m);
        if (r < 0)
                return r;

        if (json_wanted()) {
                r = sd_json_buildo(&v,
                                   SD_JSON_BUILD_PAIR_STRING("version", m.version),
                                   SD_JSON_BUILD_PAIR_BOOLEAN("kernelSupport", m.kernel_support),
                                   SD_JSON_BUILD_PAIR_STRING("kernelReason", m.kernel_reason),
                                   SD_JSON_BUILD_PAIR_CONDITION(m.kernel_abi != UINT64_MAX, "kernelAbi",
                                                                SD_JSON_BUILD_UNSIGNED(m.kernel_abi)),
                                   SD_JSON_BUILD_PAIR_VARIANT("kernelFeatures", m.kernel_features));
                r = r < 0 ? log_error_errno(r, "Cannot build JSON: %m") : output_json(v);
        } else
                r = show(&m);
        if (r < 0)
                return r;

        return m.kernel_support ? EXIT_SUCCESS : EXIT_NOT_IN_EFFECT;
}
