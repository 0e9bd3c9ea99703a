/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From an object file to a loaded policy: what the configuration says is written into the object's initial
 * values and constants, where the verifier sees it and drops what is not used. */

#include "backend.h"
#include "load.h"
#include "shared/bpf-log.h"
#include "shared/cleanup.h"
#include "shared/readahead-setting.h"
#include "shared/string-util.h"

int policy_step_failed(const Policy *policy, PolicyStep step, int error, char **ret_reason) {
        _cleanup_free_ char *detail = step == POLICY_STEP_LOAD ? bpf_log_cause() : NULL;

        *ret_reason = g_strdup_printf("policy '%s' (%s): %s%s%s", policy->name, policy->path,
                                      policy_step_error(step, error), detail ? ": " : "",
                                      strempty(detail));
        return error;
}

static int lacks(const Policy *policy, const char *what, char **ret_reason) {
        *ret_reason = g_strdup_printf("policy '%s' (%s): it has no %s", policy->name, policy->path, what);
        return -EINVAL;
}

static int set_identity(const Policy *policy, uint64_t cgroup_id, struct bpf_object *obj,
                        struct bpf_map *ops, char **ret_reason) {
        void *member;
        int r;

        r = policy_object_find_member(obj, ops, "cgroup_id", sizeof(cgroup_id), &member);
        if (r >= 0) {
                memcpy(member, &cgroup_id, sizeof(cgroup_id));
                r = policy_object_find_member(obj, ops, "name", POLICY_NAME_MAX + 1, &member);
        }
        if (r < 0) {
                *ret_reason = g_strdup_printf("policy '%s' (%s): its struct " POLICY_OPS_TYPE
                                              " has no cgroup_id or name", policy->name, policy->path);
                return r;
        }

        /* A policy is called what its file is called, whatever it calls itself: one name everywhere. */
        memset(member, 0, POLICY_NAME_MAX + 1);
        policy_kernel_name(policy->name, member);
        return 0;
}

static int set_constant(const Policy *policy, struct bpf_object *obj, const char *name, int64_t value,
                        char **ret_reason) {
        const struct btf_type *t;
        size_t size;
        void *p;

        if (policy_object_find_constant(obj, name, &t, &p, &size) < 0 || size > sizeof(value))
                return lacks(policy, name, ret_reason);

        /* BPF is compiled for the byte order of the machine: the low bytes come first on the little ones. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        memcpy(p, (const char *) &value + sizeof(value) - size, size);
#else
        memcpy(p, &value, size);
#endif
        return 0;
}

static int set_globs(const Policy *policy, struct bpf_object *obj, char **globs, char **ret_reason) {
        const struct btf_type *t;
        size_t size, used = 0;
        char *p;

        if (!globs)
                return 0;
        if (policy_object_find_constant(obj, POLICY_SCAN_THREADS, &t, (void **) &p, &size) < 0)
                return lacks(policy, POLICY_SCAN_THREADS, ret_reason);

        memset(p, 0, size);
        for (; *globs; globs++, used += policy->glob_size) {
                if (used + policy->glob_size > size || strlen(*globs) >= policy->glob_size)
                        return lacks(policy, "room in " POLICY_SCAN_THREADS, ret_reason);
                memcpy(p + used, *globs, strlen(*globs));
        }

        return 0;
}

/* No callback and no program: nothing that could cost anything. */
static int leave_out(struct bpf_program *prog, void *member) {
        memset(member, 0, sizeof(prog));
        return bpf_program__set_autoload(prog, false);
}

static int set_filter(const Policy *policy, const PolicyConfig *config, struct bpf_object *obj,
                      struct bpf_map *ops, char **ret_reason) {
        struct bpf_program *filter;
        void *member;

        filter = policy_object_find_filter(obj, ops, &member);
        if (config->filter) {
                if (!filter)
                        return lacks(policy, "admission filter", ret_reason);

                return config->reject_classes == 0 ? 0 :
                        set_constant(policy, obj, POLICY_REJECT_CLASSES, config->reject_classes, ret_reason);
        }
        return filter ? leave_out(filter, member) : 0;
}

static int set_readahead(const Policy *policy, const PolicyConfig *config, struct bpf_object *obj,
                         struct bpf_map *ops, char **ret_reason) {
        struct bpf_map *streams = bpf_object__find_map_by_name(obj, POLICY_STREAMS_MAP);
        struct bpf_program *plan;
        void *member;
        int r;

        plan = policy_object_find_plan(obj, ops, &member);
        if (!plan)
                return config->plans ? lacks(policy, "readahead of the common kind", ret_reason) : 0;

        /* The program notes nothing but to adapt: without that the verifier finds no use of the map. */
        if (streams && !(config->plans && config->readahead == READAHEAD_SETTING_ADAPTIVE)) {
                r = bpf_map__set_autocreate(streams, false);
                if (r < 0)
                        return r;
        }

        return config->plans ? set_constant(policy, obj, POLICY_READAHEAD, config->readahead, ret_reason) :
                               leave_out(plan, member);
}

static int configure(const Policy *policy, const PolicyConfig *config, int threads_fd,
                     struct bpf_object *obj, struct bpf_map *ops, char **ret_reason) {
        struct bpf_map *threads = bpf_object__find_map_by_name(obj, POLICY_THREADS_MAP);
        int r;

        for (guint i = 0; config->values && i < config->values->len; i++) {
                const PolicyValue *v = &g_array_index(config->values, PolicyValue, i);

                r = set_constant(policy, obj, v->tunable->name, v->value, ret_reason);
                if (r < 0)
                        return r;
        }

        r = set_globs(policy, obj, config->scan_threads, ret_reason);
        if (r < 0)
                return r;

        r = set_filter(policy, config, obj, ops, ret_reason);
        if (r < 0)
                return r;

        r = set_readahead(policy, config, obj, ops, ret_reason);
        if (r < 0)
                return r;

        return threads && threads_fd >= 0 ? bpf_map__reuse_fd(threads, threads_fd) : 0;
}

int policy_load(const Policy *policy, const PolicyConfig *config, uint64_t cgroup_id, int threads_fd,
                struct bpf_object **ret, struct bpf_map **ret_ops, char **ret_reason) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        _cleanup_free_ char *problem = NULL;
        struct bpf_map *ops;
        int r;

        r = policy_object_open(policy->path, policy->object, &obj, &ops, &problem);
        if (r < 0) {
                *ret_reason = g_strdup_printf("policy '%s' cannot be used: %s", policy->name, problem);
                return r;
        }

        r = set_identity(policy, cgroup_id, obj, ops, ret_reason);
        if (r < 0)
                return r;

        bpf_log_reset();
        r = configure(policy, config, threads_fd, obj, ops, ret_reason);
        if (r >= 0)
                r = bpf_object__load(obj);
        if (r < 0)
                return *ret_reason ? r : policy_step_failed(policy, POLICY_STEP_LOAD, r, ret_reason);

        *ret = TAKE_PTR(obj);
        *ret_ops = ops;
        return 0;
}
