/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "config/object.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "value.h"

DEFINE_TRIVIAL_CLEANUP_FUNC_VOID(struct btf *, btf__free);

/* Where the kernel has a member of struct cachebpf_ops. */
typedef struct Member {
        char *name;
        size_t offset; /* in the value */
        size_t size;
        bool callback;
} Member;

struct PolicyValueLayout {
        size_t size;
        GArray *members;
};

static void member_clear(void *p) {
        Member *m = ASSERT_PTR(p);

        free(m->name);
}

PolicyValueLayout *policy_value_layout_free(PolicyValueLayout *l) {
        if (!l)
                return NULL;

        g_array_unref(l->members);
        return mfree(l);
}

/* The kernel's value is struct bpf_struct_ops_cachebpf_ops: a header and, as "data", the kernel's idea of
 * struct cachebpf_ops, which may have other members in other places than the object's. */
static int find_data(const struct btf *btf, uint32_t value_type_id, size_t *ret_offset,
                     const struct btf_type **ret) {
        const struct btf_type *t = btf__type_by_id(btf, value_type_id);

        if (!t || !btf_is_struct(t))
                return -ESRCH;

        for (uint32_t i = 0; i < btf_vlen(t); i++) {
                const struct btf_member *m = btf_members(t) + i;

                if (!streq(btf__name_by_offset(btf, m->name_off), "data"))
                        continue;

                *ret_offset = btf_member_bit_offset(t, i) / 8;
                *ret = btf__type_by_id(btf, m->type);
                return *ret && btf_is_struct(*ret) ? 0 : -ESRCH;
        }

        return -ESRCH;
}

static bool is_callback(const struct btf *btf, const struct btf_type *t) {
        if (!btf_is_ptr(t))
                return false;

        t = btf__type_by_id(btf, t->type);
        return t && btf_is_func_proto(t);
}

static int add_member(PolicyValueLayout *l, const struct btf *btf, const struct btf_member *m,
                      size_t offset) {
        const struct btf_type *t = btf__type_by_id(btf, m->type);
        int64_t size = btf__resolve_size(btf, m->type);
        Member member = { .offset = offset, .size = size };

        if (!t || size < 0 || offset + size > l->size)
                return -EINVAL;

        member.callback = is_callback(btf, t);
        member.name = g_strdup(btf__name_by_offset(btf, m->name_off));
        g_array_append_val(l->members, member);
        return 0;
}

/* The kernel's types are much to read for each change of a policy, and they stay as they are. */
static int layout_new(struct bpf_map *ops, PolicyValueLayout **ret) {
        _cleanup_(policy_value_layout_freep) PolicyValueLayout *l = NULL;
        _cleanup_(btf__freep) struct btf *btf = NULL;
        const struct btf_type *data;
        struct bpf_map_info info = {};
        uint32_t info_size = sizeof(info);
        size_t offset;
        int r;

        r = bpf_map_get_info_by_fd(bpf_map__fd(ops), &info, &info_size);
        if (r < 0)
                return r;

        btf = btf__load_vmlinux_btf();
        if (!btf)
                return -errno;

        r = find_data(btf, info.btf_vmlinux_value_type_id, &offset, &data);
        if (r < 0)
                return r;

        l = g_new(PolicyValueLayout, 1);
        l->size = info.value_size;
        l->members = g_array_new(FALSE, FALSE, sizeof(Member));
        g_array_set_clear_func(l->members, member_clear);

        for (uint32_t i = 0; i < btf_vlen(data); i++) {
                r = add_member(l, btf, btf_members(data) + i, offset + btf_member_bit_offset(data, i) / 8);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(l);
        return 0;
}

/* A callback holds the file descriptor of its program in the kernel's value; in libbpf's initial value,
 * which user space sees, it holds a pointer to the program. */
static int copy_callback(const void *user, char *kernel) {
        struct bpf_program *prog;
        unsigned long fd;

        memcpy(&prog, user, sizeof(prog));
        if (!prog)
                return 0;
        if (bpf_program__fd(prog) < 0)
                return bpf_program__fd(prog);

        fd = bpf_program__fd(prog);
        memcpy(kernel, &fd, sizeof(fd));
        return 0;
}

int policy_value_commit(PolicyValueLayout **layout, struct bpf_object *obj, struct bpf_map *ops) {
        g_autofree char *value = NULL;
        uint32_t zero = 0;
        int r;

        if (!*layout) {
                r = layout_new(ops, layout);
                if (r < 0)
                        return r;
        }

        value = g_malloc0((*layout)->size);
        for (guint i = 0; i < (*layout)->members->len; i++) {
                const Member *m = &g_array_index((*layout)->members, Member, i);
                void *user;

                r = policy_object_find_member(obj, ops, m->name, m->size, &user);
                if (r == -ENOENT) /* newer in the kernel than in the object: stays zero */
                        continue;
                if (r < 0)
                        return r;

                if (m->callback) {
                        r = copy_callback(user, value + m->offset);
                        if (r < 0)
                                return r;
                } else
                        memcpy(value + m->offset, user, m->size);
        }

        return bpf_map_update_elem(bpf_map__fd(ops), &zero, value, 0);
}
