/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a policy object: an ELF file with BTF that holds one struct_ops map of type cachebpf_ops and tells about
 * itself in BTF decl tags. Only the file is read here, the kernel is not involved. */

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf-log.h"
#include "cleanup.h"
#include "kernel-features.h"
#include "policy-object.h"
#include "policy.h"
#include "string-util.h"

#define TAG_PREFIX "cachebpf:"

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

int policy_object_open(const char *path, struct bpf_object **ret, struct bpf_map **ret_ops, char **ret_problem) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        struct bpf_map *map, *ops = NULL;
        size_t n = 0;
        int r;

        bpf_log_reset();

        obj = bpf_object__open_file(path, NULL);
        if (!obj) {
                _cleanup_free_ char *detail = NULL;

                r = -errno;
                if (!IN_ERRNO(r, -ENOENT, -EACCES, -ENOEXEC, -LIBBPF_ERRNO__LIBELF, -LIBBPF_ERRNO__FORMAT))
                        detail = bpf_log_cause();
                if (asprintf(ret_problem, "%s: %s%s%s", path, policy_step_error(POLICY_STEP_OPEN, r),
                             detail ? ": " : "", strempty(detail)) < 0)
                        return -ENOMEM;
                return r;
        }

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
                if (asprintf(ret_problem, "%s: it has %zu variables of type struct " POLICY_OPS_TYPE
                                          " instead of one", path, n) < 0)
                        return -ENOMEM;
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

/* ---- what the object tells about itself */

/* Strips const, volatile and typedefs; *ret_name is the outermost name on the way ("u64"). */
static const struct btf_type *strip_modifiers(const struct btf *btf, uint32_t id, const char **ret_name) {
        const struct btf_type *t = btf__type_by_id(btf, id);
        const char *name = NULL;

        while (t && (btf_is_mod(t) || btf_is_typedef(t))) {
                if (!name && btf_is_typedef(t))
                        name = btf__name_by_offset(btf, t->name_off);
                t = btf__type_by_id(btf, t->type);
        }

        if (t && !name)
                name = btf__name_by_offset(btf, t->name_off);
        *ret_name = name;
        return t;
}

static int64_t read_integer(const void *p, size_t size, bool is_signed) {
        union {
                int8_t s8;
                int16_t s16;
                int32_t s32;
                int64_t s64;
                uint8_t u8;
                uint16_t u16;
                uint32_t u32;
                uint64_t u64;
        } v = {};

        memcpy(&v, p, MIN(size, sizeof(v)));

        switch (size) {
        case 1:
                return is_signed ? v.s8 : v.u8;
        case 2:
                return is_signed ? v.s16 : v.u16;
        case 4:
                return is_signed ? v.s32 : (int64_t) v.u32;
        default:
                return is_signed ? v.s64 : (int64_t) MIN(v.u64, (uint64_t) INT64_MAX);
        }
}

/* Finds a variable in .rodata and reads its compiled-in value. */
static int read_default(struct bpf_object *obj, int var_id, size_t size, bool is_signed, int64_t *ret) {
        const struct btf *btf = bpf_object__btf(obj);
        int id = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
        const struct btf_type *sec = id < 0 ? NULL : btf__type_by_id(btf, id);
        struct bpf_map *map;

        if (!sec)
                return -ENOENT;

        bpf_object__for_each_map(map, obj) {
                size_t value_size;
                const char *value, *name = endswith(bpf_map__name(map), ".rodata");

                value = name ? bpf_map__initial_value(map, &value_size) : NULL;
                if (!value)
                        continue;

                for (uint32_t i = 0; i < btf_vlen(sec); i++) {
                        const struct btf_var_secinfo *v = btf_var_secinfos(sec) + i;

                        if ((int) v->type != var_id || v->offset + size > value_size)
                                continue;

                        *ret = read_integer(value + v->offset, size, is_signed);
                        return 0;
                }
        }

        return -ENOENT;
}

