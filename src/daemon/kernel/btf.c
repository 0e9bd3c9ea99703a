/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "btf.h"
#include "shared/macro.h"

/* The struct_ops type, as libbpf looks for it, and a function that every policy calls. */
static const struct {
        const char *name;
        uint32_t kind;
} needed[] = {
        { "cachebpf_ops", BTF_KIND_STRUCT },
        { "bpf_struct_ops_cachebpf_ops", BTF_KIND_STRUCT },
        { "bpf_cachebpf_list_create", BTF_KIND_FUNC },
};

int kernel_btf_check(const char *path, char **ret_problem) {
        struct btf *btf = btf__parse(path, NULL);
        int r = 0;

        if (!btf)
                return asprintf(ret_problem,
                                "the kernel has no type information (BTF) in '%s': %s; build it with "
                                "CONFIG_DEBUG_INFO_BTF=y",
                                path, strerror(errno)) < 0 ? -ENOMEM : 1;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(needed); i++)
                if (btf__find_by_name_kind(btf, needed[i].name, needed[i].kind) < 0)
                        r = asprintf(ret_problem,
                                     "the kernel's type information (BTF) does not have '%s': the pahole "
                                     "that made it does not fit this kernel",
                                     needed[i].name) < 0 ? -ENOMEM : 1;

        btf__free(btf);
        return r;
}
