/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Opens a policy object: an ELF file with BTF that holds one struct_ops map of type cachebpf_ops. The kernel
 * is not involved. */

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "object.h"
#include "shared/bpf-log.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "shared/kernel-features.h"
#include "shared/string-util.h"

/* Ours have some ten thousand bytes. */
#define OBJECT_SIZE_MAX (16U * 1024 * 1024)

/* CO-RE flavours ("cachebpf_ops___old") mean the type in front of the three underscores. */
static bool is_ops_type(const char *name) {
        const char *s = startswith(name, POLICY_OPS_TYPE);

        return s && (!*s || startswith(s, "___"));
}

static const struct btf_type *map_ops_type(struct bpf_object *obj, struct bpf_map *map) {
        const struct btf *btf = bpf_object__btf(obj);
        const struct btf_type *t = btf ? btf__type_by_id(btf, bpf_map__btf_value_type_id(map)) : NULL;

        return t && btf_is_struct(t) ? t : NULL;
}

/* Returns error. */
static int open_failed(const char *path, int error, char **ret_problem) {
        _cleanup_free_ char *detail = NULL;

        if (!IN_ERRNO(error, -ENOENT, -EACCES, -ENOEXEC, -E2BIG, -LIBBPF_ERRNO__LIBELF,
                      -LIBBPF_ERRNO__FORMAT))
                detail = bpf_log_cause();
        *ret_problem = g_strdup_printf("%s: %s%s%s", path, policy_step_error(POLICY_STEP_OPEN, error),
                                       detail ? ": " : "", strempty(detail));
        return error;
}

int policy_object_read(const char *path, GBytes **ret, char **ret_problem) {
        size_t size;
        char *data;
        int r;

        bpf_log_reset();

        r = read_full_file(path, OBJECT_SIZE_MAX, &data, &size);
        if (r < 0)
                return open_failed(path, r, ret_problem);

        *ret = g_bytes_new_with_free_func(data, size, free, data);
        return 0;
}

int policy_object_open(const char *path, GBytes *object, struct bpf_object **ret, struct bpf_map **ret_ops,
                       char **ret_problem) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        g_autofree char *name = g_path_get_basename(path);
        LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = name);
        struct bpf_map *map, *ops = NULL;
        const void *data;
        size_t n = 0, size;
        int r;

        bpf_log_reset();

        data = g_bytes_get_data(object, &size);
        r = policy_elf_check(data, size);
        if (r < 0)
                return open_failed(path, r, ret_problem);

        name[strcspn(name, ".")] = 0; /* as libbpf names what it opens itself */
        obj = bpf_object__open_mem(data, size, &options);
        if (!obj)
                return open_failed(path, -errno, ret_problem);

        bpf_object__for_each_map(map, obj) {
                const struct btf_type *t;

                if (bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS)
                        continue;

                t = map_ops_type(obj, map);
                if (!t || !is_ops_type(btf__name_by_offset(bpf_object__btf(obj), t->name_off)))
                        continue;

                ops = map;
                n++;
        }

        if (n != 1) {
                *ret_problem = g_strdup_printf("%s: it has %zu variables of type struct " POLICY_OPS_TYPE
                                               " instead of one", path, n);
                return -ENOEXEC;
        }

        *ret = TAKE_PTR(obj);
        *ret_ops = ops;
        return 0;
}

int policy_object_find_member(struct bpf_object *obj, struct bpf_map *ops, const char *name, size_t size,
                              void **ret) {
        const struct btf *btf = bpf_object__btf(obj);
        const struct btf_type *t = map_ops_type(obj, ops);
        size_t value_size;
        char *value = bpf_map__initial_value(ops, &value_size);

        if (!t || !value)
                return -EINVAL;

        for (uint32_t i = 0; i < btf_vlen(t); i++) {
                const struct btf_member *m = btf_members(t) + i;
                size_t offset = btf_member_bit_offset(t, i) / 8;

                if (!streq(btf__name_by_offset(btf, m->name_off), name))
                        continue;
                if (btf__resolve_size(btf, m->type) != (int64_t) size || offset + size > value_size)
                        return -EINVAL;

                *ret = value + offset;
                return 0;
        }

        return -ENOENT;
}

int policy_object_find_constant(struct bpf_object *obj, const char *name, const struct btf_type **ret_type,
                                void **ret, size_t *ret_size) {
        const struct btf *btf = bpf_object__btf(obj);
        int id = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
        const struct btf_type *sec = id < 0 ? NULL : btf__type_by_id(btf, id);
        size_t value_size = 0;
        struct bpf_map *map;
        char *value = NULL;

        bpf_object__for_each_map(map, obj)
                if (endswith(bpf_map__name(map), ".rodata"))
                        value = bpf_map__initial_value(map, &value_size);
        if (!sec || !value)
                return -ENOENT;

        for (uint32_t i = 0; i < btf_vlen(sec); i++) {
                const struct btf_var_secinfo *v = btf_var_secinfos(sec) + i;
                const struct btf_type *var = btf__type_by_id(btf, v->type), *t;

                if (!streq(btf__name_by_offset(btf, var->name_off), name))
                        continue;
                if ((size_t) v->offset + v->size > value_size)
                        return -EINVAL;

                t = btf__type_by_id(btf, var->type);
                while (btf_is_mod(t) || btf_is_typedef(t))
                        t = btf__type_by_id(btf, t->type);

                *ret_type = t;
                *ret = value + v->offset;
                *ret_size = v->size;
                return 0;
        }

        return -ENOENT;
}

struct bpf_program *policy_object_find_reconfigure(struct bpf_object *obj) {
        struct bpf_program *prog, *found = NULL;

        bpf_object__for_each_program(prog, obj) {
                if (bpf_program__type(prog) != BPF_PROG_TYPE_SYSCALL ||
                    !endswith(bpf_program__name(prog), POLICY_RECONFIGURE_SUFFIX))
                        continue;
                if (found)
                        return NULL;
                found = prog;
        }

        return found;
}

struct bpf_program *policy_object_find_say(struct bpf_object *obj) {
        struct bpf_program *prog = bpf_object__find_program_by_name(obj, POLICY_SAY_PROGRAM);

        return prog && bpf_program__type(prog) == BPF_PROG_TYPE_SYSCALL ? prog : NULL;
}

/* The program, if the member points to it. */
static struct bpf_program *find_callback(struct bpf_object *obj, struct bpf_map *ops, const char *name,
                                         const char *program, void **ret_member) {
        struct bpf_program *prog;
        void *member;

        if (policy_object_find_member(obj, ops, name, sizeof(prog), &member) < 0)
                return NULL;

        memcpy(&prog, member, sizeof(prog));
        if (!prog || !streq(bpf_program__name(prog), program))
                return NULL;

        if (ret_member)
                *ret_member = member;
        return prog;
}

struct bpf_program *policy_object_find_filter(struct bpf_object *obj, struct bpf_map *ops,
                                              void **ret_member) {
        return find_callback(obj, ops, "admit_folio", POLICY_FILTER_PROGRAM, ret_member);
}

struct bpf_program *policy_object_find_plan(struct bpf_object *obj, struct bpf_map *ops, void **ret_member) {
        return find_callback(obj, ops, "plan_readahead", POLICY_PLAN_PROGRAM, ret_member);
}