/* "MIN..MAX" */
static int parse_range(const char *s, PolicyTunable *t) {
        const char *dots = strstr(s, "..");
        _cleanup_free_ char *min = NULL;

        if (!dots)
                return -EINVAL;

        min = strndup(s, dots - s);
        if (!min)
                return -ENOMEM;

        t->has_range = safe_atoi64(min, &t->min) >= 0 && safe_atoi64(dots + 2, &t->max) >= 0;
        return t->has_range ? 0 : -EINVAL;
}

/* The tunable of that variable, made on first use; NULL if the variable cannot be one. */
static PolicyTunable *get_tunable(Policy *p, struct bpf_object *obj, int var_id, const char *name) {
        const struct btf *btf = bpf_object__btf(obj);
        const struct btf_type *var = btf__type_by_id(btf, var_id), *t;
        PolicyTunable tunable = {};
        const char *type;
        bool is_signed;

        for (guint i = 0; i < p->tunables->len; i++) {
                PolicyTunable *i_tunable = &g_array_index(p->tunables, PolicyTunable, i);

                if (streq(i_tunable->name, name))
                        return i_tunable;
        }

        t = strip_modifiers(btf, var->type, &type);
        if (!t || !btf_is_int(t))
                return NULL;

        is_signed = btf_int_encoding(t) & BTF_INT_SIGNED;
        if (read_default(obj, var_id, t->size, is_signed, &tunable.default_value) < 0)
                return NULL;

        tunable.name = strdup(name);
        tunable.type = strdup(type);
        g_array_append_val(p->tunables, tunable);
        return &g_array_index(p->tunables, PolicyTunable, p->tunables->len - 1);
}

static int apply_tag(Policy *p, struct bpf_object *obj, const char *ops_name, int var_id, const char *tag) {
        const struct btf *btf = bpf_object__btf(obj);
        const struct btf_type *var = btf__type_by_id(btf, var_id);
        PolicyTunable *t;
        const char *name, *value;
        int r;

        if (!var || !btf_is_var(var))
                return 0;
        name = btf__name_by_offset(btf, var->name_off);

        if ((value = startswith(tag, "description=")))
                return streq(name, ops_name) ? free_and_strdup(&p->description, value) : 0;
        if ((value = startswith(tag, "source=")))
                return streq(name, ops_name) ? free_and_strdup(&p->source, value) : 0;

        t = get_tunable(p, obj, var_id, name);
        if (!t)
                return 0;

        if ((value = startswith(tag, "range="))) {
                r = parse_range(value, t);
                if (r == -EINVAL && !p->problem &&
                    asprintf(&p->problem, "%s: the range '%s' of tunable %s is not MIN..MAX",
                             p->path, value, name) < 0)
                        return -ENOMEM;
                return r == -ENOMEM ? r : 0;
        }
        if ((value = startswith(tag, "unit=")))
                return free_and_strdup(&t->unit, value);
        if ((value = startswith(tag, "doc=")))
                return free_and_strdup(&t->doc, value);

        return 0;
}

int policy_read_object(Policy *p) {
        _cleanup_(bpf_object__closep) struct bpf_object *obj = NULL;
        struct bpf_map *ops;
        const struct btf *btf;
        int r;

        assert(p);

        r = policy_object_open(p->path, &obj, &ops, &p->problem);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return 0;

        btf = bpf_object__btf(obj);
        for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
                const struct btf_type *t = btf__type_by_id(btf, id);
                const char *tag;

                if (!btf_is_decl_tag(t) || btf_decl_tag(t)->component_idx != -1)
                        continue;

                tag = startswith(btf__name_by_offset(btf, t->name_off), TAG_PREFIX);
                if (!tag)
                        continue;

                r = apply_tag(p, obj, bpf_map__name(ops), t->type, tag);
                if (r < 0)
                        return r;
        }

        return 0;
}
