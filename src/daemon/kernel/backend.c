/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <bpf/btf.h>

#include "backend.h"

PolicyLink *policy_link_new(uint64_t cgroup_id, int fd) {
        PolicyLink *link = g_new(PolicyLink, 1);

        *link = (PolicyLink) {
                .cgroup_id = cgroup_id,
                .fd = fd,
                .events_fd = -EBADF,
                .program_fd = -EBADF,
                .counts_fd = -EBADF,
                .counters_fd = -EBADF,
                .say_fd = -EBADF,
                .learned_fd = -EBADF,
        };
        return link;
}

void policy_link_set_counters(PolicyLink *link, GArray *counters) {
        if (link->counters == counters)
                return;

        g_clear_pointer(&link->counters, g_array_unref);
        link->counters = counters ? g_array_ref(counters) : NULL;
}

PolicyLink *policy_link_free(PolicyLink *link) {
        if (!link)
                return NULL;

        safe_close(link->fd);
        safe_close(link->events_fd);
        safe_close(link->program_fd);
        safe_close(link->counts_fd);
        safe_close(link->counters_fd);
        safe_close(link->say_fd);
        safe_close(link->learned_fd);
        free(link->learned);
        policy_link_set_counters(link, NULL);
        free(link->config);
        return mfree(link);
}

void policy_kernel_name(const char *name, char ret[static POLICY_NAME_MAX + 1]) {
        size_t i;

        for (i = 0; i < POLICY_NAME_MAX && name[i]; i++)
                ret[i] = name[i] == '-' ? '_' : name[i];
        ret[i] = 0;
}

bool policy_kernel_name_equal(const char *name, const char *kernel_name) {
        char s[POLICY_NAME_MAX + 1];

        if (!name || !kernel_name)
                return false;

        policy_kernel_name(name, s);
        return streq(s, kernel_name);
}

char *policy_file_device(const PolicyFile *file) {
        return g_strdup_printf("%u:%u", file->dev >> 8 & 0xfff,
                               (file->dev & 0xff) | (file->dev >> 12 & 0xfff00));
}

/* The struct_ops type, as libbpf looks for it, and a function that every policy calls. */
static const struct {
        const char *name;
        uint32_t kind;
} needed[] = {
        { "cachebpf_ops", BTF_KIND_STRUCT },
        { "bpf_struct_ops_cachebpf_ops", BTF_KIND_STRUCT },
        { "bpf_cachebpf_list_create", BTF_KIND_FUNC },
};

char *kernel_btf_check(const char *path) {
        struct btf *btf = btf__parse(path, NULL);
        char *problem = NULL;

        if (!btf)
                return g_strdup_printf("the kernel has no type information (BTF) in '%s': %s; build it with "
                                       "CONFIG_DEBUG_INFO_BTF=y", path, strerror(errno));

        for (size_t i = 0; !problem && i < ELEMENTSOF(needed); i++)
                if (btf__find_by_name_kind(btf, needed[i].name, needed[i].kind) < 0)
                        problem = g_strdup_printf("the kernel's type information (BTF) does not have '%s': "
                                                  "the pahole that made it does not fit this kernel",
                                                  needed[i].name);

        btf__free(btf);
        return problem;
}
