/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "shared/bpf-log.h"
#include "shared/cleanup.h"
#include "tracepoints.h"

bool tracepoint_exists(const struct btf *btf, const char *name) {
        g_autofree char *type = g_strconcat("btf_trace_", name, NULL);

        return btf && btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
}

int tracepoints_fail(int error, const char *what, char **ret_error) {
        _cleanup_free_ char *cause = bpf_log_cause();

        *ret_error = g_strdup_printf("%s: %s", what, cause ?: strerror(abs(error)));
        return -abs(error);
}

static const char *find_obstacle(const struct btf *btf) {
        if (!btf)
                return "this kernel does not describe itself (CONFIG_DEBUG_INFO_BTF)";
        if (btf__find_by_name_kind(btf, "bpf_trace_run2", BTF_KIND_FUNC) < 0) /* which runs them */
                return "this kernel cannot run BPF programs on tracepoints (CONFIG_BPF_EVENTS)";
        if (!tracepoint_exists(btf, "mm_filemap_get_pages"))
                return "this kernel is older than 6.12 and has no "
                       "tracepoints for accesses to the page cache";
        return NULL;
}

int tracepoints_explain(int error, const struct btf *btf, char **ret_error) {
        const char *obstacle = error != -EPERM ? find_obstacle(btf) : NULL;

        if (!obstacle)
                return error;

        g_set_str(ret_error, obstacle);
        return -EOPNOTSUPP;
}
